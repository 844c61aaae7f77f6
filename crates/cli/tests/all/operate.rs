//! `docs/operate.md`: a tier moves from nutcracker to the front end and back by the page's own steps.
//!
//! A block marked `yaml file NAME` is a file of that name, and one marked `sh step NAME` is typed into one shell.
#![expect(clippy::disallowed_types, reason = "simple clients")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::Receiver;

use super::dashboard::{Process, get, prometheus, results};
use super::front::lines;
use super::support::root;
use fanin_testing::{LIMIT, own_address, wait_until};

/// Addresses and times of the page, in the order of `Page::places`.
const PLACES: [&str; 5] = ["10.0.0.1:11211", "10.0.0.2:11211", "127.0.0.1:22121", "127.0.0.1:22122", "127.0.0.1:24190"];

/// The page with addresses of this machine, and times that suit a test.
struct Page {
    blocks: Vec<(String, String)>,
    places: Vec<String>,
}

impl Page {
    fn read() -> Page {
        let mut text = fs::read_to_string(root().join("docs/operate.md")).unwrap();
        let places: Vec<String> = PLACES.iter().map(|_| own_address().to_string()).collect();
        let port = |address: &str| address.split_once(':').unwrap().1.to_owned();
        for (shown, place) in PLACES.iter().zip(&places) {
            text = text.replace(shown, place);
            if shown.starts_with("127.") {
                text = text.replace(&format!(":{}", port(shown)), &format!(":{}", port(place)));
            }
        }
        text = text.replace("scrape_interval: 15s", "scrape_interval: 200ms").replace("[5m]", "[5s]");
        let mut parts = text.split("\n```");
        parts.next();
        let blocks = parts.step_by(2).map(|block| {
            let (mark, body) = block.split_once('\n').unwrap();
            (mark.to_owned(), format!("{body}\n"))
        });
        Page { blocks: blocks.collect(), places }
    }

    fn block(&self, mark: &str) -> &str {
        let found = self.blocks.iter().find(|(own, _)| own == mark);
        &found.unwrap_or_else(|| panic!("no block `{mark}`")).1
    }

    fn steps(&self) -> Vec<&str> {
        self.blocks.iter().filter_map(|(mark, _)| mark.strip_prefix("sh step ")).collect()
    }

    /// Expressions of the alerts by name.
    fn alerts(&self) -> BTreeMap<&str, &str> {
        let rules = self.block("yaml file alerts.yml").lines().filter_map(|line| line.split_once("alert: "));
        rules
            .map(|(_, rule)| (rule.split(',').next().unwrap(), rule.split('\'').nth(1).expect("a quoted expression")))
            .collect()
    }
}

/// A shell in a folder; its processes end with it.
struct Terminal {
    shell: Child,
    input: ChildStdin,
    output: Receiver<String>,
}

impl Terminal {
    fn open(folder: &Path) -> Terminal {
        let programs = Path::new(env!("CARGO_BIN_EXE_fanin")).parent().unwrap().display();
        let mut command = Command::new("sh");
        command.arg("-eu").current_dir(folder).process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.env("PATH", format!("{programs}:/usr/local/bin:/usr/bin:/bin:/usr/sbin"));
        let mut shell = command.spawn().unwrap();
        let (input, output) = (shell.stdin.take().unwrap(), lines(shell.stdout.take().unwrap()));
        let mut terminal = Terminal { shell, input, output };
        terminal.types("exec 2>&1");
        terminal
    }

