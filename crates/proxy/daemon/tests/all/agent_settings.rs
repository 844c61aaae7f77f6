//! Settings of agents, racks and pools with hubs: errors have the file, the line and a valid value.

use std::fs;

use fanin_daemon::{AgentSettings, Settings};
use fanin_units::Bytes;
use tempfile::TempDir;

const RACKS: &str = "[[server]]\nmemcached = \"127.0.0.1:1\"\nagent = \"127.0.0.1:101\"\nrack = \"a\"\n\n\
                     [[server]]\nmemcached = \"127.0.0.1:2\"\nagent = \"127.0.0.1:102\"\nrack = \"b\"\n\n\
                     [[server]]\nmemcached = \"127.0.0.1:3\"\nrack = \"a\"\n";
const AGENT: &str = "listen = \"127.0.0.1:102\"\nmemcached = \"127.0.0.1:2\"\nracks = \"racks.toml\"\n";
const POOL: &str =
    "[[pool]]\nlisten = \"127.0.0.1:9\"\nservers = [\"127.0.0.1:1\", \"127.0.0.1:3\"]\nmultiget = \"sicc\"\n";

fn folder(racks: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("racks.toml"), racks).unwrap();
    folder
}

fn agent(racks: &str, text: &str) -> Result<AgentSettings, String> {
    let folder = folder(racks);
    let settings = AgentSettings::of_file(&folder.path().join("agent.toml").display().to_string(), text);
    settings.map_err(|problem| problem.to_string().replace(&format!("{}/", folder.path().display()), ""))
}

fn front(racks: &str, text: &str) -> Result<Settings, String> {
    let folder = folder(racks);
    let settings = Settings::of_file(&folder.path().join("front.toml").display().to_string(), text);
    settings.map_err(|problem| problem.to_string().replace(&format!("{}/", folder.path().display()), ""))
}

#[test]
fn agent_finds_its_server_and_rack() {
    let settings = agent(RACKS, &format!("{AGENT}plaintext = true\nwindow = \"8 KiB\"\n")).unwrap();
    let racks: Vec<u32> = settings.racks.servers.iter().map(|server| server.rack).collect();
    assert_eq!((settings.server, racks, settings.window), (1, vec![0, 1, 0], Bytes(8192)));
    assert!(settings.warnings[0].to_string().contains("neither authenticated nor encrypted"));
    // By its own address, if its memcached has a UNIX socket; and at any address of its host.
    let unix = AGENT.replace("127.0.0.1:2", "unix:/m.sock");
    assert_eq!(agent(RACKS, &format!("{unix}plaintext = true\n")).unwrap().server, 1);
    let any = AGENT.replace("127.0.0.1:102", "0.0.0.0:102");
    assert_eq!(agent(RACKS, &format!("{any}plaintext = true\n")).unwrap().server, 1);
}

#[test]
fn names_of_memcacheds_are_looked_up_again() {
    let named = |text: &str| text.replace("memcached = \"127.0.0.1:", "memcached = \"localhost:");
    let settings = agent(&named(RACKS), &format!("{}plaintext = true\n", named(AGENT))).unwrap();
    let servers = settings.memcacheds.iter().chain([&settings.memcached]);
    assert_eq!(servers.filter(|server| server.host.is_some()).count(), 4);
    let settings = agent(RACKS, &format!("{AGENT}plaintext = true\n")).unwrap();
    assert!(settings.memcached.host.is_none(), "there is nothing to look up");
    // With TLS, certificates have the names.
    let (folder, _) = crate::certificates::folder();
    fs::write(folder.path().join("racks.toml"), named(RACKS)).unwrap();
    let text = format!("{}plaintext = true\nserver_tls = {{ ca = \"ca.pem\" }}\n", named(AGENT));
    let name = folder.path().join("agent.toml").display().to_string();
    let settings = AgentSettings::of_file(&name, &text).unwrap();
    for server in settings.memcacheds.iter().chain([&settings.memcached]) {
        assert!(format!("{server:?}").contains("localhost"), "{server:?}");
    }
}

#[test]
fn agent_numbers_do_not_depend_on_the_order() {
    let one = agent(RACKS, &format!("{AGENT}plaintext = true\n")).unwrap();
    let servers: Vec<&str> = RACKS.split("\n\n").collect();
    let turned = format!("{}\n\n{}\n\n{}", servers[2], servers[1], servers[0]);
    let other = agent(&turned, &format!("{AGENT}plaintext = true\n")).unwrap();
    assert_eq!((one.node(), one.server, other.server), (other.node(), 1, 1));
}

