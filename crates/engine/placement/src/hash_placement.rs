//! Placement of replicas by hashes.

use crate::hypergraph::mix;
use crate::{Cluster, Placement, Server};

/// Places each key's replicas on servers in different racks by the key's hash, deterministically. `None` if there are fewer racks than
/// replicas.
pub fn place_by_hash<'k>(
    keys: impl Iterator<Item = &'k [u8]>,
    cluster: &Cluster,
    replicas: usize,
) -> Option<Placement> {
    let mut racks: Vec<u32> = cluster.racks.clone();
    racks.sort_unstable();
    racks.dedup();
    if racks.len() < replicas || replicas == 0 {
        return None;
    }
    let mut homes: Vec<Server> = Vec::new();
    for key in keys {
        let first = homes.len();
        let mut state = fnv_1a(key);
        while homes.len() < first + replicas {
            state = mix(state);
            let server = Server(((u128::from(state) * cluster.racks.len() as u128) >> 64) as u32);
            if homes[first..].iter().all(|home| cluster.rack(*home) != cluster.rack(server)) {
                homes.push(server);
            }
        }
    }
    Some(Placement::new(replicas, homes))
}

fn fnv_1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Object, Resources};

    #[test]
    fn spreads_replicas_over_racks_by_key() {
        let cluster =
            Cluster { racks: (0..40).map(|server| server / 10).collect(), capacities: vec![Resources::default(); 40] };
        let keys: Vec<String> = (0..4_000).map(|key| format!("key{key}")).collect();
        let placed = |keys: &[String]| place_by_hash(keys.iter().map(String::as_bytes), &cluster, 3).unwrap();
        let all = placed(&keys);
        let mut held = [0; 40];
        for object in (0..4_000).map(Object) {
            let mut racks = all.homes(object).iter().map(|home| cluster.rack(*home)).collect::<Vec<_>>();
            racks.sort_unstable();
            racks.dedup();
            assert_eq!(racks.len(), 3);
            all.homes(object).iter().for_each(|home| held[home.0 as usize] += 1);
        }
        // Mean 300, standard deviation 17.
        assert!(held.iter().all(|&n| (220..380).contains(&n)), "{held:?}");
        assert_eq!(placed(&keys[7..8]).homes(Object(0)), all.homes(Object(7)));
        assert!(place_by_hash(keys.iter().map(String::as_bytes), &cluster, 5).is_none());
    }
}
