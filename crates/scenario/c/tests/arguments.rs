//! Wrong arguments, and callbacks that call.
#![allow(unsafe_code, reason = "the interface is C's")]

use std::ffi::{CString, c_char, c_void};
use std::ptr;

use fanin_c::{
    Handle, Network, Statistics, Status, fanin_cancel, fanin_free, fanin_get_statistics, fanin_hosts,
    fanin_network_free, fanin_network_link, fanin_network_new, fanin_network_set, fanin_network_simulate,
    fanin_network_switch, fanin_new, fanin_now, fanin_receive, fanin_run, fanin_schedule, fanin_send,
};

fn new(scenario: &str, scheme: Option<&str>, room: usize) -> Result<*mut Handle, String> {
    let (scenario, scheme) = (CString::new(scenario).unwrap(), scheme.map(|scheme| CString::new(scheme).unwrap()));
    let mut error = vec![b'?' as c_char; 512];
    let scheme = scheme.as_ref().map_or(ptr::null(), |scheme| scheme.as_ptr());
    let handle = unsafe { fanin_new(scenario.as_ptr(), scheme, 1, error.as_mut_ptr(), room) };
    let text: Vec<u8> = error.iter().map(|byte| *byte as u8).collect();
    assert!(text[room..].iter().all(|byte| *byte == b'?'), "written beyond the buffer");
    if handle.is_null() {
        let end = text.iter().position(|byte| *byte == 0).map_or(0, |end| end);
        return Err(String::from_utf8_lossy(&text[..end]).into_owned());
    }
    Ok(handle)
}

fn simulation() -> *mut Handle {
    new("schemes = [\"newreno\"]\n[sweep]\nfan_in = [3]\n", None, 512).unwrap()
}

#[test]
fn wrong_scenarios_are_refused_with_a_text() {
    assert!(new("schemes = [\"renoo\"]\n", None, 512).unwrap_err().contains("renoo"));
    assert!(new("schemes = [\"newreno\"]\n", Some("dctcp"), 512).unwrap_err().contains("dctcp"));
    assert_eq!(new("schemes = [\"renoo\"]\n", None, 5).unwrap_err().len(), 4);
    assert_eq!(new("schemes = [\"renoo\"]\n", None, 1).unwrap_err(), "");
}

#[test]
fn wrong_arguments_are_refused() {
    let of = simulation();
    let null = ptr::null_mut::<c_void>();
    unsafe {
        assert_eq!((fanin_hosts(of), fanin_now(of)), (4, 0));
        for (from, to, bytes) in [(0, 0, 1), (0, 4, 1), (4, 0, 1), (0, 1, 0), (0, 1, u64::MAX)] {
            assert_eq!(fanin_send(of, from, to, bytes, 0, None, null), Status::BadArgument);
        }
        assert_eq!(fanin_receive(of, 0, 0, 0, None, null), Status::BadArgument);
        assert_eq!(fanin_get_statistics(of, ptr::null_mut()), Status::BadArgument);
        assert_eq!(fanin_cancel(of, 77), Status::Ok);
        assert_eq!(fanin_run(ptr::null_mut(), 1), Status::BadArgument);
        fanin_free(ptr::null_mut());
        fanin_free(of);
    }
}

/// Of a callback that looks at its simulation.
struct Seen {
    of: *mut Handle,
    now: u64,
    run: Status,
}

extern "C" fn look(context: *mut c_void) {
    let seen = unsafe { &mut *context.cast::<Seen>() };
    unsafe { (seen.now, seen.run) = (fanin_now(seen.of), fanin_run(seen.of, 1)) };
}

#[test]
fn receive_before_and_after_its_message_and_no_run_in_a_callback() {
    let of = simulation();
    let mut seen = [(); 3].map(|()| Seen { of, now: 0, run: Status::Ok });
    let [early, late, timer] = seen.each_mut().map(|seen| ptr::from_mut(seen).cast::<c_void>());
    let mut statistics = Statistics::default();
    unsafe {
        fanin_send(of, 1, 0, 1_000, 7, None, ptr::null_mut());
        fanin_send(of, 1, 0, 1_000, 7, None, ptr::null_mut());
        fanin_receive(of, 0, 1, 7, Some(look), early);
        fanin_schedule(of, 1_000_000_000, Some(look), timer, ptr::null_mut());
        assert_eq!(fanin_run(of, 2_000_000_000), Status::Ok);
        fanin_receive(of, 0, 1, 7, Some(look), late);
        assert_eq!(fanin_run(of, u64::MAX), Status::Ok);
        assert_eq!(fanin_get_statistics(of, &mut statistics), Status::Ok);
        fanin_free(of);
    }
    let [early, late, timer] = seen;
    assert!((1..1_000_000_000).contains(&early.now), "{}", early.now);
    assert_eq!((timer.now, late.now), (1_000_000_000, 2_000_000_000));
    assert_eq!([early.run, late.run, timer.run], [Status::Busy; 3]);
    assert_eq!((statistics.messages_sent, statistics.messages_arrived), (2, 2));
}

/// The error of a network's simulation; empty if there is none.
fn refused(network: *const Network, scheme: &str) -> String {
    let (scheme, mut error) = (CString::new(scheme).unwrap(), vec![0 as c_char; 512]);
    let of = unsafe { fanin_network_simulate(network, scheme.as_ptr(), 1, error.as_mut_ptr(), error.len()) };
    let text: Vec<u8> = error.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0).collect();
    assert_eq!(of.is_null(), !text.is_empty());
    unsafe { fanin_free(of) };
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn wrong_networks_are_refused() {
    const GBIT: u64 = 1_000_000_000;
    assert!([0, 1, u32::MAX].iter().all(|&hosts| fanin_network_new(hosts).is_null()));
    let (network, null) = (fanin_network_new(2), ptr::null_mut::<Network>());
    let set = |key: &str, value: &str| {
        let (key, value) = (CString::new(key).unwrap(), CString::new(value).unwrap());
        unsafe { fanin_network_set(network, key.as_ptr(), value.as_ptr()) }
    };
    unsafe {
        assert_eq!(fanin_network_switch(network), 2);
        for (one, other, rate, delay) in [(0, 0, GBIT, 1), (0, 3, GBIT, 1), (0, 2, 0, 1), (0, 2, GBIT, u64::MAX)] {
            assert_eq!(fanin_network_link(network, one, other, rate, delay), Status::BadArgument);
        }
        let without_links = refused(network, "newreno");
        assert!(without_links.contains("fabric.edges"), "{without_links}");
        for host in 0..2 {
            assert_eq!(fanin_network_link(network, host, 2, GBIT, 1_000_000), Status::Ok);
        }
        assert_eq!(refused(network, "newreno"), "");
        assert!(refused(network, "renoo").contains("renoo"));
        assert!(refused(network, "a\"b").contains("character"));
        assert_eq!(set("switch.bufer", "1 MB"), Status::Ok);
        assert!(refused(network, "newreno").contains("switch.bufer"));
        fanin_network_free(network);
        assert_eq!(
            (fanin_network_switch(null), fanin_network_link(null, 0, 1, GBIT, 1)),
            (u32::MAX, Status::BadArgument)
        );
        assert_eq!(fanin_network_set(null, ptr::null(), ptr::null()), Status::BadArgument);
        assert!(refused(null, "newreno").contains("null pointer"));
        fanin_network_free(null);
    }
}
