//! Choice of replicas for balanced racks.

use fanin_fanout::balance;
use fanin_units::Bytes;

use super::directory::Directory;
use super::request::{Request, State};

/// Chooses each object's replica so that racks, and thus hubs, have equal bytes.
pub(super) fn balance_racks<K>(request: &mut Request<K>, mean: Bytes, directory: &impl Directory<K>) {
    let open = (0..request.object_requests.len() as u32)
        .filter(|&index| request.object_requests[index as usize].state == State::NotRequested);
    let open: Vec<u32> = open.collect();
    let racks: Vec<Vec<u32>> = open
        .iter()
        .map(|&index| {
            let replicas = directory.replicas(&request.object_requests[index as usize].key);
            replicas.iter().map(|&node| directory.rack(node)).collect()
        })
        .collect();
    let size = |index: u32| directory.size(&request.object_requests[index as usize].key).unwrap_or(mean.0 as u32);
    let objects: Vec<balance::Object<'_>> =
        open.iter().zip(&racks).map(|(&index, racks)| balance::Object { bytes: size(index), racks }).collect();
    let chosen = balance::balance(&objects);
    for (&index, &replica) in open.iter().zip(&chosen) {
        let object_request = &mut request.object_requests[index as usize];
        object_request.holder = directory.replicas(&object_request.key)[replica as usize];
    }
}
