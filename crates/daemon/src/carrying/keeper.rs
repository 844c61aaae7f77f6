//! The thread that reads plans anew when their files change, and has all threads go from stage to stage: to the next one when all that
//! was asked in the last is over, so that only neighbours stand side by side.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::errand::LEASE;
use super::plan::{PLACEMENT, PLAN, Reader, STAGE, Unfit, stage};
use super::{Moves, Stage, Standing};
use crate::clock::{Clock, Nanos, nanos};
use crate::routing::Router;
use crate::settings::{Plan, Pool, Settings};
use crate::shared::Shared;
use crate::sockets::Waker;

/// How often it looks.
const LOOK: Duration = Duration::from_millis(250);
/// Over what a server took to answer and to forget.
const MORE: Nanos = 1_000_000_000;

/// Threads' wakers.
pub type Wakers = Vec<Arc<Mutex<Option<Waker>>>>;

/// The thread.
#[derive(Debug)]
pub struct Keeper {
    /// It ends with this.
    ends: Sender<()>,
    thread: JoinHandle<()>,
}

impl Keeper {
    /// Begins to look after the plans of a front end that has some.
    pub fn start(settings: &Settings, shared: Arc<Shared>, wakers: Wakers) -> io::Result<Option<Keeper>> {
        let kept = settings.pools.iter().enumerate().filter_map(|(number, pool)| Kept::of(number, pool, &shared));
        let kept: Vec<Kept> = kept.collect();
        if kept.is_empty() {
            return Ok(None);
        }
        let (ends, end) = channel();
        let work = move || keep(kept, &shared, &wakers, &end);
        Ok(Some(Keeper { ends, thread: Builder::new().name("fanin-plan".to_owned()).spawn(work)? }))
    }

    /// Waits until it has ended.
    pub fn end(self) {
        drop(self.ends);
        // It does not panic.
        let _ = self.thread.join();
    }
}

fn keep(mut kept: Vec<Kept>, shared: &Shared, wakers: &Wakers, end: &Receiver<()>) {
    let clock = Clock::start();
    while end.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        for pool in &mut kept {
            match pool.look() {
                None => {}
                Some(Ok(())) => shared.plans.has_read(true),
                Some(Err(unfit)) => {
                    shared.plans.has_read(false);
                    tell(&pool.name, &unfit);
                }
            }
            if let Some(standing) = pool.goes_on(clock.now()) {
                shared.plans.publish(pool.number, standing);
                // Who sleeps would go on with the last one.
                for waker in wakers {
                    waker.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(Waker::wake);
                }
            }
        }
    }
}

#[expect(clippy::print_stderr, reason = "who changed the file looks there; nobody else is told")]
fn tell(pool: &str, unfit: &Unfit) {
    eprintln!("{pool}: the plan in force stays: {unfit}");
}

/// What a file was when it was last looked at.
type Seen = [Option<(u64, u64, u64, i64, i64)>; 3];

fn seen(folder: &Path) -> Seen {
    [PLAN, PLACEMENT, STAGE].map(|name| {
        let file = fs::metadata(folder.join(name)).ok()?;
        Some((file.dev(), file.ino(), file.len(), file.mtime(), file.mtime_nsec()))
    })
}

/// A pool's plan, as it is and as it is to be.
struct Kept {
    number: usize,
    name: String,
    plan: Plan,
    servers: Vec<String>,
    router: Router,
    seen: Seen,
    standing: Arc<Standing>,
    /// The one before it, which threads may still have, and since when nobody has.
    last: Option<(Arc<Standing>, Option<Nanos>)>,
    /// To where it goes.
    moves: Arc<Moves>,
    stage: Stage,
    timeout: Nanos,
}

impl Kept {
    fn of(number: usize, pool: &Pool, shared: &Shared) -> Option<Kept> {
        let plan = pool.plan.clone()?;
        let servers = pool.servers.iter().map(|server| server.weighted.name.clone()).collect();
        let (standing, seen) = (shared.plans.of(number)?, seen(&plan.folder));
        Some(Kept {
            number,
            name: pool.name.clone(),
            servers,
            router: pool.router(),
            seen,
            last: None,
            moves: standing.moves.clone(),
            stage: standing.stage,
            standing,
            plan,
            timeout: nanos(pool.timeout),
        })
    }

    /// Reads the plan anew where its files have changed: whether it is right then.
    fn look(&mut self) -> Option<Result<(), Unfit>> {
        let now = seen(&self.plan.folder);
        if now == self.seen {
            return None;
        }
        self.seen = now;
        Some(self.read())
    }

    fn read(&mut self) -> Result<(), Unfit> {
        let stage = stage(&self.plan.folder)?;
        let reader = Reader {
            names: self.servers.iter().map(String::as_str).collect(),
            router: &self.router,
            secret: self.plan.secret,
            drawn: self.plan.drawn,
        };
        let moves = reader.read(&self.plan.folder)?;
        let unfit = |name, what: &str| Unfit { path: self.plan.folder.join(name), what: what.to_owned() };
        let (standing, turned) = (&self.standing, self.standing.stage.is_turned());
        if moves.is(&standing.moves) {
            if standing.stage == Stage::Over && stage != Stage::Over {
                return Err(unfit(
                    STAGE,
                    "the move is over: right would be a plan that moves back, made with --previous",
                ));
            }
            self.moves = standing.moves.clone();
        } else if moves.is(&self.moves) {
            // It goes there already.
        } else if moves.follows(&standing.moves, turned) {
            self.moves = Arc::new(moves);
        } else if turned {
            return Err(unfit(
                PLACEMENT,
                "it does not begin where keys lie now: right would be a plan made with --previous",
            ));
        } else {
            return Err(unfit(
                PLACEMENT,
                "it begins where keys are to lie: right would be `over` for the plan in force first",
            ));
        }
        self.stage = stage;
        Ok(())
    }

