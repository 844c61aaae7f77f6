//! Checks of pools and servers.

use std::net::IpAddr;
use std::ops::Range;

use super::types::{Pool, Server};
use super::values::Wrong;

/// Checks that no server occurs twice, since both would get the same keys.
pub fn no_server_twice(servers: &[Server], place: Option<Range<usize>>) -> Result<(), Wrong> {
    let name = |index: usize| &servers[index].weighted.name;
    match (1..servers.len()).find(|&index| (0..index).any(|other| name(other) == name(index))) {
        Some(index) => Err(Wrong(place, format!("the server {} occurs twice", name(index)))),
        None => Ok(()),
    }
}

/// Checks that no pool is its own server, under any address of this machine, since requests would loop.
pub fn no_pool_is_a_server(pools: &[Pool], place: Option<Range<usize>>) -> Result<(), Wrong> {
    let own: Vec<IpAddr> = nix::ifaddrs::getifaddrs().map_or(Vec::new(), |all| {
        let addresses = all.filter_map(|one| one.address);
        let ip = |address: nix::sys::socket::SockaddrStorage| {
            let four = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
            four.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
        };
        addresses.filter_map(ip).collect()
    });
    let is_own = |ip: IpAddr| ip.is_loopback() || own.contains(&ip);
    for address in pools.iter().flat_map(|pool| &pool.servers).map(|server| &server.target.address) {
        let itself = pools.iter().find(|pool| {
            let (Some(listens), Some(server)) = (pool.listen.ip(), address.ip()) else {
                return pool.listen == *address;
            };
            // Connecting to the unspecified address means connecting to this machine.
            let [listen, at] = [listens, server].map(|address| address.ip().to_canonical());
            let is_here = |ip: IpAddr| ip.is_unspecified() || is_own(ip);
            let same =
                listen == at || listen.is_unspecified() && is_here(at) || at.is_unspecified() && listen.is_loopback();
            listens.port() != 0 && listens.port() == server.port() && same
        });
        if let Some(pool) = itself {
            let why = format!("the server {address} is the address on which `{}` listens", pool.name);
            return Err(Wrong(place, why));
        }
    }
    Ok(())
}