    /// Output of commands, all of which must succeed.
    fn types(&mut self, commands: &str) -> String {
        let mut told = String::new();
        write!(self.input, "{commands}\necho; echo all have ended\n").unwrap();
        loop {
            match self.output.recv_timeout(LIMIT) {
                Ok(line) if line == "all have ended" => return told,
                Ok(line) => told += &format!("{line}\n"),
                Err(error) => panic!("{error}: {commands}\n{told}"),
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", self.shell.id())]).status();
        let _ = self.shell.wait();
    }
}

/// Values of a response by key.
fn values(response: &str) -> BTreeMap<String, String> {
    let mut lines = response.lines();
    let mut found = BTreeMap::new();
    while let Some(line) = lines.next() {
        if let Some(rest) = line.strip_prefix("VALUE ") {
            let key = rest.split(' ').next().unwrap().to_owned();
            found.insert(key, lines.next().unwrap_or_default().to_owned());
        }
    }
    found
}

/// Response to requests without TLS.
fn exchange(place: &str, requests: &str) -> String {
    let mut stream = TcpStream::connect(place).unwrap();
    stream.write_all(format!("{requests}quit\r\n").as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

/// The tier of the page, before and after its move.
struct Tier {
    page: Page,
    folder: tempfile::TempDir,
    servers: Vec<Process>,
    _nutcracker: Process,
    written: BTreeMap<String, String>,
}

impl Tier {
    /// A running tier, or why there is none.
    fn start() -> Result<Tier, String> {
        for (tool, version) in [("openssl", "version"), ("curl", "--version")] {
            Command::new(tool).arg(version).output().map_err(|_| format!("no {tool} on this machine"))?;
        }
        let needs = ["memcached", "nutcracker", "prometheus"];
        let installs = Command::new("scripts/setup.sh").args(needs).current_dir(root()).output().unwrap();
        if !installs.status.success() {
            return Err(String::from_utf8_lossy(&installs.stderr).into_owned());
        }
        let (page, folder) = (Page::read(), tempfile::tempdir().unwrap());
        for (mark, body) in &page.blocks {
            if let Some(name) = mark.strip_prefix("yaml file ") {
                fs::write(folder.path().join(name), body).unwrap();
            }
        }
        let run = |command: &mut Command| Process(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let memcached = |place: &String| {
            let (host, port) = place.split_once(':').unwrap();
            run(Command::new("memcached").args(["-u", "nobody", "-l", host, "-p", port]))
        };
        let servers = page.places[..2].iter().map(memcached).collect();
        let own = own_address().to_string();
        let (host, statistics) = own.split_once(':').unwrap();
        let mut nutcracker = Command::new("nutcracker");
        nutcracker.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin").current_dir(folder.path());
        let nutcracker = run(nutcracker.args(["-c", "nutcracker.yml", "-a", host, "-s", statistics]));
        for place in &page.places[..3] {
            wait_until(place, || TcpStream::connect(place).is_ok());
        }
        Ok(Tier { page, folder, servers, _nutcracker: nutcracker, written: BTreeMap::new() })
    }

    /// Response to requests through nutcracker.
    fn old_port(&self, requests: &str) -> String {
        exchange(&self.page.places[2], requests)
    }

    /// Response to requests through the front end, with TLS.
    fn new_port(&self, requests: &str) -> String {
        let mut client = Command::new("openssl");
        client.args(["s_client", "-quiet", "-verify_return_error", "-CAfile", "ca.pem", "-connect"]);
        client.arg(&self.page.places[3]).current_dir(self.folder.path());
        let mut client = client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        client.stdin.take().unwrap().write_all(format!("{requests}quit\r\n").as_bytes()).unwrap();
        String::from_utf8(client.wait_with_output().unwrap().stdout).unwrap()
    }

    /// Writes keys that begin with a word.
    fn write(&mut self, word: &str, port: fn(&Tier, &str) -> String) {
        let new: BTreeMap<String, String> = (0..100).map(|n| (format!("{word}{n}"), format!("{word}-{n}"))).collect();
        let set = |(key, value): (&String, &String)| format!("set {key} 0 0 {}\r\n{value}\r\n", value.len());
        let response = port(self, &new.iter().map(set).collect::<String>());
        assert_eq!(response, "STORED\r\n".repeat(100));
        self.written.extend(new);
    }

    fn get_all(&self) -> String {
        self.written.keys().map(|key| format!("get {key}\r\n")).collect()
    }

    /// Every key is found through both proxies.
    fn has_all(&self) {
        assert_eq!(values(&self.old_port(&self.get_all())), self.written);
        assert_eq!(values(&self.new_port(&self.get_all())), self.written);
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("front.log")).unwrap()
    }

    fn metrics(&self) -> String {
        get(&self.page.places[4], "/metrics").unwrap()
    }
}

/// Whether each thread of a process is stopped.
fn has_stopped(process: u32) -> bool {
    let mut threads = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    threads.all(|thread| {
        let state = fs::read_to_string(thread.unwrap().path().join("stat")).unwrap();
        state.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('T'))
    })
}

/// Every alert can fire, and has a row that says what to do.
fn alerts_resolve(tier: &Tier, prometheus: &str) {
    let text = fs::read_to_string(root().join("docs/operate.md")).unwrap();
    let alerts = tier.page.alerts();
    assert!(alerts.len() >= 10);
    for (name, expression) in alerts {
        assert!(text.lines().any(|line| line.starts_with("| `") && line.contains(&format!("`{name}`"))), "{name}");
        let (value, _) = expression.rsplit_once(['<', '>']).expect("a threshold");
        wait_until(name, || results(prometheus, value.trim()).is_ok_and(|found| !found.is_empty()));
    }
}

/// A stopped server fails its keys and raises its alert, and loses nothing.
fn stopped_server_raises_alert(tier: &Tier, prometheus: &str) {
    // Similar keys have similar hashes, so a server may have none: its address decides.
    let has_keys = |place: &String| exchange(place, &tier.get_all()).contains("VALUE ");
    let server = tier.page.places[..2].iter().position(has_keys).expect("a server with keys");
    let server = tier.servers[server].0.id();
    let signal = |name: &str| {
        assert!(Command::new("kill").args([name, &server.to_string()]).status().unwrap().success());
    };
    let down = tier.page.alerts()["FaninServerDown"];
    assert!(results(prometheus, down).unwrap().is_empty());
    signal("-STOP");
    // A busy machine stops the threads of a process with a delay.
    wait_until("the server's stop", || has_stopped(server));
    wait_until("a timeout", || {
        tier.new_port(&tier.get_all()).contains("SERVER_ERROR server did not answer in time\r\n")
    });
    wait_until("errors at once, and an alert", || {
        let response = tier.new_port(&tier.get_all());
        response.contains("SERVER_ERROR server is down\r\n") && !results(prometheus, down).unwrap().is_empty()
    });
    signal("-CONT");
    wait_until("the server's return", || values(&tier.new_port(&tier.get_all())) == tier.written);
}

/// Deploys and rolls back: a new certificate, an invalid file, and processes that take over.
fn deploys_and_rolls_back(tier: &mut Tier, terminal: &mut Terminal) {
    let page = |name: &str, tier: &Tier| tier.page.block(&format!("sh step {name}")).to_owned();
    let certificate = "openssl s_client -connect $at </dev/null 2>/dev/null | openssl x509 -noout -serial";
    let certificate = certificate.replace("$at", &tier.page.places[3]);
    let before = terminal.types(&certificate);
    terminal.types(&page("certificate", tier));
    terminal.types(&page("reload", tier));
    assert_ne!(before, terminal.types(&certificate));
    tier.has_all();
    let told = terminal.types(
        "cp front.toml valid.toml; echo 'nonsense = 1' >> front.toml\n\
         code=0; fanin front --config front.toml --reload || code=$?\n\
         echo \"code $code\"; cp valid.toml front.toml",
    );
    assert!(told.contains("nonsense") && told.contains("code 2\n"), "{told}");
    tier.has_all();
    for (step, threads) in [("deploy", true), ("undo", false)] {
        terminal.types("old=$(cat front.pid)");
        terminal.types(&page(step, tier));
        // Its exit code is zero.
        terminal.types("wait \"$old\"");
        assert_eq!(fs::read_to_string(tier.folder.path().join("front.toml")).unwrap().contains("threads = 3"), threads);
        assert!(!threads || tier.metrics().contains("\nfanin_threads 3"), "{}", tier.log());
        tier.has_all();
        tier.write(step, Tier::new_port);
    }
}

#[test]
fn tier_moves_and_returns_by_the_steps_of_the_page() {
    let mut tier = match Tier::start() {
        Ok(tier) => tier,
        Err(why) => return println!("skipped: {why}"),
    };
    let moves = ["import", "ca", "certificate", "settings", "start", "verify"];
    assert_eq!(tier.page.steps(), [&moves[..], &["reload", "deploy", "undo", "back"]].concat());
    assert_eq!(tier.old_port("set greeting 0 0 5\r\nhello\r\n"), "STORED\r\n");
    tier.write("before", Tier::old_port);
    let mut terminal = Terminal::open(tier.folder.path());
    let said: Vec<String> =
        moves.iter().map(|step| terminal.types(tier.page.block(&format!("sh step {step}")))).collect();
    assert!(said[3].contains("configuration OK: 1 pool, 2 servers"), "{said:?}");
    assert!(said[4].contains("hello"), "{said:?}");
    assert!(said[5].contains("fanin_tls_handshakes_total 1.0\n"), "{said:?}");
    tier.has_all();
    tier.write("moved", Tier::new_port);
    tier.has_all();
    terminal.types("promtool check config prometheus.yml");
    let (_prometheus, prometheus) = prometheus(tier.folder.path(), "");
    wait_until("an answer of Prometheus", || results(&prometheus, "up").is_ok_and(|found| !found.is_empty()));
    alerts_resolve(&tier, &prometheus);
    stopped_server_raises_alert(&tier, &prometheus);
    deploys_and_rolls_back(&mut tier, &mut terminal);
    terminal.types(tier.page.block("sh step back"));
    terminal.types("wait \"$(cat front.pid)\"");
    assert!(TcpStream::connect(&tier.page.places[3]).is_err());
    assert_eq!(values(&tier.old_port(&tier.get_all())), tier.written);
    assert!(!tier.log().contains("panicked"), "{}", tier.log());
}
