//! Placement: ketama agrees with twemproxy and libmemcached (vectors/keys_to_servers.py), and rendezvous hashing follows weights and moves
//! few keys.

use fanin_proxy_routing::{Hash, Placement, Points, Router, Weighted};
use serde_json::Value;

const VECTORS: &str = include_str!("../../../../../vectors/keys_to_servers.json");

fn servers(names: &[String], weights: &[u32]) -> Vec<Weighted> {
    names.iter().zip(weights).map(|(name, weight)| Weighted { name: name.clone(), weight: *weight }).collect()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

#[test]
fn ketama_agrees_with_original_programs() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    // A name has no port if that is memcached's default.
    let names: Vec<String> =
        texts(&vectors["servers"]).iter().map(|name| name.trim_end_matches(":11211").to_owned()).collect();
    let keys = texts(&vectors["keys"]);
    let rows = vectors["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 12 * 2 + 9 * 2);
    for row in rows {
        let weights: Vec<u32> =
            row["weights"].as_array().unwrap().iter().map(|weight| weight.as_u64().unwrap() as u32).collect();
        let points = if row["as"] == "twemproxy" { Points::Twemproxy } else { Points::Libmemcached };
        let hash = Hash::WORDS.iter().find(|(word, _)| row["hash"] == *word).unwrap().1;
        let router = Router::new(Placement::Ketama(points), hash, &servers(&names, &weights));
        for (key, server) in keys.iter().zip(row["servers"].as_array().unwrap()) {
            assert_eq!(
                router.server(key.as_bytes()) as u64,
                server.as_u64().unwrap(),
                "{} {} {weights:?} {key}",
                row["as"],
                row["hash"]
            );
        }
    }
}

fn shares(weights: &[u32]) -> Vec<usize> {
    let names: Vec<String> = (0..weights.len()).map(|number| format!("10.0.0.{number}")).collect();
    let router = Router::new(Placement::Rendezvous, Hash::Fnv1a64, &servers(&names, weights));
    let mut counts = vec![0; weights.len()];
    (0..40_000).for_each(|key| counts[router.server(format!("key{key}").as_bytes())] += 1);
    counts
}

#[test]
fn rendezvous_gives_each_server_its_share() {
    for (weights, expected) in
        [(&[1, 1, 1, 1][..], &[10_000, 10_000, 10_000, 10_000][..]), (&[1, 3], &[10_000, 30_000])]
    {
        for (count, expected) in shares(weights).iter().zip(expected) {
            assert!(count.abs_diff(*expected) < 500, "{weights:?}: {count} for {expected}");
        }
    }
}

#[test]
fn rendezvous_moves_only_keys_of_removed_server() {
    let names: Vec<String> = (0..5).map(|number| format!("10.0.0.{number}")).collect();
    let all = Router::new(Placement::Rendezvous, Hash::Murmur, &servers(&names, &[1; 5]));
    let fewer = Router::new(Placement::Rendezvous, Hash::Murmur, &servers(&names[..4], &[1; 4]));
    for key in (0..2000).map(|key| format!("key{key}")) {
        let before = all.server(key.as_bytes());
        assert!(before == 4 || before == fewer.server(key.as_bytes()), "{key}");
    }
}

#[test]
fn each_server_comes_once_and_first_one_first() {
    let names: Vec<String> = (0..5).map(|number| format!("10.0.0.{number}")).collect();
    for placement in Placement::WORDS.map(|(_, placement)| placement) {
        let all = Router::new(placement, Hash::Fnv1a64, &servers(&names, &[1, 1, 2, 1, 1]));
        // Without the last server, the others follow in the same order.
        let fewer = Router::new(placement, Hash::Fnv1a64, &servers(&names[..4], &[1, 1, 2, 1]));
        let order = |router: &Router, key: &str| {
            let mut order = Vec::new();
            router.each_server(key.as_bytes(), |server| {
                order.push(server);
                true
            });
            order
        };
        let mut same = 0;
        for key in (0..1000).map(|key| format!("key{key}")) {
            let mut order_of_all = order(&all, &key);
            assert_eq!(order_of_all[0], all.server(key.as_bytes()));
            same += usize::from(order_of_all.iter().filter(|server| **server < 4).eq(&order(&fewer, &key)));
            order_of_all.sort_unstable();
            assert_eq!(order_of_all, [0, 1, 2, 3, 4]);
        }
        let least = if placement == Placement::Rendezvous { 1000 } else { 700 };
        assert!(same >= least, "{placement:?}: {same}");
    }
}
