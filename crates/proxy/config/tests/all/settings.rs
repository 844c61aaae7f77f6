//! Settings files: errors have the line and a valid value.

use fanin_proxy_config::Settings;
use fanin_proxy_observe::messages::EXPORTS;
use fanin_proxy_routing::{Hash, Placement, Weighted};
use fanin_units::{Rate, Time};

const POOL: &str =
    "threads = 2\n\n[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [\"127.0.0.1:11211\", \"127.0.0.1:1:3 two\"]\n";

#[test]
fn expresses_twemproxys_settings() {
    let text = format!(
        "{POOL}hash = \"murmur\"\nplacement = \"rendezvous\"\ntimeout = \"250 ms\"\nmultiget = \"sliding-window\"\n"
    );
    let settings = Settings::of_file("f.toml", &text).unwrap();
    let pool = &settings.pools[0];
    assert_eq!((pool.hash, pool.placement, settings.threads), (Hash::Murmur, Placement::Rendezvous, 2));
    let names: Vec<(&str, u32)> =
        pool.servers.iter().map(|one| (one.weighted.name.as_str(), one.weighted.weight)).collect();
    assert_eq!(names, [("127.0.0.1", 1), ("two", 3)]);
}

#[test]
fn errors_have_line_and_valid_value() {
    for (more, told) in [
        ("hash = \"md4\"", "f.toml:6: unknown value `md4`: use one of one_at_a_time, md5, "),
        ("hahs = \"md5\"", "f.toml:6: unknown key `hahs`: did you mean `hash`?"),
        ("timeout = \"0 s\"", "f.toml:6: `0 s` is less than 1 ms; use a value such as timeout = \"1 s\""),
        ("timeout = \"5\"", "f.toml:6: `5`: its unit is missing; use a value such as timeout = \"5 ms\""),
        ("timeout = 400", "f.toml:6: `400`: its unit is missing; use a value such as timeout = \"400 ms\""),
        ("item = 1048576", "f.toml:6: `1048576`: its unit is missing; use a value such as item = \"1048576 B\""),
        ("item = \"1M\"", "f.toml:6: `1M`: its unit may mean `MB` or `MiB`"),
        (
            "link = \"25GB/s\"",
            "f.toml:6: `25GB/s`: it is in bytes per second: write `200 Gbit/s`; use a value such as link = ",
        ),
        ("timeout = true", "f.toml:6: invalid type: boolean `true`, expected a string with a unit"),
        ("[[pool]]\nlisten = \"x\"\nservers = []", "f.toml:7: `x` is not an address: use host:port"),
        ("[[pool]]\nlisten = \"127.0.0.1:1\"\nservers = []", "f.toml:8: no servers: add servers = ["),
        (
            "[[pool]]\nlisten = \"127.0.0.1:1\"\nservers = [\"127.0.0.1\"]",
            "f.toml:8: `127.0.0.1` is not a server: use host:port",
        ),
        (
            "[[pool]]\nlisten = \"127.0.0.1:1\"\nservers = [\"127.0.0.1:1:0\"]",
            "f.toml:8: `127.0.0.1:1:0` is not a server",
        ),
        (
            "[[pool]]\nlisten = \"127.0.0.1:1\"\nservers = [\"127.0.0.1:1\", \"127.0.0.1:1\"]",
            "f.toml:8: the server 127.0.0.1:1 occurs twice",
        ),
        ("[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [\"127.0.0.1:1\"]", "f.toml:6: two pools have `127.0.0.1:0`"),
        (
            "[[pool]]\nlisten = \"unix:fanin.sock\"\nservers = []",
            "f.toml:7: `unix:fanin.sock` is not a UNIX socket: use an absolute path of at most 107 bytes",
        ),
        ("[[pool]]\nlisten = \"unix:/a\"\nservers = [\"unix:b\"]", "f.toml:8: `unix:b` is not a server: use host:port"),
        (
            "[[pool]]\nlisten = \"unix:/a\"\nservers = [\"unix:/b:0\"]",
            "f.toml:8: `unix:/b:0` is not a server: use host:port",
        ),
        (
            "[[pool]]\nlisten = \"unix:/a\"\nservers = [\"unix:/a one\"]",
            "f.toml:6: the server unix:/a is the address on which",
        ),
        ("multiget = \"sicc\"", "f.toml:6: agents are found by the racks of the servers: add racks = "),
        ("windows = \"long\"", "f.toml:6: unknown value `long`: use one of kept, anew"),
        ("link = \"1 kbit/s\"", "f.toml:6: `1 kbit/s` is less than 1 Mbit/s; use a value such as link = \"10 Gbit/s\""),
        ("[metrics]\nlisten = \"x\"", "f.toml:7: `x` is not an address: use host:port"),
        ("[metrics]\nport = 1", "f.toml:7: unknown key `port`: write it as `listen = "),
        (
            "[metrics]\nlisten = \"127.0.0.1:1\"\nhot_keys = 1000",
            "f.toml:8: 1000 is outside 0 to 100; use a value such as",
        ),
        ("slow = \"1 us\"", "f.toml:6: `1 us` is less than 100 us; use a value such as slow = \"100 ms\""),
        ("[messages]\nformat = \"xml\"", "f.toml:7: unknown value `xml`: use one of text, json"),
        ("= 3", "f.toml:6: "),
    ] {
        let text = format!("{POOL}{more}\n");
        let problem = Settings::of_file("f.toml", &text).unwrap_err().to_string();
        assert!(problem.starts_with(told), "{more:?}: {problem}");
    }
}

