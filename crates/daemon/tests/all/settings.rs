//! A file that is wrong is refused with its line and what would be right.

use fanin_daemon::Settings;
use fanin_daemon::routing::{Hash, Placement};

const POOL: &str =
    "threads = 2\n\n[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [\"127.0.0.1:11211\", \"127.0.0.1:1:3 two\"]\n";

#[test]
fn a_file_says_what_twemproxys_says() {
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
fn what_is_wrong_is_named_with_its_line_and_the_right_form() {
    for (more, told) in [
        ("hash = \"md4\"", "f.toml:6: `md4` is none of one_at_a_time, md5, "),
        ("hahs = \"md5\"", "f.toml:6: there is no key `hahs`: did you mean `hash`?"),
        ("timeout = \"0 s\"", "f.toml:6: `0 s` is less than 1 ms; right is timeout = \"1 s\""),
        ("timeout = \"5\"", "f.toml:6: `5`: its unit is missing; right is timeout = \"1 s\""),
        ("timeout = 5", "f.toml:6: invalid type: integer `5`, expected a string"),
        ("[[pool]]\nlisten = \"x\"\nservers = []", "f.toml:7: `x` is no address: right is host:port"),
        ("[[pool]]\nlisten = \"127.0.0.1:1\"\nservers = []", "f.toml:8: no servers: servers = ["),
        (
            "[[pool]]\nlisten = \"127.0.0.1:1\"\nservers = [\"127.0.0.1\"]",
            "f.toml:8: `127.0.0.1` is no server: right is host:port",
        ),
        ("[[pool]]\nlisten = \"127.0.0.1:1\"\nservers = [\"127.0.0.1:1:0\"]", "f.toml:8: `127.0.0.1:1:0` is no server"),
        (
            "[[pool]]\nlisten = \"127.0.0.1:1\"\nservers = [\"127.0.0.1:1\", \"127.0.0.1:1\"]",
            "f.toml:8: the server 127.0.0.1:1 is there twice",
        ),
        ("[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [\"127.0.0.1:1\"]", "f.toml:6: two pools are `127.0.0.1:0`"),
        ("multiget = \"sicc\"", "f.toml:6: `sicc` is none of one-all, sw, sliding-window, ictcp-window"),
        ("windows = \"long\"", "f.toml:6: `long` is none of kept, anew"),
        ("link = \"1 kbit/s\"", "f.toml:6: `1 kbit/s` is less than 1 Mbit/s; right is link = \"10 Gbit/s\""),
        ("= 3", "f.toml:6: "),
    ] {
        let text = format!("{POOL}{more}\n");
        let problem = Settings::of_file("f.toml", &text).unwrap_err().to_string();
        assert!(problem.starts_with(told), "{more:?}: {problem}");
    }
    let problem = Settings::of_file("f.toml", "threads = 0\npool = []\n").unwrap_err().to_string();
    assert_eq!(problem, "f.toml:1: 0 is not from 1 to 1024");
    for (more, told) in [
        ("nap = \"3600 s\"", "f.toml:1: `3600 s` is more than 100 ms; right is nap = \"100 us\""),
        ("memory = \"1 MiB\"", "f.toml:1: `1 MiB` is less than 16 MiB; right is memory = \"256 MiB\""),
    ] {
        let problem = Settings::of_file("f.toml", &format!("{more}\n{POOL}")).unwrap_err().to_string();
        assert_eq!(problem, told);
    }
    let problem = Settings::of_servers("127.0.0.1:1", &["x".to_owned()]).unwrap_err().to_string();
    assert!(problem.starts_with("--servers x: `x` is no server"), "{problem}");
}

#[test]
fn a_front_end_that_would_ask_itself_is_refused() {
    for (listen, server) in [("127.0.0.1:5", "127.0.0.1:5"), ("0.0.0.0:5", "127.0.0.1:5"), ("[::]:5", "[::1]:5")] {
        let problem = Settings::of_servers(listen, &[server.to_owned()]).unwrap_err().to_string();
        assert!(problem.ends_with("is the address where `front` listens itself"), "{problem}");
        let file = format!(
            "[[pool]]\nname = \"one\"\nlisten = \"{listen}\"\nservers = [\"127.0.0.1:1\"]\n\
            [[pool]]\nlisten = \"127.0.0.1:6\"\nservers = [\"{server}\"]\n"
        );
        let problem = Settings::of_file("f.toml", &file).unwrap_err().to_string();
        assert!(problem.starts_with("f.toml:5: ") && problem.ends_with("`one` listens itself"), "{problem}");
    }
    Settings::of_servers("127.0.0.1:5", &["127.0.0.1:6".to_owned(), "127.0.0.2:5".to_owned()]).unwrap();
}
