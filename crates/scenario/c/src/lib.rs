//! C interface of the simulator; `include/fanin.h` documents it.
//!
//! A simulation's application is the caller: functions leave orders in a queue, which the application carries out, at once within a
//! callback, and otherwise when the simulation runs on. So a callback may call functions of its simulation although that is running.
#![allow(unsafe_code, reason = "C passes pointers")]

mod caller;
mod network;

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::rc::Rc;

use fanin_sim::{Applications, Simulation};
use fanin_spec::{Problem, Scenario, Variant};
use fanin_units::Time;

use caller::{Callback, Caller, Order, Orders, TURN};
pub use network::Network;

/// Version of the interface.
const VERSION: u32 = 2;
/// Longest message.
const BYTES_MAX: u64 = 1 << 48;

/// Result of a function.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// An argument is wrong.
    BadArgument = 1,
    /// The simulation is running.
    Busy = 2,
    /// An error of the simulator.
    Broken = 3,
}

/// Figures of a simulation.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[expect(missing_docs, reason = "fanin.h documents them")]
pub struct Statistics {
    pub now_ps: u64,
    pub messages_sent: u64,
    pub messages_arrived: u64,
    pub data_packets: u64,
    pub drops: u64,
    pub marks: u64,
    pub timeouts: u64,
    pub retransmits: u64,
}

/// A simulation, as C has it.
pub struct Handle {
    orders: Rc<Orders>,
    /// Borrowed while it runs.
    simulation: RefCell<Simulation>,
    hosts: u32,
    is_broken: Cell<bool>,
}

impl Handle {
    fn new(scenario: Scenario, scheme: Option<&str>, seed: u64) -> Result<Handle, String> {
        let variants = variants(scenario).map_err(|problem| problem.to_string())?;
        let named = variants.iter().find(|variant| scheme.is_none_or(|scheme| variant.label == scheme));
        let variant = named.ok_or_else(|| format!("the scenario has no scheme `{}`", scheme.unwrap_or_default()))?;
        let spec = variant.at(0, seed).ok_or("the scenario has no point")?;
        let orders = Rc::new(Orders::default());
        let caller = Applications::new(Box::new(Caller::new(orders.clone())));
        let simulation = RefCell::new(fanin_simulate::begin_applications(&spec, caller));
        let hosts = fanin_simulate::hosts(&spec);
        Ok(Handle { orders, simulation, hosts, is_broken: Cell::new(false) })
    }

    /// Leaves an order. The running simulation takes it after the callback, another one when it runs on.
    fn order(&self, order: Order) -> Status {
        let is_first = self.orders.push(order);
        if let (true, Ok(mut simulation)) = (is_first, self.simulation.try_borrow_mut()) {
            simulation.wake(TURN);
        }
        Status::Ok
    }

    fn are_hosts(&self, one: u32, other: u32) -> bool {
        one != other && one.max(other) < self.hosts
    }

    fn run(&self, until: Time) -> Status {
        let Ok(mut simulation) = self.simulation.try_borrow_mut() else { return Status::Busy };
        if until != Time::NEVER {
            // The clock stops there, also if nothing happens.
            let after = until.since(simulation.now());
            let nothing = Callback::new(None, ptr::null_mut());
            if self.orders.push(Order::Call { after, timer: self.orders.next_timer(), callback: nothing }) {
                simulation.wake(TURN);
            }
        }
        simulation.until(until);
        Status::Ok
    }

    fn statistics(&self) -> Option<Statistics> {
        let simulation = self.simulation.try_borrow().ok()?;
        let totals = simulation.totals();
        Some(Statistics {
            now_ps: simulation.now().0,
            messages_sent: self.orders.sent.get(),
            messages_arrived: self.orders.arrived.get(),
            data_packets: totals.data_packets,
            drops: totals.drops,
            marks: totals.marks,
            timeouts: totals.timeouts,
            retransmits: totals.retransmits,
        })
    }
}

/// The schemes of a scenario. Its workload does not matter: one without the settings that it needs is replaced by one that needs none.
fn variants(mut scenario: Scenario) -> Result<Vec<Variant>, Problem> {
    scenario.variants().or_else(|problem| {
        scenario.assign("fanin_new", "workload.kind=long")?;
        scenario.variants().map_err(|_| problem)
    })
}

/// Calls a function of a handle; a panic breaks the simulation instead of reaching C.
///
/// # Safety
/// `handle` is null, or from [`fanin_new`] or [`fanin_network_simulate`] and not freed.
unsafe fn with<R>(handle: *const Handle, failed: R, act: impl FnOnce(&Handle) -> R) -> R {
    // SAFETY: as of the caller.
    let Some(handle) = (unsafe { handle.as_ref() }) else { return failed };
    if handle.is_broken.get() {
        return failed;
    }
    catch_unwind(AssertUnwindSafe(|| act(handle))).unwrap_or_else(|_| {
        handle.is_broken.set(true);
        failed
    })
}