#[test]
fn agent_errors_have_line_and_valid_value() {
    for (racks, text, told) in [
        (RACKS, AGENT.to_owned(), "agent.toml:3: agents are not authenticated: add tls = {"),
        (RACKS, format!("{AGENT}plaintext = false\n"), "agent.toml:3: agents are not authenticated"),
        (
            RACKS,
            format!("{AGENT}plaintext = true\nagent_secret = \"peers.secret\"\n"),
            "agent.toml:5: only one of TLS, agent_secret and plaintext",
        ),
        (RACKS, format!("{AGENT}agent_secret = \"gone\"\n"), "agent.toml:4: gone: No such file"),
        (RACKS, format!("{AGENT}plaintex = true\n"), "agent.toml:4: unknown key `plaintex`: did you mean `plaintext`?"),
        (RACKS, format!("{AGENT}plaintext = true\nwindow = 3\n"), "agent.toml:5: `3`: its unit is missing"),
        (RACKS, format!("{AGENT}plaintext = true\nobjects = 0\n"), "agent.toml:5: 0 is outside 1 to "),
        (
            RACKS,
            format!("{AGENT}plaintext = true\nagent_tls = {{ ca = \"ca.pem\" }}\n"),
            "agent.toml:5: only one of TLS, agent_secret and plaintext",
        ),
        (
            RACKS,
            format!("{AGENT}tls = {{ certificate = \"c.pem\", key = \"k.pem\" }}\nagent_tls = {{ ca = \"ca.pem\" }}\n"),
            "agent.toml:4: an agent authenticates its peers: add client_ca",
        ),
        (
            RACKS,
            AGENT.replace("127.0.0.1:2", "127.0.0.1:9") + "plaintext = true\nlisten2 = 1",
            "agent.toml:5: unknown key",
        ),
        (
            RACKS,
            AGENT.replace("127.0.0.1:2", "127.0.0.1:9").replace(":102", ":109") + "plaintext = true",
            "agent.toml:3: the racks have neither the memcached 127.0.0.1:9 nor an agent at 127.0.0.1:109: add [[server]]",
        ),
        (
            RACKS,
            AGENT.replace(":102", ":103") + "plaintext = true",
            "agent.toml:3: the agent of 127.0.0.1:2 is 127.0.0.1:102 in the racks, and this one listens on 127.0.0.1:103: two agents",
        ),
        (
            RACKS,
            AGENT.replace("127.0.0.1:2", "127.0.0.1:3") + "plaintext = true",
            "agent.toml:3: 127.0.0.1:3 has no agent in the racks: add agent = \"127.0.0.1:102\"",
        ),
    ] {
        let problem = agent(racks, &text).unwrap_err();
        assert!(problem.starts_with(told), "{problem}");
    }
}

#[test]
fn rack_errors_have_their_own_line() {
    let twice = RACKS.replace("127.0.0.1:3", "127.0.0.1:1");
    let same_agent = RACKS.replace("127.0.0.1:102", "127.0.0.1:101");
    for (racks, told) in [
        ("", "racks.toml:1: missing field `server`; write each server as [[server]]"),
        ("server = []", "racks.toml:1: no servers: add one as [[server]]"),
        ("[[server]]\nmemcached = \"127.0.0.1:1\"\n", "racks.toml:1: missing field `rack`"),
        ("[[server]]\nmemcached = \"127.0.0.1\"\nrack = \"a\"", "racks.toml:2: `127.0.0.1` is not an address"),
        ("[[server]]\nmemcached = \"127.0.0.1:1\"\nrack = \"a\"\nrak = 1", "racks.toml:4: unknown field `rak`"),
        (&twice, "racks.toml:11: the memcached 127.0.0.1:1 occurs twice"),
        (&same_agent, "racks.toml:6: the agent 127.0.0.1:101 occurs twice: each memcached has its own"),
    ] {
        for problem in [
            agent(racks, &format!("{AGENT}plaintext = true\n")).unwrap_err(),
            front(racks, &format!("{POOL}racks = \"racks.toml\"\nplaintext = true\n")).unwrap_err(),
        ] {
            let (line, problem) = problem.split_once(": ").unwrap();
            assert!(["agent.toml:3", "front.toml:5"].contains(&line) && problem.starts_with(told), "{line}: {problem}");
        }
    }
}

#[test]
fn pools_with_hubs_need_racks() {
    let hubs = format!("{POOL}racks = \"racks.toml\"\nplaintext = true\n");
    let pool = |more: &str| front(RACKS, &format!("{hubs}{more}\n"));
    let settings = pool("sicc = { hubs = 3, period = \"5 ms\" }").unwrap();
    let of_pool = settings.pools[0].hubs.as_ref().unwrap();
    assert_eq!((of_pool.most, of_pool.racks.count()), (3, 2));
    // Equation 1: S_e/s x B_u/B_d.
    let of_equation =
        "link = \"1 Gbit/s\"\nsicc = { buffer = \"100 KB\", object = \"1000 B\", uplink = \"40 Mbit/s\" }";
    assert_eq!(pool(of_equation).unwrap().pools[0].hubs.as_ref().unwrap().most, 4);
    for (text, told) in [
        (POOL.to_owned(), "front.toml:4: agents are found by the racks of the servers: add racks = \"racks.toml\""),
        (format!("{POOL}racks = \"racks.toml\""), "front.toml:4: agents are not authenticated: add agent_tls"),
        (format!("{POOL}racks = \"none.toml\"\nplaintext = true"), "front.toml:5: none.toml: No such file"),
        (POOL.replace("sicc", "sw") + "racks = \"racks.toml\"", "front.toml:5: it is for multigets through agents"),
        (
            hubs.replace("\"sicc\"", "\"picc\"") + "sicc = { hubs = 2 }",
            "front.toml:7: it is for hubs: remove it, or use",
        ),
        (format!("{hubs}on_down = \"next\""), "front.toml:4: agents ask the server of a key, or one of its replicas"),
        (format!("{hubs}sicc = {{ hubs = 0 }}"), "front.toml:7: 0 is outside 1 to "),
        (format!("{hubs}agent_tls = {{ ca = \"ca.pem\" }}"), "front.toml:7: only one of TLS, agent_secret"),
        (
            hubs.replace("plaintext = true", "agent_tls = { ca = \"ca.pem\" }"),
            "front.toml:6: agents require a certificate: add certificate",
        ),
        (
            hubs.replace("127.0.0.1:1", "127.0.0.1:7").replace("127.0.0.1:3", "127.0.0.1:8"),
            "front.toml:4: the racks have none of the pool's servers",
        ),
    ] {
        let problem = front(RACKS, &text).unwrap_err();
        assert!(problem.starts_with(told), "{problem}");
    }
}
