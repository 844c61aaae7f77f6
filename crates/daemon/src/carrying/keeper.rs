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

use super::migration::LEASE;
use super::plan::{InvalidPlan, PLACEMENT, PLAN, Reader, STAGE, stage};
use super::{Moves, Stage, Standing};
use crate::clock::{Clock, Nanos, nanos};
use crate::routing::Router;
use crate::settings::{Plan, Pool, Settings};
use crate::shared::Shared;
use crate::sockets::Waker;

/// How often it looks.
const LOOK: Duration = Duration::from_millis(250);
/// How often it writes down which places are clear.
const KEEP: Nanos = 1_000_000_000;
/// Over what a server took to answer and to forget.
const MORE: Nanos = 1_000_000_000;

/// Threads' wakers.
pub type Wakers = Vec<Arc<Mutex<Option<Waker>>>>;

/// The thread.
#[derive(Debug)]
pub struct MigrationThread {
    /// It ends with this.
    ends: Sender<()>,
    thread: JoinHandle<()>,
}

impl MigrationThread {
    /// Begins to look after plans, if there are any.
    ///
    /// # Errors
    /// The system's.
    pub fn start(kept: Vec<Kept>, shared: Arc<Shared>, wakers: Wakers) -> io::Result<Option<MigrationThread>> {
        if kept.is_empty() {
            return Ok(None);
        }
        let (ends, end) = channel();
        let work = move || keep(kept, &shared, &wakers, &end);
        Ok(Some(MigrationThread { ends, thread: Builder::new().name("fanin-plan".to_owned()).spawn(work)? }))
    }

    /// Waits until it has ended.
    pub fn end(self) {
        drop(self.ends);
        // It does not panic.
        let _ = self.thread.join();
    }
}

/// The plans of a front end that starts. Before anybody acts on them it is on the disk where they stand.
///
/// # Errors
/// A disk that does not take that.
pub fn begin(settings: &Settings, shared: &Shared) -> io::Result<Vec<Kept>> {
    let kept = settings.pools.iter().enumerate().filter_map(|(number, pool)| Kept::of(number, pool, shared));
    let mut kept: Vec<Kept> = kept.collect();
    for pool in kept.iter_mut().filter(|pool| pool.plan.is_new) {
        let folder = pool.plan.folder.display().to_string();
        pool.writes(true).map_err(|error| {
            io::Error::new(error.kind(), format!("{folder}: the progress of the plan cannot be written there: {error}"))
        })?;
    }
    Ok(kept)
}

fn keep(mut kept: Vec<Kept>, shared: &Shared, wakers: &Wakers, end: &Receiver<()>) {
    let clock = Clock::start();
    loop {
        let ends = end.recv_timeout(LOOK) != Err(RecvTimeoutError::Timeout);
        for pool in &mut kept {
            if pool.step(shared, clock.now(), ends) {
                // Who sleeps would go on with the last one.
                for waker in wakers {
                    waker.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(Waker::wake);
                }
            }
        }
        if ends {
            return;
        }
    }
}