/// A failure of a function that returns a status: a null pointer, or a broken simulation.
fn failed(handle: *const Handle) -> Status {
    if handle.is_null() { Status::BadArgument } else { Status::Broken }
}

/// See `fanin.h`.
#[unsafe(no_mangle)]
pub extern "C" fn fanin_version() -> u32 {
    VERSION
}

/// See `fanin.h`.
///
/// # Safety
/// `scenario` is a C string, `scheme` one or null, and `error` has room for `size` bytes or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanin_new(
    scenario: *const c_char,
    scheme: *const c_char,
    seed: u64,
    error: *mut c_char,
    size: usize,
) -> *mut Handle {
    let make = || {
        // SAFETY: as of the caller.
        let (scenario, scheme) = unsafe { (text(scenario), text(scheme)) };
        let scenario = scenario.ok_or("the scenario is a null pointer")?;
        let scenario = Scenario::parse("scenario", &scenario).map_err(|problem| problem.to_string())?;
        Handle::new(scenario, scheme.as_deref(), seed)
    };
    // SAFETY: as of the caller.
    unsafe { made(make, error, size) }
}

/// The text of a C string; `None` for a null pointer.
///
/// # Safety
/// `pointer` is a C string that outlives the text, or null.
unsafe fn text<'a>(pointer: *const c_char) -> Option<Cow<'a, str>> {
    // SAFETY: as of the caller.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_string_lossy())
}

/// A new simulation for C, or null and the reason in `error`.
///
/// # Safety
/// `error` has room for `size` bytes or is null.
unsafe fn made(make: impl FnOnce() -> Result<Handle, String>, error: *mut c_char, size: usize) -> *mut Handle {
    let made = catch_unwind(AssertUnwindSafe(make));
    match made.unwrap_or_else(|_| Err("the simulator failed".into())) {
        Ok(handle) => Box::into_raw(Box::new(handle)),
        Err(what) => {
            if !error.is_null() && size > 0 {
                let bytes = &what.as_bytes()[..what.len().min(size - 1)];
                // SAFETY: there is room for `size` bytes.
                unsafe {
                    ptr::copy_nonoverlapping(bytes.as_ptr().cast(), error, bytes.len());
                    *error.add(bytes.len()) = 0;
                }
            }
            ptr::null_mut()
        }
    }
}

/// See `fanin.h`.
#[unsafe(no_mangle)]
pub extern "C" fn fanin_network_new(hosts: u32) -> *mut Network {
    Network::new(hosts).map_or(ptr::null_mut(), |network| Box::into_raw(Box::new(network)))
}

/// See `fanin.h`.
///
/// # Safety
/// `network` is null, or from [`fanin_network_new`] and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanin_network_switch(network: *mut Network) -> u32 {
    // SAFETY: as of the caller.
    unsafe { network.as_mut() }.and_then(Network::add_switch).unwrap_or(u32::MAX)
}

/// See `fanin.h`.
///
/// # Safety
/// As [`fanin_network_switch`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanin_network_link(
    network: *mut Network,
    one: u32,
    other: u32,
    rate_bps: u64,
    delay_ps: u64,
) -> Status {
    // SAFETY: as of the caller.
    let network = unsafe { network.as_mut() };
    let is_added = network.is_some_and(|network| network.add_link([one, other], rate_bps, delay_ps));
    if is_added { Status::Ok } else { Status::BadArgument }
}

/// See `fanin.h`.
///
/// # Safety
/// As [`fanin_network_switch`]; `key` and `value` are C strings or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanin_network_set(network: *mut Network, key: *const c_char, value: *const c_char) -> Status {
    // SAFETY: as of the caller.
    match unsafe { (network.as_mut(), text(key), text(value)) } {
        (Some(network), Some(key), Some(value)) => {
            network.set(&key, &value);
            Status::Ok
        }
        _ => Status::BadArgument,
    }
}

/// See `fanin.h`.
///
/// # Safety
/// As [`fanin_network_switch`]; `scheme` is a C string or null, and `error` has room for `size` bytes or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanin_network_simulate(
    network: *const Network,
    scheme: *const c_char,
    seed: u64,
    error: *mut c_char,
    size: usize,
) -> *mut Handle {
    let make = || {
        // SAFETY: as of the caller.
        match unsafe { (network.as_ref(), text(scheme)) } {
            (Some(network), Some(scheme)) => Handle::new(network.scenario(&scheme)?, None, seed),
            (None, _) => Err("the network is a null pointer".into()),
            (_, None) => Err("the scheme is a null pointer".into()),
        }
    };
    // SAFETY: as of the caller.
    unsafe { made(make, error, size) }
}