#[test]
fn errors_above_the_pools_have_line_and_range() {
    let problem = Settings::of_file("f.toml", "threads = 0\npool = []\n").unwrap_err().to_string();
    assert_eq!(problem, "f.toml:1: 0 is outside 1 to 1024");
    for (more, told) in [
        (
            "batching_delay = \"3600 s\"",
            "f.toml:1: `3600 s` is more than 100 ms; use a value such as batching_delay = \"100 us\"",
        ),
        ("memory = \"1 MiB\"", "f.toml:1: `1 MiB` is less than 16 MiB; use a value such as memory = \"256 MiB\""),
    ] {
        let problem = Settings::of_file("f.toml", &format!("{more}\n{POOL}")).unwrap_err().to_string();
        assert_eq!(problem, told);
    }
}

#[test]
fn collector_needs_feature_and_url() {
    let of = |url: &str| Settings::of_file("f.toml", &format!("{POOL}[messages]\notlp = \"{url}\"\n"));
    let urls = ["127.0.0.1:4318", "https://a:4318", "http://a", "http://a:70000", "http://u@a:1", "http://a:1/?b", ""];
    for url in urls {
        let problem = of(url).unwrap_err().to_string();
        let told = if EXPORTS {
            format!(
                "f.toml:7: `{url}` is not the URL of a collector: use http://host:port, such as otlp = \"http://127"
            )
        } else {
            "f.toml:7: this build has no OpenTelemetry: build it with `--features opentelemetry`, or".to_owned()
        };
        assert!(problem.starts_with(&told), "{problem}");
    }
    for url in ["http://127.0.0.1:4318", "http://[::1]:4318/", "http://collector:80/otlp"] {
        assert_eq!(of(url).is_ok(), EXPORTS, "{url}");
    }
}

#[test]
fn errors_of_predictions_have_line_and_valid_value() {
    for (more, told) in [
        (
            "incast = true",
            "f.toml:6: invalid type: boolean `true`, expected a table such as incast = { buffer = \"64 KiB\", ",
        ),
        (
            "incast = { rto_min = \"200 ms\" }",
            "f.toml:6: a prediction needs the buffer of the switch's port: incast = { buffer = \"64 KiB\", rto_min = \"200 ms\" }",
        ),
        ("incast = { buffer = \"64 KiB\" }", "f.toml:6: a prediction needs the servers' RTOmin: incast = { buffer = "),
        (
            "[pool.incast]\nbuffer = \"64 KiB\"\nrto_min = 200",
            "f.toml:8: `200`: its unit is missing; use a value such as rto_min = \"200 ms\"",
        ),
        (
            "[pool.incast]\nbuffer = \"64 B\"\nrto_min = \"1 ms\"",
            "f.toml:7: `64 B` is less than 2 KiB; use a value such as buffer = \"64 KiB\"",
        ),
        (
            "[pool.incast]\nbuffer = \"2 KiB\"\nrto_min = \"1 us\"",
            "f.toml:8: `1 us` is less than 1 ms; use a value such as rto_min = \"200 ms\"",
        ),
        (
            "[pool.incast]\nbuffer = \"2 KiB\"\nrto_min = \"1 ms\"\nrtt = \"2 s\"",
            "f.toml:9: `2 s` is more than 1 s; use a value such as rtt = \"100 us\"",
        ),
        (
            "[pool.incast]\nbuffer = \"2 KiB\"\nrto_min = \"1 ms\"\nlink = \"1 GB/s\"",
            "f.toml:9: `1 GB/s`: it is in bytes per second: write `8 Gbit/s`; use a value such as link = ",
        ),
        (
            "[pool.incast]\nbuffer = \"2 KiB\"\nrto_min = \"1 ms\"\nkeys = 1",
            "f.toml:9: 1 is outside 2 to 100000; use a value such as keys = 100",
        ),
        (
            "[pool.incast]\nbuffer = \"2 KiB\"\nrto_min = \"1 ms\"\nvalue = \"2 MiB\"",
            "f.toml:9: `2 MiB` is more than 1 MiB; use a value such as value = \"1 KiB\"",
        ),
        ("[pool.incast]\nbuffer = \"2 KiB\"\nrto = \"1 ms\"", "f.toml:8: unknown key `rto`: did you mean `rto_min`?"),
    ] {
        let text = format!("{POOL}{more}\n");
        let problem = Settings::of_file("f.toml", &text).unwrap_err().to_string();
        assert!(problem.starts_with(told), "{more:?}: {problem}");
    }
}

