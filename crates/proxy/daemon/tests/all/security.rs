//! Settings of TLS, logins and access lists: errors have the line and the right form, and nothing shows a secret.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use fanin_daemon::Settings;

use crate::certificates::{Authority, EXPIRED, NOT_YET, VALID, folder};

/// Settings of a pool in a folder; the first line of `more` is line 4.
fn settings(folder: &Path, more: &str) -> Result<Settings, String> {
    let text = format!("[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [\"127.0.0.1:11211\"]\n{more}\n");
    let name = folder.join("front.toml").display().to_string();
    let prefix = format!("{}/", folder.display());
    Settings::of_file(&name, &text).map_err(|problem| problem.to_string().replace(&prefix, ""))
}

/// A folder with valid and invalid files.
fn material() -> tempfile::TempDir {
    let (folder, authority) = folder();
    let path = folder.path();
    let leaf = authority.issue("leaf", &["127.0.0.1"], VALID);
    authority.issue("old", &[], EXPIRED).write(path, "old");
    authority.issue("new", &[], NOT_YET).write(path, "new");
    leaf.write(path, "leaf");
    fs::write(path.join("old-ca.pem"), Authority::new("Old CA", EXPIRED).certificate).unwrap();
    fs::write(path.join("empty.pem"), "").unwrap();
    fs::write(path.join("torn.pem"), &leaf.certificate[..200]).unwrap();
    fs::write(path.join("text.pem"), leaf.certificate.replace("MII", "AAA")).unwrap();
    let encrypted = leaf.key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    fs::write(path.join("encrypted.pem"), encrypted).unwrap();
    fs::write(path.join("none"), "ann\n").unwrap();
    fs::write(path.join("two"), "ann:a\nbob:b\n").unwrap();
    folder
}

/// Each setting fails with this text, and shows no secret.
fn fail(folder: &Path, cases: &[(String, &str)]) {
    let key = fs::read_to_string(folder.join("leaf-key.pem")).unwrap();
    for (more, told) in cases {
        let problem = settings(folder, more).map(drop).unwrap_err();
        assert!(problem.starts_with(&format!("front.toml:4: {told}")), "{more}: {problem}");
        for secret in [&key[40..80], "bob:b"] {
            assert!(!problem.contains(secret), "{problem}");
        }
    }
}

fn client_ca(more: &str) -> String {
    format!("tls = {{ certificate = \"leaf.pem\", key = \"leaf-key.pem\", {more} }}")
}

#[test]
fn names_problem_of_certificate_and_key() {
    let folder = material();
    let tls = |certificate: &str, key: &str| format!("tls = {{ certificate = \"{certificate}\", key = \"{key}\" }}");
    let ca = |ca: &str| format!("server_tls = {{ ca = \"{ca}\" }}");
    let cases = [
        (tls("absent.pem", "leaf-key.pem"), "absent.pem: No such file or directory (os error 2); use a file"),
        (tls("leaf.pem", "absent.pem"), "absent.pem: No such file or directory (os error 2); use a file"),
        (tls(".", "leaf-key.pem"), ".: it is no file of at most 4 MiB"),
        (tls("empty.pem", "leaf-key.pem"), "empty.pem: no certificate in it; use a PEM file with BEGIN CERTIFICATE"),
        (tls("leaf-key.pem", "leaf-key.pem"), "leaf-key.pem: no certificate in it; use a PEM file"),
        (tls("torn.pem", "leaf-key.pem"), "torn.pem: its PEM is damaged"),
        (tls("text.pem", "leaf-key.pem"), "text.pem: a certificate in it is damaged"),
        (tls("old.pem", "old-key.pem"), "old.pem: the certificate of CN=old expired on Jan  1 00:00:00 2011"),
        (tls("new.pem", "new-key.pem"), "new.pem: the certificate of CN=new is not valid before Jan  1"),
        (tls("leaf.pem", "leaf.pem"), "leaf.pem: no private key in it; use a PEM file with BEGIN PRIVATE KEY"),
        (tls("leaf.pem", "encrypted.pem"), "encrypted.pem: the key is encrypted: decrypt it (openssl pkey"),
        (tls("leaf.pem", "old-key.pem"), "old-key.pem: the key does not belong to the first certificate in leaf.pem"),
        (ca("absent.pem"), "absent.pem: No such file"),
        (ca("leaf.pem"), "leaf.pem: the certificate of CN=leaf is no CA's"),
        (client_ca("client_ca = \"empty.pem\""), "empty.pem: no certificate in it"),
        (
            client_ca("client_ca = \"leaf.pem\""),
            "leaf.pem: the certificate of CN=leaf is no CA's, so it signs nothing; ",
        ),
        (client_ca("client_ca = \"old-ca.pem\""), "old-ca.pem: the certificate of "),
    ];
    fail(folder.path(), &cases);
}

