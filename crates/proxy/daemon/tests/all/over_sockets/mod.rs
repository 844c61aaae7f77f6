//! Tests over sockets: with the default event loop, and once more with epoll.

use std::process::Command;

use crate::support::{Cluster, EPOLL, EVENT_LOOP};

mod agents;
mod agents_plans;
mod agents_replicas;
mod agents_speeds;
mod attacks;
mod commands;
mod failovers;
mod faults;
mod hand_overs;
mod incast;
mod logins;
mod metrics;
mod proxies;
mod reloads;
mod tls;
mod unix_sockets;
mod waits;

fn cluster(servers: usize, more: &str, of_pool: &str) -> Cluster {
    Cluster::with(servers, &format!("{EVENT_LOOP}{more}"), of_pool)
}

#[test]
fn uses_the_event_loop_of_the_setting() {
    let expected = match fanin_ring::Ring::new() {
        _ if EVENT_LOOP.is_epoll() => "epoll",
        Ok(_) => "io_uring",
        Err(error) => {
            println!("no io_uring here ({error}): the tests over sockets run with epoll twice");
            "epoll"
        }
    };
    let cluster = cluster(1, "", "");
    let mut client = cluster.client();
    client.send("stats\r\n");
    let lines: Vec<String> = std::iter::repeat_with(|| client.line()).take_while(|line| line != "END").collect();
    assert!(lines.contains(&format!("STAT event_loop {expected}")), "{lines:?}");
}

/// Runs tests of these modules with epoll in a process of their own, so that they are compiled once; more than `least` must pass.
fn pass_with_epoll(modules: &[&str], least: usize) {
    if EVENT_LOOP.is_epoll() {
        return;
    }
    let here = module_path!().split_once("::").unwrap().1;
    let tests = Command::new(std::env::current_exe().unwrap())
        .args(modules.iter().map(|module| format!("{here}::{module}")))
        .env(EPOLL, "1")
        .output();
    let tests = tests.unwrap();
    let said = String::from_utf8_lossy(&tests.stdout);
    assert!(tests.status.success(), "{said}{}", String::from_utf8_lossy(&tests.stderr));
    let passed = said.lines().find_map(|line| line.strip_prefix("test result: ok. ")?.split_once(' ')?.0.parse().ok());
    assert!(passed.is_some_and(|passed: usize| passed > least), "{said}");
}

#[test]
fn connections_pass_with_epoll() {
    pass_with_epoll(&["commands::", "faults::", "reloads::", "tls::", "unix_sockets::"], 40);
}

#[test]
#[ignore = "takes a minute of both cores: make check-long"]
fn all_pass_with_epoll() {
    pass_with_epoll(&[""], 100);
}