#[test]
fn errors_of_failover_have_line_and_valid_value() {
    for (more, told) in [
        ("on_down = \"wait\"", "f.toml:6: unknown value `wait`: use one of error, miss, next"),
        ("replicas = 0", "f.toml:6: 0 is outside 1 to 4"),
        ("replicas = 3", "f.toml:6: 3 replicas need as many servers; the pool has 2"),
        ("replicas = 2\non_down = \"next\"", "f.toml:7: with `replicas`, the other replicas replace a server: remove"),
        ("hedge = { after = \"5 ms\" }", "f.toml:6: `hedge` needs a second replica: set replicas = 2, or remove it"),
        (
            "replicas = 2\nhedge = { after = \"2 s\" }",
            "f.toml:7: `after` is not less than the timeout of 1 s: use a value such as \"5 ms\"",
        ),
        (
            "replicas = 2\nhedge = { after = \"5 ms\", share = \"200 %\" }",
            "f.toml:7: `200 %`: it is too large; use a value such as share = \"5 %\"",
        ),
        (
            "[[pool]]\nlisten = \"127.0.0.1:1\"\nservers = [\"127.0.0.1:2\"]\non_down = \"next\"",
            "f.toml:9: `next` needs at least two servers",
        ),
    ] {
        let problem = Settings::of_file("f.toml", &format!("{POOL}{more}\n")).unwrap_err().to_string();
        assert!(problem.starts_with(told), "{more:?}: {problem}");
    }
}

#[test]
fn errors_of_arguments_name_them() {
    let problem = Settings::of_servers("127.0.0.1:1", &["x".to_owned()]).unwrap_err().to_string();
    assert!(problem.starts_with("--servers x: `x` is not a server"), "{problem}");
}

#[test]
fn suggests_equivalents_of_foreign_keys() {
    for (more, told) in [
        (
            "auto_eject_hosts = true",
            "f.toml:6: unknown key `auto_eject_hosts`: write it as on_down = \"next\", or set `replicas`",
        ),
        ("tls = true", "f.toml:6: invalid type: boolean `true`, expected a table such as tls = {"),
        ("distribution = \"ketama\"", "f.toml:6: unknown key `distribution`: write it as `placement`: ketama"),
        ("server_connections = 1", "f.toml:6: unknown key `server_connections`: each thread has one connection"),
        (
            "placement = \"modula\"",
            "f.toml:6: unknown value `modula`: use one of ketama, ketama-libmemcached, rendezvous; only consistent hashing",
        ),
        ("colour = \"red\"", "f.toml:6: unknown key `colour`: use one of name, listen, servers, "),
    ] {
        let problem = Settings::of_file("f.toml", &format!("{POOL}{more}\n")).unwrap_err().to_string();
        assert!(problem.starts_with(told), "{more:?}: {problem}");
    }
    for (name, text, told) in [
        ("nutcracker.yml", "alpha:\n  listen: 127.0.0.1:22121\n", "nutcracker.yml:1: settings must be TOML"),
        ("f.toml", "[pool]\nlisten = \"127.0.0.1:0\"\n", "f.toml:1: write a pool as [[pool]]"),
        ("f.toml", "threads = \"4\"\n", "f.toml:1: invalid type: string \"4\", expected a whole number"),
    ] {
        let problem = Settings::of_file(name, text).unwrap_err().to_string();
        assert!(problem.starts_with(told), "{text:?}: {problem}");
    }
}