#[test]
fn names_right_form_of_settings() {
    let folder = material();
    let cases = [
        ("tls = { certificate = \"leaf.pem\" }".to_owned(), "TLS needs a certificate and its key: tls = {"),
        ("tls = true".to_owned(), "invalid type: boolean `true`, expected a table such as tls = { certificate = "),
        (client_ca("allow_names = [\"a\"]"), "names are in clients' certificates, which only `client_ca` requires"),
        (client_ca("client_ca = \"ca.pem\", allow_names = []"), "no name, or an empty one"),
        (client_ca("ca = \"ca.pem\""), "unknown key `ca`: "),
        (
            "server_tls = { name = \"a\" }".to_owned(),
            "TLS needs the CA of the servers' certificates: server_tls = { ca =",
        ),
        (
            "server_tls = { ca = \"ca.pem\", key = \"leaf-key.pem\" }".to_owned(),
            "`certificate` and `key` belong together",
        ),
        (
            "server_tls = { ca = \"ca.pem\", name = \"a b\" }".to_owned(),
            "`a b` is not a name of a server: use a DNS name",
        ),
        ("allow = [\"10.0.0.1/8\"]".to_owned(), "`10.0.0.1/8` is not a network: use an address, or a network without"),
        ("allow = [\"localhost\"]".to_owned(), "`localhost` is not a network"),
        ("allow = []".to_owned(), "an empty list allows nobody"),
        ("allow_names = [\"a\"]".to_owned(), "unknown key `allow_names`: it belongs into `tls`"),
        ("auth = \"absent\"".to_owned(), "absent: No such file"),
        ("auth = \"none\"".to_owned(), "none:1: it is not of the form user:password; use lines of user:password"),
        ("server_auth = \"two\"".to_owned(), "two: several users: use a file with one line of user:password"),
        ("sasl = true".to_owned(), "unknown key `sasl`: write a file of user:password lines as `auth`"),
        ("ssl_key = \"k\"".to_owned(), "unknown key `ssl_key`: write it as tls = { certificate ="),
    ];
    fail(folder.path(), &cases);
}

#[test]
fn refuses_settings_that_cannot_act() {
    let (folder, _) = folder();
    let path = folder.path();
    // Names that cannot be verified, and lists that cannot act.
    let unix = |more: &str| {
        let text = format!("[[pool]]\nlisten = \"unix:/a\"\nservers = [\"unix:/b\"]\n{more}\n");
        Settings::of_file(&path.join("front.toml").display().to_string(), &text).map_err(|problem| problem.text)
    };
    assert!(unix("allow = [\"10.0.0.0/8\"]").unwrap_err().starts_with("clients of a UNIX socket have no address"));
    assert!(unix("server_tls = { ca = \"ca.pem\" }").unwrap_err().contains("add the servers' name"));
    unix("allow = [\"10.0.0.0/8\"]\nproxy_protocol = true\nserver_tls = { ca = \"ca.pem\", name = \"cache.test\" }")
        .unwrap();
}

#[test]
fn secrets_stay_in_the_process() {
    let (folder, _) = folder();
    let path = folder.path();
    for name in ["users", "login"] {
        fs::write(path.join(name), "ann:unspeakable\n").unwrap();
        fs::set_permissions(path.join(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
    let all = "tls = { certificate = \"front.pem\", key = \"front-key.pem\", client_ca = \"ca.pem\" }\nauth = \"users\"\n\
               server_auth = \"login\"\nserver_tls = { ca = \"ca.pem\", certificate = \"front.pem\", key = \"front-key.pem\" }\n";
    fs::set_permissions(path.join("front-key.pem"), fs::Permissions::from_mode(0o640)).unwrap();
    let found = settings(path, all).unwrap();
    assert_eq!(found.warnings, []);
    let shown = format!("{found:?} {found:#?}");
    let key = fs::read_to_string(path.join("front-key.pem")).unwrap();
    assert!(shown.contains("ann") && !shown.contains("unspeakable") && !shown.contains(&key[40..60]));
    assert!(!nix::sys::prctl::get_dumpable().unwrap(), "no core dumps, and other users' programs cannot attach");
    fs::set_permissions(path.join("front-key.pem"), fs::Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(path.join("users"), fs::Permissions::from_mode(0o604)).unwrap();
    let warnings: Vec<String> = settings(path, all).unwrap().warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 3);
    assert!(
        warnings.iter().all(|text| text.contains("every user can read this secret; run chmod o-r ")),
        "{warnings:?}"
    );
    assert!(warnings.iter().any(|text| text.contains("front.toml:5: ")), "{warnings:?}");
}

#[test]
fn reads_paths_relative_to_configuration() {
    let (folder, _) = folder();
    let sub = folder.path().join("sub");
    fs::create_dir(&sub).unwrap();
    let tls = "tls = { certificate = \"../front.pem\", key = \"../front-key.pem\" }";
    assert!(settings(&sub, tls).unwrap().pools[0].entry.tls.is_some());
    let tls = tls.replace("..", &folder.path().display().to_string());
    assert!(settings(Path::new("/nowhere"), &tls).unwrap().pools[0].entry.tls.is_some());
}