/// See `fanin.h`.
///
/// # Safety
/// As [`fanin_network_switch`]; the network is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanin_network_free(network: *mut Network) {
    if !network.is_null() {
        // SAFETY: it is from `fanin_network_new`.
        drop(unsafe { Box::from_raw(network) });
    }
}

/// See `fanin.h`.
///
/// # Safety
/// As [`with`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanin_hosts(simulation: *const Handle) -> u32 {
    // SAFETY: as of the caller.
    unsafe { with(simulation, 0, |handle| handle.hosts) }
}

/// See `fanin.h`.
///
/// # Safety
/// As [`with`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanin_now(simulation: *const Handle) -> u64 {
    let now = |handle: &Handle| match handle.simulation.try_borrow() {
        Ok(simulation) => simulation.now().0,
        Err(_) => handle.orders.now.get().0,
    };
    // SAFETY: as of the caller.
    unsafe { with(simulation, 0, now) }
}

/// See `fanin.h`.
///
/// # Safety
/// As [`with`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanin_send(
    simulation: *mut Handle,
    from: u32,
    to: u32,
    bytes: u64,
    tag: u64,
    sent: Option<extern "C" fn(*mut c_void)>,
    context: *mut c_void,
) -> Status {
    let send = |handle: &Handle| {
        if !handle.are_hosts(from, to) || !(1..=BYTES_MAX).contains(&bytes) {
            return Status::BadArgument;
        }
        handle.order(Order::Send { from, to, bytes, tag, callback: Callback::new(sent, context) })
    };
    // SAFETY: as of the caller.
    unsafe { with(simulation, failed(simulation), send) }
}

/// See `fanin.h`.
///
/// # Safety
/// As [`with`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanin_receive(
    simulation: *mut Handle,
    at: u32,
    from: u32,
    tag: u64,
    received: Option<extern "C" fn(*mut c_void)>,
    context: *mut c_void,
) -> Status {
    let receive = |handle: &Handle| match handle.are_hosts(at, from) {
        true => handle.order(Order::Receive { at, from, tag, callback: Callback::new(received, context) }),
        false => Status::BadArgument,
    };
    // SAFETY: as of the caller.
    unsafe { with(simulation, failed(simulation), receive) }
}

/// See `fanin.h`.
///
/// # Safety
/// As [`with`]; `timer` is null, or a number's place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanin_schedule(
    simulation: *mut Handle,
    after_ps: u64,
    due: Option<extern "C" fn(*mut c_void)>,
    context: *mut c_void,
    timer: *mut u64,
) -> Status {
    let schedule = |handle: &Handle| {
        let number = handle.orders.next_timer();
        if !timer.is_null() {
            // SAFETY: as of the caller.
            unsafe { *timer = number.into() };
        }
        handle.order(Order::Call { after: Time(after_ps), timer: number, callback: Callback::new(due, context) })
    };
    // SAFETY: as of the caller.
    unsafe { with(simulation, failed(simulation), schedule) }
}

/// See `fanin.h`.
///
/// # Safety
/// As [`with`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanin_cancel(simulation: *mut Handle, timer: u64) -> Status {
    let cancel = |handle: &Handle| {
        handle.orders.cancel(timer);
        Status::Ok
    };
    // SAFETY: as of the caller.
    unsafe { with(simulation, failed(simulation), cancel) }
}

/// See `fanin.h`.
///
/// # Safety
/// As [`with`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanin_run(simulation: *mut Handle, until_ps: u64) -> Status {
    // SAFETY: as of the caller.
    unsafe { with(simulation, failed(simulation), |handle| handle.run(Time(until_ps))) }
}

/// See `fanin.h`.
///
/// # Safety
/// As [`with`]; `statistics` is null, or their place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanin_get_statistics(simulation: *const Handle, statistics: *mut Statistics) -> Status {
    let get = |handle: &Handle| match (handle.statistics(), statistics.is_null()) {
        (_, true) => Status::BadArgument,
        (None, _) => Status::Busy,
        (Some(figures), false) => {
            // SAFETY: as of the caller.
            unsafe { *statistics = figures };
            Status::Ok
        }
    };
    // SAFETY: as of the caller.
    unsafe { with(simulation, failed(simulation), get) }
}

/// See `fanin.h`.
///
/// # Safety
/// As [`with`]; the simulation is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fanin_free(simulation: *mut Handle) {
    if !simulation.is_null() {
        // SAFETY: it is from `fanin_new` or `fanin_network_simulate`.
        let handle = unsafe { Box::from_raw(simulation) };
        let _ = catch_unwind(AssertUnwindSafe(|| drop(handle)));
    }
}
