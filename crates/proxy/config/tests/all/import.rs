//! Imported settings of twemproxy and mcrouter: keys stay where they are, and what does not map is named.

use fanin_proxy_config::OnDown;
use fanin_proxy_config::Settings;
use fanin_proxy_config::import::{Imported, import};
use fanin_units::Time;

/// Rows of the original programs' placements.
const VECTORS: &str = include_str!("../../../../../vectors/keys_to_servers.json");

fn settings(imported: &Imported) -> Settings {
    Settings::of_file("front.toml", &imported.toml).unwrap()
}

/// Lines of notes, and whether each matters.
fn lines(imported: &Imported) -> Vec<(usize, bool)> {
    imported.notes.iter().map(|note| (note.place.1, note.matters)).collect()
}

#[test]
fn nutcrackers_keys_stay_on_their_servers() {
    let vectors: serde_json::Value = serde_json::from_str(VECTORS).unwrap();
    let texts = |value: &serde_json::Value| -> Vec<String> { serde_json::from_value(value.clone()).unwrap() };
    let (servers, keys) = (texts(&vectors["servers"]), texts(&vectors["keys"]));
    let mut file = String::new();
    let rows: Vec<&serde_json::Value> =
        vectors["rows"].as_array().unwrap().iter().filter(|row| row["as"] == "twemproxy").collect();
    for (number, row) in rows.iter().enumerate() {
        let weights: Vec<u32> = serde_json::from_value(row["weights"].clone()).unwrap();
        let lines: String = servers.iter().zip(weights).map(|(at, weight)| format!("   - {at}:{weight}\n")).collect();
        file +=
            &format!("p{number}:\n  listen: 127.0.0.1:{}\n  hash: {}\n", 1000 + number, row["hash"].as_str().unwrap());
        file += &format!("  distribution: ketama\n  timeout: 400\n  servers:\n{lines}");
    }
    let imported = import("nutcracker.yml", &file).unwrap();
    assert_eq!(lines(&imported), []);
    let pools = settings(&imported).pools;
    assert_eq!((pools.len(), rows.len()), (24, 24));
    for (pool, row) in pools.iter().zip(rows) {
        let router = pool.router();
        let found: Vec<usize> = keys.iter().map(|key| router.server(key.as_bytes())).collect();
        assert_eq!(found, serde_json::from_value::<Vec<usize>>(row["servers"].clone()).unwrap(), "{row}");
    }
}

#[test]
fn nutcrackers_settings_map_or_have_a_note() {
    let text = "alpha: &defaults\n  listen: :22121\n  hash: murmur\n  timeout: 250\n  client_connections: 300\n  preconnect: true\n  \
        server_connections: 1\n  redis: false\n  auto_eject_hosts: false\n  servers:\n   - 127.0.0.1:11211:3 one\n   - 127.0.0.1:2:1\n";
    let imported = import("n.yml", text).unwrap();
    let all = settings(&imported);
    let pool = &all.pools[0];
    assert_eq!((lines(&imported), all.clients, pool.listen.to_string().as_str()), (vec![], 300, "0.0.0.0:22121"));
    let names: Vec<(&str, u32)> =
        pool.servers.iter().map(|one| (one.weighted.name.as_str(), one.weighted.weight)).collect();
    assert_eq!((names, pool.timeout), (vec![("one", 3), ("127.0.0.1:2", 1)], Time::from_millis(250)));
    // One pool without a limit has all.
    let two = format!("{text}beta:\n  listen: 127.0.0.1:3\n  timeout: 0\n  servers: [ \"127.0.0.1:4:1\" ]\n");
    let imported = import("n.yml", &two).unwrap();
    assert_eq!((settings(&imported).clients, lines(&imported)), (50_000, vec![(15, false)]));
    assert_eq!(settings(&imported).pools[1].timeout, Time::from_millis(1));
    for (more, matters) in [
        ("backlog: 512", false),
        ("tcpkeepalive: true", false),
        ("preconnect: false", false),
        ("server_connections: 2", false),
        ("server_retry_timeout: 2000", false),
        ("auto_eject_hosts: true", false),
        ("hash_tag: \"{}\"", true),
        ("distribution: modula", true),
        ("redis_auth: secret", true),
    ] {
        let pool = "a:\n  listen: 127.0.0.1:3\n  timeout: 1\n  servers:\n   - 127.0.0.1:4:1\n";
        let imported = import("n.yml", &format!("{pool}  {more}\n")).unwrap();
        assert_eq!(lines(&imported), [(6, matters)], "{more}");
        assert_eq!(settings(&imported).pools.len(), 1);
    }
    let two =
        "a:\n  listen: 127.0.0.1:3\n  auto_eject_hosts: true\n  servers:\n   - 127.0.0.1:4:1\n   - 127.0.0.1:5:1\n";
    assert_eq!(settings(&import("n.yml", two).unwrap()).pools[0].on_down, OnDown::Next);
    let unix = "a:\n  listen: /run/a.sock 0666\n  timeout: 1\n  servers:\n   - /run/b.sock:2 one\n   - /run/c.sock:1\n";
    let imported = import("n.yml", unix).unwrap();
    let pool = &settings(&imported).pools[0];
    let names: Vec<(&str, u32)> =
        pool.servers.iter().map(|one| (one.weighted.name.as_str(), one.weighted.weight)).collect();
    assert_eq!((names, pool.listen.to_string().as_str()), (vec![("one", 2), ("/run/c.sock", 1)], "unix:/run/a.sock"));
    assert_eq!(lines(&imported), [(2, false)]);
    let redis = "a:\n  listen: 127.0.0.1:3\n  redis: true\n  servers:\n   - 127.0.0.1:4:1\n";
    let imported = import("n.yml", redis).unwrap();
    assert_eq!((lines(&imported), imported.toml.contains("[[pool]]")), (vec![(3, true)], false));
}