#[test]
fn reads_common_units() {
    let text = format!("{POOL}timeout = \"5000 \u{b5}s\"\nlink = \"25GbE\"\n");
    let pool = Settings::of_file("f.toml", &text).unwrap().pools.remove(0);
    assert_eq!((pool.timeout, pool.link), (Time::from_millis(5), Rate(25_000_000_000)));
}

#[test]
fn reads_unix_sockets() {
    let text =
        "[[pool]]\nlisten = \"unix:/run/f:1.sock\"\nservers = [\"unix:/a:b\", \"unix:/c:3\", \"unix:/d:4 four\"]\n";
    let pool = Settings::of_file("f.toml", text).unwrap().pools.remove(0);
    assert_eq!(pool.listen.to_string(), "unix:/run/f:1.sock");
    let servers: Vec<_> =
        pool.servers.iter().map(|one| (one.target.address.to_string(), one.weighted.clone())).collect();
    let weighted = |name: &str, weight| Weighted { name: name.to_owned(), weight };
    let expected =
        [("unix:/a:b", weighted("/a:b", 1)), ("unix:/c", weighted("/c", 3)), ("unix:/d", weighted("four", 4))];
    assert_eq!(servers, expected.map(|(address, weighted)| (address.to_owned(), weighted)));
}

#[test]
fn names_invalid_option() {
    for (servers, told) in [
        (["127.0.0.1:2", "127.0.0.1:2"], "--servers 127.0.0.1:2,127.0.0.1:2: the server 127.0.0.1:2 occurs twice"),
        (
            ["127.0.0.1:1", "127.0.0.1:2"],
            "--servers 127.0.0.1:1,127.0.0.1:2: the server 127.0.0.1:1 is the address on which",
        ),
    ] {
        let problem = Settings::of_servers("127.0.0.1:1", &servers.map(str::to_owned)).unwrap_err().to_string();
        assert!(problem.starts_with(told), "{problem}");
    }
}

#[test]
fn refuses_itself_as_server() {
    for (listen, server) in [
        ("127.0.0.1:5", "127.0.0.1:5"),
        ("0.0.0.0:5", "127.0.0.1:5"),
        ("0.0.0.0:5", "127.8.0.1:5"),
        ("[::]:5", "[::1]:5"),
        ("[::]:5", "127.0.0.1:5"),
        ("127.0.0.1:5", "0.0.0.0:5"),
        ("0.0.0.0:5", "0.0.0.0:5"),
        ("[::1]:5", "[::]:5"),
        ("127.0.0.1:5", "[::ffff:127.0.0.1]:5"),
        ("0.0.0.0:5", "[::ffff:127.0.0.1]:5"),
    ] {
        let problem = Settings::of_servers(listen, &[server.to_owned()]).unwrap_err().to_string();
        assert!(problem.ends_with("is the address on which `front` listens"), "{problem}");
        let file = format!(
            "[[pool]]\nname = \"one\"\nlisten = \"{listen}\"\nservers = [\"127.0.0.1:1\"]\n\
            [[pool]]\nlisten = \"127.0.0.1:6\"\nservers = [\"{server}\"]\n"
        );
        let problem = Settings::of_file("f.toml", &file).unwrap_err().to_string();
        assert!(problem.starts_with("f.toml:5: ") && problem.ends_with("`one` listens"), "{problem}");
    }
    // Any address of this machine.
    let own = nix::ifaddrs::getifaddrs().unwrap().filter_map(|one| Some(one.address?.as_sockaddr_in()?.ip()));
    for ip in own {
        Settings::of_servers("0.0.0.0:5", &[format!("{ip}:5")]).unwrap_err();
    }
    Settings::of_servers("127.0.0.1:5", &["127.0.0.1:6".to_owned(), "127.0.0.2:5".to_owned()]).unwrap();
    Settings::of_servers("0.0.0.0:5", &["192.0.2.7:5".to_owned()]).unwrap();
}

#[test]
fn former_key_is_accepted_with_a_warning() {
    let settings = Settings::of_file("f.toml", &format!("nap = \"50 us\"\n{POOL}")).unwrap();
    assert_eq!(settings.batching_delay, Time::from_micros(50));
    let warnings: Vec<String> = settings.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings, ["f.toml:1: `nap` is now `batching_delay`; the old name is accepted until the next release"]);
}
