//! Folders of shared budgets that other users could have made or changed.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fanin_limit::{Law, Limit, Settings};
use serde_json::Value;
use tempfile::TempDir;

/// The folder of a case, and a file to which its links lead.
fn made(case: &Value, above: &TempDir) -> (PathBuf, PathBuf) {
    let [folder, outside] = ["budget", "outside"].map(|name| above.path().join(name));
    fs::write(&outside, "unchanged").unwrap();
    match case["kind"].as_str().unwrap() {
        "none" => {}
        "folder" => {
            let mode = u32::from_str_radix(case["mode"].as_str().unwrap(), 8).unwrap();
            fs::create_dir(&folder).unwrap();
            fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
        }
        "link" => symlink(above.path(), &folder).unwrap(),
        "file" => fs::write(&folder, "").unwrap(),
        kind => panic!("{kind}"),
    }
    for (name, kind) in case["files"].as_object().into_iter().flatten() {
        match kind.as_str().unwrap() {
            "link" => symlink(&outside, folder.join(name)).unwrap(),
            "second name" => fs::hard_link(&outside, folder.join(name)).unwrap(),
            "folder" => fs::create_dir(folder.join(name)).unwrap(),
            kind => panic!("{kind}"),
        }
    }
    (folder, outside)
}

fn joined(folder: &Path) -> std::io::Result<Limit> {
    let settings = Settings { law: Law::OneAll, budget: Some(64_000), expected: 1000, ..Settings::default() };
    Limit::with_shared_budget(settings, folder)
}

#[test]
fn folder_is_trusted_or_refused() {
    let file: Value = serde_json::from_str(include_str!("../../../../../vectors/limit_folder.json")).unwrap();
    let cases = file["folders"].as_array().unwrap();
    assert!(cases.len() >= 8);
    for case in cases {
        let above = tempfile::tempdir().unwrap();
        let (folder, outside) = made(case, &above);
        let limit = match (joined(&folder), case["refused"].as_str()) {
            (Ok(limit), None) => limit,
            (Err(why), Some(refused)) if why.to_string().contains(refused) => continue,
            (other, _) => panic!("{case}: {other:?}"),
        };
        // Every slot is of use.
        let grants: Vec<_> = (0..64).map(|_| limit.acquire_timeout(1000, Duration::from_secs(60)).unwrap()).collect();
        assert_eq!(fs::read_to_string(&outside).unwrap(), "unchanged", "{case}");
        for name in ["", "process-00", "slot-63"] {
            let found = fs::symlink_metadata(folder.join(name)).unwrap();
            assert!(!found.is_symlink() && found.permissions().mode() & 0o077 == 0, "{case}: {name}");
        }
        drop(grants);
    }
}

/// As root, which can make folders and files of others: no user's folder is trusted, and their files count for nothing.
#[test]
fn files_of_strangers_count_for_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
    let stranger = |path: &Path| std::os::unix::fs::chown(path, Some(65_534), Some(65_534));
    for name in ["process-00", "slot-00", "slot-63"] {
        fs::write(folder.path().join(name), [64, 64]).unwrap();
        if stranger(&folder.path().join(name)).is_err() {
            println!("skipped: only root can give a file to another user");
            return;
        }
    }
    // It has them open, and so their locks.
    let held = fs::File::open(folder.path().join("slot-00")).unwrap();
    held.lock().unwrap();
    let limit = joined(folder.path()).unwrap();
    let grants: Vec<_> = (0..64).map(|_| limit.acquire_timeout(1000, Duration::from_secs(60)).unwrap()).collect();
    assert_eq!(grants.len(), 64);
    stranger(folder.path()).unwrap();
    let why = joined(folder.path()).unwrap_err().to_string();
    assert!(why.starts_with("it belongs to user 65534"), "{why}");
}

/// With a group, its members share a folder of root's.
#[test]
fn members_of_the_named_group_share_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    if std::os::unix::fs::chown(folder.path(), None, Some(54_321)).is_err() {
        println!("skipped: only root can give a folder to another group");
        return;
    }
    fs::set_permissions(&folder, Permissions::from_mode(0o2770)).unwrap();
    assert!(joined(folder.path()).unwrap_err().to_string().contains("run `chmod 700`"));
    let settings = Settings { law: Law::OneAll, budget: Some(64_000), group: Some(54_321), ..Settings::default() };
    let one = Limit::with_shared_budget(settings.clone(), folder.path()).unwrap();
    let other = Limit::with_shared_budget(settings, folder.path()).unwrap();
    let found = fs::metadata(folder.path().join("process-01")).unwrap();
    assert_eq!((found.permissions().mode() & 0o777, std::os::unix::fs::MetadataExt::gid(&found)), (0o660, 54_321));
    drop((one, other));
}