#[test]
fn invalid_nutcracker_files_are_refused_with_a_line() {
    let pool = "a:\n  listen: 127.0.0.1:3\n  servers:\n   - 127.0.0.1:4:1\n";
    for (text, line) in [
        (String::new(), 1),
        ("a".to_owned(), 1),
        ("a: b".to_owned(), 1),
        (format!("{pool}  hash: md4\n"), 5),
        (format!("{pool}  hash:\n   - md5\n"), 6),
        (format!("{pool}  timeout: -1\n"), 5),
        (format!("{pool}  preconnect: yes\n"), 5),
        (format!("{pool}  colour: red\n"), 5),
        (format!("{pool}  distribution: rendezvous\n"), 5),
        (format!("{pool}  listen: 127.0.0.1:4\n"), 5),
        (pool.replace("127.0.0.1:3", "127.0.0.1"), 2),
        (pool.replace("127.0.0.1:4:1", "127.0.0.1:4:0"), 4),
        (pool.replace("127.0.0.1:4:1", "/tmp/mc.sock:0"), 4),
        (pool.replace("127.0.0.1:3", &format!("/{}", "x".repeat(200))), 2),
        ("a:\n  listen: 127.0.0.1:3\n".to_owned(), 1),
        ("a:\n  listen: 127.0.0.1:3\n  servers: []\n".to_owned(), 3),
        ("a:\n  servers:\n   - 127.0.0.1:4:1\n".to_owned(), 1),
        (format!("{pool}\tb: 1\n"), 4),
    ] {
        let problem = import("n.yml", &text).unwrap_err();
        assert_eq!(problem.place, Some(("n.yml".to_owned(), line)), "{text}: {problem}");
    }
    // Found in the result.
    for text in [pool.replace(":4:1", ":3:1"), format!("{pool}{}", pool.replace("a:\n", "b:\n"))] {
        import("n.yml", &text).unwrap_err();
    }
}

const MCROUTER: &str = r#"{ // one server
 "pools": {
  "A": { "servers": ["127.0.0.1:12345"], "server_timeout": 250, "protocol": "ascii" },
  "B": { "servers": [ "127.0.0.1:11211", "[::1]:12346:ascii:plain" ] },
  "C": { "servers": ["127.0.0.1:1"] }
 },
 "route": "PoolRoute|A",
}"#;