    /// The next standing, where it is time.
    fn goes_on(&mut self, now: Nanos) -> Option<Arc<Standing>> {
        if let Some((last, since)) = &mut self.last {
            if Arc::strong_count(last) > 1 {
                return None;
            }
            // Questions under way hold on to nothing, and end in time.
            let leases = if last.stage == Stage::Move { u64::from(LEASE) * 1_000_000_000 } else { 0 };
            if now < since.get_or_insert(now).saturating_add(self.timeout.max(leases) + MORE) {
                return None;
            }
        }
        self.last = None;
        let is_same = Arc::ptr_eq(&self.moves, &self.standing.moves);
        let (other, stage) = next(self.standing.stage, is_same, self.stage)?;
        let moves = if other { self.moves.clone() } else { self.standing.moves.clone() };
        let standing = Arc::new(Standing { moves, stage });
        self.last = Some((std::mem::replace(&mut self.standing, standing.clone()), None));
        Some(standing)
    }
}

/// From a stage of a plan, the next on the way to a stage of that one or of another: whether it is the other's, and which.
fn next(now: Stage, is_same: bool, to: Stage) -> Option<(bool, Stage)> {
    let neighbour = |up: bool| Stage::WORDS[if up { now as usize + 1 } else { now as usize - 1 }].1;
    match (is_same, now) {
        (true, _) if now == to => None,
        (true, _) => Some((false, neighbour(to > now))),
        (false, Stage::Begin | Stage::Over) => Some((true, Stage::Begin)),
        // To where the place that has the last word is the only one.
        (false, _) => Some((false, neighbour(now.is_turned()))),
    }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn stages_are_gone_through_one_by_one() {
        let way = |from: Stage, to: Stage| {
            let steps = std::iter::successors(Some(from), |now| next(*now, true, to).map(|(_, stage)| stage));
            steps.map(Stage::word).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(way(Stage::Begin, Stage::Over), "begin move copied turn over");
        assert_eq!(way(Stage::Turn, Stage::Begin), "turn copied move begin");
        assert_eq!(way(Stage::Move, Stage::Move), "move");
    }

    #[test]
    fn nobody_goes_on_while_the_stage_before_is_asked_in_or_may_be() {
        let folder = tempfile::tempdir().unwrap();
        let (table, path) = ("key,server,was\n", folder.path());
        fs::write(path.join(PLACEMENT), table).unwrap();
        let digest: String = Sha256::digest(table).iter().map(|byte| format!("{byte:02x}")).collect();
        let plan = format!("{{\"cluster\": {{\"servers\": 1, \"replicas\": 1}}, \"placement_sha256\": \"{digest}\"}}");
        fs::write(path.join(PLAN), plan).unwrap();
        fs::write(path.join(STAGE), "begin").unwrap();
        let text =
            format!("[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [\"127.0.0.1:1\"]\nplan = \"{}\"\n", path.display());
        let settings = Settings::of_file("f.toml", &text).unwrap();
        let shared = Shared::new(&settings);
        let mut kept = Kept::of(0, &settings.pools[0], &shared).unwrap();
        let goes_on = |kept: &mut Kept, now: Nanos| {
            let standing = kept.goes_on(now * 1_000_000);
            standing.map(|standing| {
                shared.plans.publish(0, standing.clone());
                standing.stage.word()
            })
        };
        assert_eq!((kept.look(), goes_on(&mut kept, 0)), (None, None));
        fs::write(path.join(STAGE), "turn\n").unwrap();
        assert_eq!(kept.look(), Some(Ok(())));
        let asked = shared.plans.of(0);
        assert_eq!(goes_on(&mut kept, 100), Some("move"));
        assert_eq!(goes_on(&mut kept, 90_000), None);
        drop(asked);
        // A timeout and a second from when nobody was found to be in it any more.
        assert_eq!([100_000, 101_999].map(|now| goes_on(&mut kept, now)), [None, None]);
        assert_eq!(goes_on(&mut kept, 102_000), Some("copied"));
        // Leases live for three seconds.
        assert_eq!([110_000, 113_999].map(|now| goes_on(&mut kept, now)), [None, None]);
        assert_eq!(goes_on(&mut kept, 114_000), Some("turn"));
        assert_eq!(goes_on(&mut kept, 200_000), None);
        fs::write(path.join(STAGE), "soon").unwrap();
        assert!(kept.look().unwrap().unwrap_err().what.starts_with("`soon` is none of begin, move"));
        assert_eq!((kept.look(), goes_on(&mut kept, 300_000)), (None, None));
    }

    #[test]
    fn another_plan_begins_where_one_place_has_the_only_word() {
        for (now, then) in [
            (Stage::Begin, (true, Stage::Begin)),
            (Stage::Move, (false, Stage::Begin)),
            (Stage::Copied, (false, Stage::Move)),
            (Stage::Turn, (false, Stage::Over)),
            (Stage::Over, (true, Stage::Begin)),
        ] {
            assert_eq!(next(now, false, Stage::Over), Some(then), "{}", now.word());
        }
    }
}
