//! Shared parts of the workspace's tests: seeded property tests, waits with a limit, addresses that nothing else uses, and Chakra's traces.

pub mod chakra;

use std::fmt::Debug;
use std::net::SocketAddr;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use proptest::test_runner::{Config, RngSeed};

/// Limit of a wait. A busy machine needs a hundred times as long as an idle one; a test that needs longer than this has failed.
pub const LIMIT: Duration = Duration::from_secs(120);

/// Seed of the property tests in `make test`.
const SEED: u64 = 1;

/// Configuration of a property test with at least this many cases.
///
/// The cases are the same on every machine, unless `PROPTEST_RNG_SEED` selects others; `PROPTEST_CASES` raises their number. A failing
/// test prints both.
#[expect(clippy::disallowed_methods, reason = "proptest's own variables select the cases")]
pub fn cases(count: u32) -> Config {
    let default = Config::default();
    let more = std::env::var_os("PROPTEST_CASES").map_or(0, |_| default.cases);
    let number = count.max(more);
    let seed = match default.rng_seed {
        RngSeed::Random => SEED,
        RngSeed::Fixed(seed) => seed,
    };
    println!("PROPTEST_RNG_SEED={seed} PROPTEST_CASES={number} selects these cases");
    // A file of earlier failures would make the cases depend on the machine.
    Config { cases: number, rng_seed: RngSeed::Fixed(seed), failure_persistence: None, ..default }
}

/// Repeat `look` until it succeeds.
///
/// # Panics
///
/// After [`LIMIT`], with the event and the last error.
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "a wait is limited by wall-clock time")]
pub fn wait_for<T, E: Debug>(event: &str, mut look: impl FnMut() -> Result<T, E>) -> T {
    let begun = Instant::now();
    loop {
        match look() {
            Ok(found) => return found,
            Err(error) if begun.elapsed() > LIMIT => panic!("waited {} s for: {event}: {error:?}", LIMIT.as_secs()),
            Err(_) => {}
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Wait until a condition holds.
///
/// # Panics
///
/// As [`wait_for`].
#[track_caller]
pub fn wait_until(event: &str, mut holds: impl FnMut() -> bool) {
    wait_for(event, || holds().then_some(()).ok_or(false));
}

/// Wait until a program ends, and kill it if it does not.
///
/// # Panics
///
/// As [`wait_for`], after the program is killed.
#[track_caller]
pub fn wait_for_exit(program: &str, child: &mut Child) -> ExitStatus {
    struct Kill<'a>(&'a mut Child);
    impl Drop for Kill<'_> {
        fn drop(&mut self) {
            let _ = self.0.kill();
        }
    }
    let child = Kill(child);
    wait_for(&format!("the end of {program}"), || child.0.try_wait().expect("its state").ok_or("it runs"))
}

/// A loopback address that no other test, process or outgoing connection uses, and that stays free while a test restarts a server.
///
/// Each process has its own IP address, by its number, and ports below those of outgoing connections.
pub fn own_address() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(20_000);
    let [high, middle, low, _] = (std::process::id() << 8).to_be_bytes();
    SocketAddr::from(([127, 64 | high, middle, low], NEXT.fetch_add(1, Ordering::Relaxed)))
}