#[test]
fn mcrouters_pools_map_if_their_keys_stay() {
    let imported = import("mcrouter.json", MCROUTER).unwrap();
    let pools = settings(&imported).pools;
    assert_eq!((pools.len(), pools[0].name.as_str(), pools[0].timeout), (1, "A", Time::from_millis(250)));
    // Its address is not in the file, and two pools have no route.
    assert_eq!(lines(&imported), [(3, false), (4, false), (5, false)]);
    let two = MCROUTER.replace("PoolRoute|A", "HashRoute|Pool|B");
    let imported = import("mcrouter.json", &two).unwrap();
    assert_eq!(settings(&imported).pools[0].servers.len(), 2);
    assert!(lines(&imported).contains(&(4, true)), "keys move: {:?}", imported.notes);
    for (route, matters) in [
        (r#"{ "type": "PoolRoute", "pool": "A" }"#, 0),
        (r#"{ "type": "PoolRoute", "pool": "A", "hash": "Crc32" }"#, 0),
        (r#"{ "type": "PoolRoute", "pool": "B", "hash": { "hash_func": "WeightedCh3", "weights": [1, 0.5] } }"#, 2),
        (r#"{ "type": "PoolRoute", "pool": "A", "rates": {} }"#, 1),
        (r#""AllSyncRoute|Pool|A""#, 1),
        (r#"{ "type": "AllSyncRoute", "children": ["PoolRoute|A", "PoolRoute|C"] }"#, 1),
        (r#"{ "type": "FailoverRoute", "children": ["PoolRoute|A", "NullRoute"] }"#, 2),
        (r#"{ "type": "OperationSelectorRoute", "operation_policies": { "get": "PoolRoute|A" } }"#, 1),
        (r#"{ "type": "LoggingRoute", "target": { "type": "PoolRoute", "name": "x", "pool": "A" } }"#, 1),
    ] {
        let imported = import("m.json", &MCROUTER.replace("\"PoolRoute|A\"", route)).unwrap();
        assert_eq!(imported.notes.iter().filter(|note| note.matters).count(), matters, "{route}: {:?}", imported.notes);
        assert!(!settings(&imported).pools.is_empty());
    }
    let routes = MCROUTER
        .replace("\"route\": \"PoolRoute|A\"", "\"routes\": [{\"aliases\": [\"/a/a/\"], \"route\": \"PoolRoute|C\"}]");
    let imported = import("m.json", &routes).unwrap();
    assert_eq!(settings(&imported).pools[0].name, "C");
    assert!(lines(&imported).contains(&(7, true)));
}

#[test]
fn invalid_mcrouter_files_are_refused_with_a_line() {
    for (from, to, line) in [
        ("PoolRoute|A", "PoolRoute|D", 7),
        ("PoolRoute|A", "AllSyncRoute|PoolRoute|D", 7),
        ("PoolRoute|A", "route:a", 7),
        ("PoolRoute|A", "PoolRoute|%pool%", 7),
        ("\"PoolRoute|A\"", "{ \"pool\": \"A\" }", 7),
        ("\"PoolRoute|A\"", "{ \"type\": \"PoolRoute\" }", 7),
        ("\"PoolRoute|A\"", "{ \"type\": \"PoolRoute\", \"pool\": \"D\" }", 7),
        ("\"PoolRoute|A\"", "{ \"type\": \"FailoverRoute\", \"children\": [\"PoolRoute|D\"] }", 7),
        ("\"route\"", "\"named_handles\": [], \"roude\"", 1),
        ("\"route\"", "\"macros\": {}, \"route\"", 7),
        ("[\"127.0.0.1:12345\"]", "[]", 3),
        ("[\"127.0.0.1:12345\"]", "[\"127.0.0.1\"]", 3),
        ("[\"127.0.0.1:12345\"]", "[\"127.0.0.1:1:caret\"]", 3),
        ("\"servers\": [\"127.0.0.1:12345\"]", "\"server_list_from_pool\": \"B\"", 3),
        ("\"pools\": {", "\"pools\" {", 2),
        // A long chain of routes.
        ("PoolRoute|A", &"A|".repeat(100_000), 7),
    ] {
        let text = MCROUTER.replace(from, to);
        let problem = import("m.json", &text).unwrap_err();
        assert_eq!(problem.place, Some(("m.json".to_owned(), line)), "{to}: {problem}");
    }
}
