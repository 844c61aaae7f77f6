//! Balance: choice of each object's replica, so that hubs finish together.
//! Sources: none; it improves on Wang, Shen and Liu, "Swarm-based Incast Congestion Control" (SPAA 2017), who draw replicas at random,
//!          so the slowest hub decides under equal speeds (equation 2). Graham (1969), "Bounds on multiprocessing timing anomalies",
//!          for largest first.
//! Law:     the largest objects first, each goes to the rack with the least load among its replicas' racks; then objects move if that
//!          reduces the larger of two racks' loads, until none does or `ROUNDS` rounds are over.
//! Units:   bytes, or objects where sizes are unknown.
//! Owns:    nothing.
//! Departs: nowhere.
//! Checked: vectors/balance.json; tests/trajectories/balance.txt.

use alloc::vec;
use alloc::vec::Vec;

/// Maximum number of rounds over all objects: each is linear, and two or three achieve nearly everything.
const ROUNDS: u32 = 8;

/// An object and its racks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object<'a> {
    /// Its size; 1 if sizes are unknown.
    pub bytes: u32,
    /// The racks of its replicas, at least one; rack numbers must be dense.
    pub racks: &'a [u32],
}

/// The chosen replica of each object.
pub fn balance(objects: &[Object<'_>]) -> Vec<u32> {
    let racks = objects.iter().flat_map(|object| object.racks).max().map_or(0, |rack| *rack as usize + 1);
    let mut loads = vec![0u64; racks];
    let mut chosen = vec![0u32; objects.len()];
    let mut order: Vec<u32> = (0..objects.len() as u32).collect();
    order.sort_by_key(|index| core::cmp::Reverse(objects[*index as usize].bytes));
    for index in &order {
        let object = &objects[*index as usize];
        let (replica, rack) = least(object, &loads);
        chosen[*index as usize] = replica;
        loads[rack] += u64::from(object.bytes);
    }
    for _ in 0..ROUNDS {
        let mut moved = false;
        for index in &order {
            let object = &objects[*index as usize];
            let from = object.racks[chosen[*index as usize] as usize] as usize;
            let (replica, to) = least(object, &loads);
            if loads[to] + u64::from(object.bytes) < loads[from] {
                loads[from] -= u64::from(object.bytes);
                loads[to] += u64::from(object.bytes);
                (chosen[*index as usize], moved) = (replica, true);
            }
        }
        if !moved {
            break;
        }
    }
    chosen
}

/// The replica in the rack with the least load, and that rack.
fn least(object: &Object<'_>, loads: &[u64]) -> (u32, usize) {
    let by_load = object.racks.iter().enumerate().min_by_key(|(_, rack)| loads[**rack as usize]);
    let (replica, rack) = by_load.expect("an object is somewhere");
    (replica as u32, *rack as usize)
}
