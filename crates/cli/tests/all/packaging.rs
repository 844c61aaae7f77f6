//! Units, settings and user of the Debian package, and notifications to systemd.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::common::program;
use super::support::root;
use fanin_testing::LIMIT;

fn file(name: &str) -> String {
    fs::read_to_string(root().join("packaging").join(name)).unwrap()
}

/// Output of a command, which must succeed.
fn output(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert!(status.success(), "{command:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

fn has(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    found.is_ok_and(|status| status.success())
}

/// Values of a key in a unit.
fn values<'a>(unit: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    unit.lines().filter_map(move |line| line.strip_prefix(key)?.strip_prefix('='))
}

#[test]
fn unit_is_valid_and_exposes_little() {
    if !has("systemd-analyze") {
        return println!("skipped: no systemd-analyze on this machine");
    }
    let mut analyze = Command::new("systemd-analyze");
    analyze.args(["security", "--offline=true", "--no-pager"]).arg(root().join("packaging/fanin-front.service"));
    let told = output(&mut analyze);
    let level = told.lines().find(|line| line.contains("Overall exposure level")).expect(&told);
    let level: f64 = level.split(": ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(level <= 2.0, "{told}");
    // Programs must be there.
    let folder = tempfile::tempdir().unwrap();
    for name in ["fanin-front.service", "fanin-front.socket"] {
        let unit = file(name).replace("/usr/bin/fanin", env!("CARGO_BIN_EXE_fanin"));
        fs::write(folder.path().join(name), unit).unwrap();
    }
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--man=no"]).arg(folder.path().join("fanin-front.service"));
    verify.arg(folder.path().join("fanin-front.socket"));
    let Output { status, stderr, .. } = verify.output().unwrap();
    let told = String::from_utf8(stderr).unwrap();
    assert!(status.success() && !told.contains("fanin-front"), "{told}");
}

#[test]
fn packaged_settings_are_valid_and_fit_the_units() {
    let settings = root().join("packaging/front.toml");
    let told = output(program().args(["front", "--check", "--config"]).arg(&settings));
    assert!(told.starts_with("configuration OK: 1 pool, 1 server"), "{told}");
    let (text, service, socket) = (file("front.toml"), file("fanin-front.service"), file("fanin-front.socket"));
    let listens: Vec<&str> = values(&socket, "ListenStream").collect();
    assert!(!listens.is_empty());
    assert!(listens.iter().all(|address| text.contains(&format!("listen = \"{address}\""))), "{listens:?}");
    // The program accepts the commands that the unit runs.
    let commands: Vec<&str> = values(&service, "ExecStart").chain(values(&service, "ExecReload")).collect();
    assert_eq!(commands.len(), 3);
    for command in commands.iter().filter_map(|command| command.strip_prefix("/usr/bin/fanin ")) {
        let command = command.replace("/etc/fanin/front.toml", &settings.display().to_string());
        let check = if command.contains("--check") { "" } else { " --check" };
        output(program().args(format!("{command}{check}").split(' ')));
    }
    assert!(file("Containerfile").contains("COPY fanin /fanin\n"));
}

#[test]
fn debian_package_has_settings_units_and_user() {
    if !has("dpkg-deb") {
        return println!("skipped: no dpkg-deb on this machine");
    }
    let folder = tempfile::tempdir().unwrap();
    // Instead of a release's program, completions and man pages.
    let built = folder.path().join("built");
    for (name, text) in [
        ("fanin", "#!/bin/sh\n"),
        ("completions/fanin.bash", ""),
        ("completions/fanin.zsh", ""),
        ("completions/fanin.fish", ""),
        ("man/fanin.1", ".TH FANIN 1\n"),
    ] {
        fs::create_dir_all(built.join(name).parent().unwrap()).unwrap();
        fs::write(built.join(name), text).unwrap();
    }
    let mut build = Command::new(root().join("scripts/debian.sh"));
    output(build.args(["amd64", "1.2.3"]).arg(&built).arg(folder.path()));
    let package = folder.path().join("fanin_1.2.3_amd64.deb");
    let extracted = folder.path().join("extracted");
    output(Command::new("dpkg-deb").arg("--raw-extract").arg(&package).arg(&extracted));
    let mode = |name: &str| {
        let path = extracted.join(name);
        fs::metadata(&path).unwrap_or_else(|error| panic!("{name}: {error}")).permissions().mode() & 0o777
    };
    for (name, expected) in [
        ("usr/bin/fanin", 0o755),
        ("etc/fanin/front.toml", 0o640),
        ("lib/systemd/system/fanin-front.service", 0o644),
        ("lib/systemd/system/fanin-front.socket", 0o644),
        ("usr/lib/sysusers.d/fanin.conf", 0o644),
        ("usr/share/fanin/grafana.json", 0o644),
        ("usr/share/doc/fanin/front.md", 0o644),
        ("usr/share/doc/fanin/operate.md", 0o644),
        ("DEBIAN/postinst", 0o755),
        ("DEBIAN/prerm", 0o755),
        ("DEBIAN/postrm", 0o755),
    ] {
        assert_eq!(mode(name), expected, "{name}");
    }
    let text = |name: &str| fs::read_to_string(extracted.join(name)).unwrap();
    assert_eq!(text("DEBIAN/conffiles"), "/etc/fanin/front.toml\n");
    assert!(text("DEBIAN/control").contains("Version: 1.2.3\nArchitecture: amd64\n"));
    let scripts: Vec<_> = ["postinst", "prerm", "postrm"].map(|name| extracted.join("DEBIAN").join(name)).into();
    scripts.iter().for_each(|script| drop(output(Command::new("sh").arg("-n").arg(script))));
    if has("shellcheck") {
        output(Command::new("shellcheck").args(&scripts).arg(root().join("scripts/debian.sh")));
    }
    // The user of the unit is the one that is created.
    let service = file("fanin-front.service");
    let user = values(&service, "User").next().unwrap();
    assert!(text("usr/lib/sysusers.d/fanin.conf").contains(&format!("\nu {user} ")));
    if has("systemd-sysusers") {
        let system = folder.path().join("system");
        fs::create_dir_all(system.join("etc")).unwrap();
        let mut create = Command::new("systemd-sysusers");
        create.arg("--root").arg(&system).arg(extracted.join("usr/lib/sysusers.d/fanin.conf"));
        output(&mut create);
        let users = fs::read_to_string(system.join("etc/passwd")).unwrap();
        assert!(users.contains(&format!("{user}:x:")), "{users}");
    }
}

/// The next message to systemd.
fn told(socket: &UnixDatagram) -> String {
    let mut bytes = [0; 1024];
    let count = socket.recv(&mut bytes).expect("a message within the time limit");
    String::from_utf8(bytes[..count].to_vec()).unwrap()
}

#[test]
fn systemd_is_told_of_start_reload_and_stop() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, settings) = (folder.path().join("notify"), folder.path().join("front.toml"));
    fs::write(&settings, "[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [\"127.0.0.1:1\"]\n").unwrap();
    let systemd = UnixDatagram::bind(&socket).unwrap();
    systemd.set_read_timeout(Some(LIMIT)).unwrap();
    let run = |config: &Path| {
        let mut command = program();
        command.args(["front", "--config"]).arg(config).env("NOTIFY_SOCKET", &socket);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut front = run(&settings);
    assert_eq!(told(&systemd), "READY=1\n");
    let signal = |name: &str| output(Command::new("kill").args([name, &front.id().to_string()]));
    signal("-HUP");
    assert_eq!([told(&systemd), told(&systemd)], ["RELOADING=1\n", "READY=1\n"]);
    signal("-TERM");
    assert_eq!(told(&systemd), "STOPPING=1\n");
    assert_eq!(front.wait().unwrap().code(), Some(0));
    // One that cannot start is never ready.
    fs::write(&settings, "pool = 1\n").unwrap();
    assert_eq!(run(&settings).wait().unwrap().code(), Some(2));
    systemd.set_nonblocking(true).unwrap();
    systemd.recv(&mut [0; 64]).unwrap_err();
}