#[expect(clippy::print_stderr, reason = "who changed the file looks there; nobody else is told")]
fn tell(pool: &str, what: &str) {
    eprintln!("{pool}: {what}");
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
pub struct Kept {
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
    goal: Goal,
    /// Whether the folder was refused, so that it is looked at again when the standing is another one.
    refused: bool,
    timeout: Nanos,
    /// When it was last written down which places are clear; and whether the disk did not take something.
    written: Nanos,
    lacks_disk: bool,
}

/// A plan, and the stage of it that is wanted.
#[derive(Clone)]
struct Goal {
    moves: Arc<Moves>,
    stage: Stage,
}

impl Goal {
    /// What a folder asks for of a front end that stands here, and goes to `goal`.
    fn of_folder(standing: &Standing, goal: &Goal, plan: &Plan, reader: &Reader<'_>) -> Result<Goal, InvalidPlan> {
        let wanted = stage(&plan.folder)?;
        let moves = reader.read(&plan.folder)?;
        let unfit = |name, what: &str| Err(InvalidPlan { path: plan.folder.join(name), what: what.to_owned() });
        let turned = standing.stage.is_turned();
        if moves.is(&standing.moves) {
            // Without a word it stays where it is.
            let stage = wanted.unwrap_or(if moves.is(&goal.moves) { goal.stage } else { standing.stage });
            if standing.stage == Stage::Over && stage != Stage::Over {
                return unfit(STAGE, "the move is over: to move keys back, make a plan with --previous");
            }
            return Ok(Goal { moves: standing.moves.clone(), stage });
        }
        if moves.is(&goal.moves) {
            return Ok(Goal { moves: goal.moves.clone(), stage: wanted.unwrap_or(goal.stage) });
        }
        if !moves.follows(&standing.moves, turned) {
            let what = if turned {
                "it does not begin where keys are now: make a plan with --previous"
            } else {
                "it does not begin where keys are now: it can follow when the plan in force is `over`"
            };
            return unfit(PLACEMENT, what);
        }
        if !matches!(standing.stage, Stage::Begin | Stage::Over) {
            return unfit(
                PLACEMENT,
                "another plan can follow when the plan in force is in `begin` or `over` on all front ends",
            );
        }
        match wanted {
            Some(Stage::Begin) => Ok(Goal { moves: Arc::new(moves), stage: Stage::Begin }),
            // Front ends that share a plan must not be further apart than neighbours.
            _ => unfit(
                STAGE,
                "another plan starts in `begin`: write that first, and the next word when all front ends are there",
            ),
        }
    }
}

/// What a folder asks for, of a pool that has reached what it has: whether that is right.
///
/// # Errors
/// A plan that is refused, or a stage that is.
pub fn check(pool: &Pool) -> Result<(), InvalidPlan> {
    let Some(plan) = pool.plan.as_ref().filter(|plan| !plan.is_new) else { return Ok(()) };
    let (names, router) = (pool.servers.iter().map(|server| server.weighted.name.as_str()).collect(), pool.router());
    let reader = Reader { names, router: &router, secret: plan.secret, drawn: plan.drawn };
    let standing = Standing { moves: plan.moves.clone(), stage: plan.stage };
    let goal = Goal { moves: plan.moves.clone(), stage: plan.stage };
    Goal::of_folder(&standing, &goal, plan, &reader).map(drop)
}

impl Kept {
    fn of(number: usize, pool: &Pool, shared: &Shared) -> Option<Kept> {
        let plan = pool.plan.clone()?;
        let servers = pool.servers.iter().map(|server| server.weighted.name.clone()).collect();
        let standing = shared.plans.of(number)?;
        Some(Kept {
            number,
            name: pool.name.clone(),
            servers,
            router: pool.router(),
            // What was begun before is not what the folder has now.
            seen: if plan.is_new { seen(&plan.folder) } else { Seen::default() },
            // What the program before has asked for may be under way, leases too.
            last: (!plan.is_new)
                .then(|| (Arc::new(Standing { moves: standing.moves.clone(), stage: Stage::Move }), None)),
            goal: Goal { moves: standing.moves.clone(), stage: standing.stage },
            refused: false,
            standing,
            plan,
            timeout: nanos(pool.timeout),
            written: 0,
            lacks_disk: false,
        })
    }

    /// The stage that it has settled in, unless it is on its way there.
    pub fn stage(&self) -> Option<Stage> {
        self.last.is_none().then_some(self.standing.stage)
    }

    /// Looks at the folder and goes on, if it is time; one that `ends` goes no further. Whether threads have a new standing to heed.
    pub fn step(&mut self, shared: &Shared, now: Nanos, ends: bool) -> bool {
        match self.look() {
            None => {}
            Some(Ok(())) => shared.plans.has_read(true),
            Some(Err(unfit)) => {
                shared.plans.has_read(false);
                tell(&self.name, &format!("keeping the plan in force: {unfit}"));
            }
        }
        let before = self.standing.stage;
        let next = if ends { Ok(None) } else { self.goes_on(now) };
        let goes_on = matches!(next, Ok(Some(_)));
        let written = next.map(|next| next.into_iter().for_each(|next| shared.plans.publish(self.number, next)));
        if goes_on || self.last.is_none() {
            // It goes on only from where it has settled.
            shared.plans.settle(self.number, if goes_on { before } else { self.standing.stage });
        }
        match written.and_then(|()| self.keeps_clear(now, ends)) {
            Ok(()) => self.lacks_disk = false,
            Err(error) if !std::mem::replace(&mut self.lacks_disk, true) => {
                tell(&self.name, &format!("the plan goes no further, since its progress cannot be written: {error}"));
            }
            Err(_) => {}
        }
        goes_on
    }

    fn reader(&self) -> Reader<'_> {
        let names = self.servers.iter().map(String::as_str).collect();
        Reader { names, router: &self.router, secret: self.plan.secret, drawn: self.plan.drawn }
    }

    /// Reads the plan anew where its files have changed: whether it is right then.
    fn look(&mut self) -> Option<Result<(), InvalidPlan>> {
        let now = seen(&self.plan.folder);
        if now == self.seen {
            return None;
        }
        self.seen = now;
        let goal = Goal::of_folder(&self.standing, &self.goal, &self.plan, &self.reader());
        self.refused = goal.is_err();
        Some(goal.map(|goal| self.goal = goal))
    }

    /// Writes down where it stands; with the table where that is `new`.
    fn writes(&mut self, new: bool) -> io::Result<()> {
        let mut progress = self.plan.progress.clone();
        progress.reach(&self.standing, &self.reader(), new)?;
        self.plan.progress = progress;
        Ok(())
    }

    /// Writes down which places are clear, every now and then, and `at_once` where it ends. What is not written is cleared once more.
    fn keeps_clear(&mut self, now: Nanos, at_once: bool) -> io::Result<()> {
        if at_once || now >= self.written.saturating_add(KEEP) {
            self.written = now;
            self.plan.progress.keep_clear(&self.standing.moves)?;
        }
        Ok(())
    }

    /// The next standing, where it is time.
    fn goes_on(&mut self, now: Nanos) -> io::Result<Option<Arc<Standing>>> {
        if let Some((last, since)) = &mut self.last {
            if Arc::strong_count(last) > 1 {
                return Ok(None);
            }
            // Questions under way hold on to nothing, and end in time.
            let leases = if last.stage == Stage::Move { u64::from(LEASE) * 1_000_000_000 } else { 0 };
            if now < since.get_or_insert(now).saturating_add(self.timeout.max(leases) + MORE) {
                return Ok(None);
            }
            self.last = None;
        }
        let is_same = Arc::ptr_eq(&self.goal.moves, &self.standing.moves);
        let Some((other, stage)) = next(self.standing.stage, is_same, self.goal.stage) else { return Ok(None) };
        let moves = match other {
            true => Arc::new(self.goal.moves.taking_over(&self.standing.moves, self.standing.stage.is_turned())),
            false => self.standing.moves.clone(),
        };
        let before = std::mem::replace(&mut self.standing, Arc::new(Standing { moves: moves.clone(), stage }));
        if let Err(error) = self.writes(other) {
            self.standing = before;
            return Err(error);
        }
        if other {
            self.goal.moves = moves;
        }
        if self.refused {
            // It may be right now.
            self.seen = Seen::default();
        }
        self.last = Some((before, None));
        Ok(Some(self.standing.clone()))
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
        let shared = Shared::new(&settings, settings.clients);
        let mut kept = begin(&settings, &shared).unwrap().remove(0);
        let goes_on = |kept: &mut Kept, now: Nanos| {
            let standing = kept.goes_on(now * 1_000_000).unwrap();
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
        assert!(kept.look().unwrap().unwrap_err().what.contains("begin, move"));
        assert_eq!((kept.look(), goes_on(&mut kept, 300_000)), (None, None));
        // Without a word it stays; and one that starts again stands where this one did.
        fs::remove_file(path.join(STAGE)).unwrap();
        assert_eq!((kept.look(), goes_on(&mut kept, 400_000)), (Some(Ok(())), None));
        let plan = Settings::of_file("f.toml", &text).unwrap().pools.remove(0).plan.unwrap();
        assert_eq!((plan.stage, plan.is_new), (Stage::Turn, false));
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
