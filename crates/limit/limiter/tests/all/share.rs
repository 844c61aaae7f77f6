//! One budget for several processes.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fanin_limit::{Grant, Law, Limit, Settings};
use fanin_testing::{LIMIT, wait_until};

const BUDGET: u64 = 64_000;
const SIZE: u64 = 1000;

fn limit(folder: &Path) -> Limit {
    let settings = Settings { law: Law::OneAll, budget: Some(BUDGET), expected: SIZE, ..Settings::default() };
    Limit::with_shared_budget(settings, folder.join("budget")).unwrap()
}

/// As many grants as there are before a wait that is long for the thread that adapts the budget; at least `count`.
fn grants(limit: &Limit, count: usize) -> Vec<Grant> {
    (0..count).map(|_| limit.acquire_timeout(SIZE, LIMIT).expect("a grant")).collect()
}

/// Another process, which holds the whole budget: this test program with another test.
fn holder(folder: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["share::holds_the_whole_budget_for_another_process", "--exact", "--nocapture", "--ignored"])
        .env("FANIN_LIMIT_FOLDER", folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.contains("it holds the budget")));
    child
}

#[test]
#[ignore = "another test runs it as a process"]
#[expect(clippy::disallowed_methods, reason = "the other test's argument")]
fn holds_the_whole_budget_for_another_process() {
    let Some(folder) = std::env::var_os("FANIN_LIMIT_FOLDER") else { return };
    let limit = limit(Path::new(&folder));
    let _held = grants(&limit, 64);
    println!("it holds the budget");
    std::thread::sleep(LIMIT);
}

#[test]
fn killed_process_gives_back_its_part() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = holder(folder.path());
    let own = limit(folder.path());
    // The other one's responses never end, so that it keeps every slot.
    assert!(own.acquire_timeout(SIZE, Duration::from_millis(50)).is_none());
    child.kill().unwrap();
    child.wait().unwrap();
    let held = grants(&own, 64);
    assert_eq!(own.figures().in_flight, BUDGET);
    drop(held);
}

#[test]
fn processes_get_equal_parts_when_both_need_them() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (limit(folder.path()), limit(folder.path()));
    let mut held = grants(&first, 63);
    let got = grants(&second, 1);
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| grants(&second, 31));
        let also = scope.spawn(|| first.acquire_timeout(SIZE, Duration::from_millis(50)));
        wait_until("both need more", || second.figures().waiting > 0);
        drop(also.join().unwrap());
        // The first one's responses end, and it requests as many again, of which half fit.
        held.clear();
        let again = waits.join().unwrap();
        assert_eq!(got.len() + again.len(), 32);
        assert!(first.figures().in_flight + second.figures().in_flight <= BUDGET);
    });
}

#[test]
fn budget_is_needed_and_the_folder_must_be_writable() {
    let why = Limit::with_shared_budget(Settings::default(), "/nonexistent").unwrap_err().to_string();
    assert_eq!(why, "a shared budget needs the setting `budget`; write a size such as \"1 MiB\"");
    let settings = Settings { budget: Some(1), ..Settings::default() };
    assert!(Limit::with_shared_budget(settings, "/proc/nonexistent").is_err());
}

#[test]
fn sixty_five_processes_are_too_many() {
    let folder = tempfile::tempdir().unwrap();
    let all: Vec<Limit> = (0..64).map(|_| limit(folder.path())).collect();
    let settings = Settings { budget: Some(BUDGET), ..Settings::default() };
    let why = Limit::with_shared_budget(settings, folder.path().join("budget")).unwrap_err().to_string();
    assert!(why.starts_with("64 processes share the budget"), "{why}");
    drop(all);
}
