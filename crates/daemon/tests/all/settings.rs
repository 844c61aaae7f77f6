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
        ("= 3", "f.toml:6: "),
    ] {
        let text = format!("{POOL}{more}\n");
        let problem = Settings::of_file("f.toml", &text).unwrap_err().to_string();
        assert!(problem.starts_with(told), "{more:?}: {problem}");
    }
    let problem = Settings::of_file("f.toml", "threads = 0\npool = []\n").unwrap_err().to_string();
    assert_eq!(problem, "f.toml:1: 0 is not from 1 to 1024");
    let problem = Settings::of_servers("127.0.0.1:1", &["x".to_owned()]).unwrap_err().to_string();
    assert!(problem.starts_with("--servers x: `x` is no server"), "{problem}");
}
