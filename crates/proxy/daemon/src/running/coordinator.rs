//! Migration coordinator: the thread that re-reads plans when their files change and moves all threads from stage to stage.
//!
//! It advances only when all requests of the previous stage are over, so only neighbouring stages run at the same time.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use fanin_plan_files::{placement, plan};

use fanin_proxy_config::{Plan, Pool, Problem, Settings};
use fanin_proxy_core::clock::{Clock, Nanos, nanos};
use fanin_proxy_migration::plan::{InvalidPlan, Reader, STAGE, stage};
use fanin_proxy_migration::unread::UnreadKeys;
use fanin_proxy_migration::{LEASE, MigrationState, Moves, PoolPlan, Stage};
use fanin_proxy_observe::messages;
use fanin_proxy_routing::Router;
use fanin_proxy_state::shared::Shared;

/// Interval between checks of the files.
const LOOK: Duration = Duration::from_millis(250);
/// Interval between writes of the list of clear copies.
const KEEP: Nanos = 1_000_000_000;
/// Margin on top of the server timeout and the lease time.
const MORE: Nanos = 1_000_000_000;

/// Handle of the coordinator's thread.
#[derive(Debug)]
pub struct MigrationThread {
    /// Dropping this ends the thread.
    ends: Sender<()>,
    thread: JoinHandle<Vec<PoolMigration>>,
}

impl MigrationThread {
    /// Starts the thread, if there are any plans. It begins when the other end of `before` is dropped.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(
        kept: Vec<PoolMigration>,
        shared: Arc<Shared>,
        before: Receiver<()>,
    ) -> io::Result<Option<MigrationThread>> {
        if kept.is_empty() {
            return Ok(None);
        }
        let (ends, end) = channel();
        let work = move || {
            if !ends_before(&before, &end) {
                return kept;
            }
            keep(kept, &shared, &end)
        };
        Ok(Some(MigrationThread { ends, thread: Builder::new().name("fanin-plan".to_owned()).spawn(work)? }))
    }

    /// Stops the thread and waits for it; returns the plans, which it has written.
    pub fn end(self) -> Vec<PoolMigration> {
        drop(self.ends);
        // The thread does not panic.
        self.thread.join().unwrap_or_default()
    }
}

/// Loads the plans of a starting front end, and writes their state to disk before any thread acts on them.
///
/// # Errors
/// The state cannot be written.
pub fn begin(settings: &Settings, shared: &Shared) -> io::Result<Vec<PoolMigration>> {
    let edition = shared.edition();
    let pools = settings.pools.iter().zip(&edition.pools);
    let mut kept: Vec<PoolMigration> =
        pools.filter_map(|(pool, state)| PoolMigration::of(pool, state.plan.clone()?)).collect();
    for pool in kept.iter_mut().filter(|pool| pool.plan.is_new) {
        let folder = pool.plan.folder.display().to_string();
        pool.writes(true).map_err(|error| {
            io::Error::new(error.kind(), format!("{folder}: cannot write the progress of the plan: {error}"))
        })?;
    }
    Ok(kept)
}

/// Waits for the end of another process that uses the plans; returns whether it ends before this thread has to.
fn ends_before(other: &Receiver<()>, end: &Receiver<()>) -> bool {
    while other.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        if end.try_recv() == Err(TryRecvError::Disconnected) {
            return false;
        }
    }
    true
}

fn keep(mut kept: Vec<PoolMigration>, shared: &Shared, end: &Receiver<()>) -> Vec<PoolMigration> {
    let clock = Clock::start();
    loop {
        let ends = end.recv_timeout(LOOK) != Err(RecvTimeoutError::Timeout);
        for pool in &mut kept {
            if pool.step(shared, clock.now(), ends) {
                // A sleeping thread would keep using the last stage, or not copy its keys.
                shared.wake();
            }
        }
        if ends {
            return kept;
        }
    }
}

fn tell(pool: &str, what: &str) {
    messages::tell(&format!("{pool}: {what}"));
}

/// Identity, size and time of each file at the last check.
type FileStates = [Option<(u64, u64, u64, i64, i64)>; 3];

fn seen(folder: &Path) -> FileStates {
    [plan::FILE, placement::FILE, STAGE].map(|name| {
        let file = fs::metadata(folder.join(name)).ok()?;
        Some((file.dev(), file.ino(), file.len(), file.mtime(), file.mtime_nsec()))
    })
}

/// State of a pool's plan, and its goal.
pub struct PoolMigration {
    shared: Arc<PoolPlan>,
    name: String,
    plan: Plan,
    servers: Vec<String>,
    router: Router,
    seen: FileStates,
    plan_state: Arc<MigrationState>,
    /// The previous state, which threads may still use, and when the last thread left it.
    last: Option<(Arc<MigrationState>, Option<Nanos>)>,
    /// In stage `move`, keys to copy that clients may not read.
    unread: Option<UnreadKeys>,
    /// The target of the migration.
    goal: Goal,
    /// Whether the folder was refused; it is then read again after the next change of state.
    refused: bool,
    timeout: Nanos,
    /// When the clear copies were last written; and whether a write has failed.
    written: Nanos,
    write_failed: bool,
}

/// A plan and its target stage.
#[derive(Clone)]
struct Goal {
    moves: Arc<Moves>,
    stage: Stage,
}

impl Goal {
    /// Read the goal from a folder, given the current state and goal.
    fn of_folder(
        plan_state: &MigrationState,
        goal: &Goal,
        plan: &Plan,
        reader: &Reader<'_>,
    ) -> Result<Goal, InvalidPlan> {
        let wanted = stage(&plan.folder)?;
        let moves = reader.read(&plan.folder)?;
        let unfit = |name, what: &str| Err(InvalidPlan { path: plan.folder.join(name), what: what.to_owned() });
        let turned = plan_state.stage.is_turned();
        if moves.is(&plan_state.moves) {
            // Without a `stage` file, the plan stays where it is.
            let stage = wanted.unwrap_or(if moves.is(&goal.moves) { goal.stage } else { plan_state.stage });
            if plan_state.stage == Stage::Over && stage != Stage::Over {
                return unfit(STAGE, "the move is over; to move keys back, make a plan with --previous");
            }
            return Ok(Goal { moves: plan_state.moves.clone(), stage });
        }
        if moves.is(&goal.moves) {
            return Ok(Goal { moves: goal.moves.clone(), stage: wanted.unwrap_or(goal.stage) });
        }
        if !moves.follows(&plan_state.moves, turned) {
            let what = if turned {
                "the plan does not start from the current placement; make a plan with --previous"
            } else {
                "the plan does not start from the current placement; it can follow when the current plan is `over`"
            };
            return unfit(placement::FILE, what);
        }
        if !matches!(plan_state.stage, Stage::Begin | Stage::Over) {
            return unfit(
                placement::FILE,
                "a new plan can only follow when the current plan is in `begin` or `over` on all front ends",
            );
        }
        match wanted {
            Some(Stage::Begin) => Ok(Goal { moves: Arc::new(moves), stage: Stage::Begin }),
            // Front ends that share a plan must stay in neighbouring stages.
            _ => unfit(
                STAGE,
                "a new plan starts in `begin`; write that first, and the next stage when all front ends have reached it",
            ),
        }
    }
}

/// Check that the plans' folders request a valid next step from the state that this front end has reached.
///
/// # Errors
/// The plan or stage that is refused.
pub fn check_plans(settings: &Settings) -> Result<(), Problem> {
    let refused = |plan: InvalidPlan| Problem { place: None, text: plan.to_string() };
    settings.pools.iter().try_for_each(|pool| check(pool).map_err(refused))
}

fn check(pool: &Pool) -> Result<(), InvalidPlan> {
    let Some(plan) = pool.plan.as_ref().filter(|plan| !plan.is_new) else { return Ok(()) };
    let (names, router) = (pool.servers.iter().map(|server| server.weighted.name.as_str()).collect(), pool.router());
    let (secret, drawn) = (plan.secret, plan.drawn);
    let reader = Reader { names, router: &router, replicas: pool.replicas, secret, drawn };
    let plan_state = MigrationState { moves: plan.moves.clone(), stage: plan.stage };
    let goal = Goal { moves: plan.moves.clone(), stage: plan.stage };
    Goal::of_folder(&plan_state, &goal, plan, &reader).map(drop)
}

impl PoolMigration {
    fn of(pool: &Pool, shared: Arc<PoolPlan>) -> Option<PoolMigration> {
        let plan = pool.plan.clone()?;
        let servers = pool.servers.iter().map(|server| server.weighted.name.clone()).collect();
        let plan_state = shared.state();
        let mut migration = PoolMigration {
            shared,
            name: pool.name.clone(),
            servers,
            router: pool.router(),
            // A resumed plan may differ from the folder's current one.
            seen: if plan.is_new { seen(&plan.folder) } else { FileStates::default() },
            // Requests and leases of the previous process may still be open.
            last: (!plan.is_new)
                .then(|| (Arc::new(MigrationState { moves: plan_state.moves.clone(), stage: Stage::Move }), None)),
            goal: Goal { moves: plan_state.moves.clone(), stage: plan_state.stage },
            refused: false,
            plan_state,
            plan,
            unread: None,
            timeout: nanos(pool.timeout),
            written: 0,
            write_failed: false,
        };
        migration.find_unread();
        Some(migration)
    }

    /// Finds the keys to copy in the current stage.
    fn find_unread(&mut self) {
        let (moves, servers) = (&self.plan_state.moves, self.servers.len() as u32);
        let copies = self.plan_state.stage == Stage::Move;
        self.unread = copies.then(|| UnreadKeys::of_folder(&self.plan.folder, moves, servers)).flatten();
    }

    /// Passes keys on to be copied, if the last ones have been taken; returns whether a thread must look.
    fn copy_unread(&mut self, shared: &Shared) -> bool {
        let Some(unread) = self.unread.as_mut().filter(|_| self.last.is_none() && self.shared.unread().is_empty())
        else {
            return false;
        };
        let keys = unread.next_keys(&self.plan_state.moves);
        if keys.is_empty() {
            self.unread = None;
            return false;
        }
        shared.plans.copy(&self.shared, keys);
        true
    }

    /// Whether nothing of the previous stage, and of this one, is left to do.
    fn is_settled(&self) -> bool {
        self.last.is_none() && self.unread.is_none()
    }

    /// The current stage, if no transition is under way.
    pub fn stage(&self) -> Option<Stage> {
        self.last.is_none().then_some(self.plan_state.stage)
    }

    /// Checks the folder and advances when due; with `ends`, does not advance. Returns whether threads must pick up a new state or keys.
    pub fn step(&mut self, shared: &Shared, now: Nanos, ends: bool) -> bool {
        match self.look() {
            None => {}
            Some(Ok(())) => shared.plans.has_read(true),
            Some(Err(unfit)) => {
                shared.plans.has_read(false);
                tell(&self.name, &format!("keeping the current plan: {unfit}"));
            }
        }
        let before = self.plan_state.stage;
        let next = if ends { Ok(None) } else { self.goes_on(now) };
        let goes_on = matches!(next, Ok(Some(_)));
        let written = next.map(|next| next.into_iter().for_each(|next| shared.plans.publish(&self.shared, next)));
        let copies = !ends && self.copy_unread(shared);
        if goes_on || self.is_settled() {
            // Advance only from a settled stage.
            self.shared.settle(if goes_on { before } else { self.plan_state.stage });
        }
        let settled = written.and_then(|()| if self.is_settled() { self.write_settled() } else { Ok(()) });
        match settled.and_then(|()| self.writes_clear(now, ends)) {
            Ok(()) => self.write_failed = false,
            Err(error) if !std::mem::replace(&mut self.write_failed, true) => {
                tell(&self.name, &format!("the plan is paused because its progress cannot be written: {error}"));
            }
            Err(_) => {}
        }
        goes_on || copies
    }

    fn reader(&self) -> Reader<'_> {
        let names = self.servers.iter().map(String::as_str).collect();
        let (replicas, secret, drawn) = (self.plan_state.moves.replicas(), self.plan.secret, self.plan.drawn);
        Reader { names, router: &self.router, replicas, secret, drawn }
    }

    /// Re-reads the plan if its files have changed, and returns whether it is valid.
    fn look(&mut self) -> Option<Result<(), InvalidPlan>> {
        let now = seen(&self.plan.folder);
        if now == self.seen {
            return None;
        }
        self.seen = now;
        let goal = Goal::of_folder(&self.plan_state, &self.goal, &self.plan, &self.reader());
        self.refused = goal.is_err();
        Some(goal.map(|goal| self.goal = goal))
    }

    /// Writes the state to disk; with `new`, also the table.
    fn writes(&mut self, new: bool) -> io::Result<()> {
        let mut progress = self.plan.progress.clone();
        progress.reach(&self.plan_state, &self.reader(), new)?;
        self.plan.progress = progress;
        Ok(())
    }

    /// Writes that the state has settled, which a planner waits for.
    fn write_settled(&mut self) -> io::Result<()> {
        if self.plan.progress.is_settled() {
            return Ok(());
        }
        let mut progress = self.plan.progress.clone();
        progress.settle(&self.plan_state, &self.reader())?;
        self.plan.progress = progress;
        Ok(())
    }

    /// Writes the clear copies now and then, and immediately with `at_once`. Copies that are not written are cleared again after a restart.
    fn writes_clear(&mut self, now: Nanos, at_once: bool) -> io::Result<()> {
        if at_once || now >= self.written.saturating_add(KEEP) {
            self.written = now;
            self.plan.progress.keep_clear(&self.plan_state.moves)?;
        }
        Ok(())
    }

    /// The next state, if it is due.
    fn goes_on(&mut self, now: Nanos) -> io::Result<Option<Arc<MigrationState>>> {
        if let Some((last, since)) = &mut self.last {
            if Arc::strong_count(last) > 1 {
                return Ok(None);
            }
            // Outstanding requests hold no reference, but end within the timeout.
            let leases = if last.stage == Stage::Move { u64::from(LEASE) * 1_000_000_000 } else { 0 };
            if now < since.get_or_insert(now).saturating_add(self.timeout.max(leases) + MORE) {
                return Ok(None);
            }
            self.last = None;
        }
        let is_same = Arc::ptr_eq(&self.goal.moves, &self.plan_state.moves);
        let Some((other, stage)) = next(self.plan_state.stage, is_same, self.goal.stage) else { return Ok(None) };
        if stage == Stage::Copied && self.unread.is_some() {
            return Ok(None);
        }
        let moves = match other {
            true => Arc::new(self.goal.moves.taking_over(&self.plan_state.moves, self.plan_state.stage.is_turned())),
            false => self.plan_state.moves.clone(),
        };
        let before = std::mem::replace(&mut self.plan_state, Arc::new(MigrationState { moves: moves.clone(), stage }));
        if let Err(error) = self.writes(other) {
            self.plan_state = before;
            return Err(error);
        }
        if other {
            self.goal.moves = moves;
        }
        if self.refused {
            // It may be valid now.
            self.seen = FileStates::default();
        }
        self.last = Some((before, None));
        self.find_unread();
        Ok(Some(self.plan_state.clone()))
    }
}

/// The next stage on the path to stage `to`, and whether it belongs to the other plan.
fn next(now: Stage, is_same: bool, to: Stage) -> Option<(bool, Stage)> {
    let neighbour = |up: bool| Stage::WORDS[if up { now as usize + 1 } else { now as usize - 1 }].1;
    match (is_same, now) {
        (true, _) if now == to => None,
        (true, _) => Some((false, neighbour(to > now))),
        (false, Stage::Begin | Stage::Over) => Some((true, Stage::Begin)),
        // Towards the stage where only the authoritative server has the key.
        (false, _) => Some((false, neighbour(now.is_turned()))),
    }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn advances_one_stage_at_a_time() {
        let key_move = |from: Stage, to: Stage| {
            let steps = std::iter::successors(Some(from), |now| next(*now, true, to).map(|(_, stage)| stage));
            steps.map(Stage::word).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(key_move(Stage::Begin, Stage::Over), "begin move copied turn over");
        assert_eq!(key_move(Stage::Turn, Stage::Begin), "turn copied move begin");
        assert_eq!(key_move(Stage::Move, Stage::Move), "move");
    }

    #[test]
    fn waits_until_previous_stage_has_drained() {
        let folder = tempfile::tempdir().unwrap();
        let (table, path) = ("key,server,was\n", folder.path());
        fs::write(path.join(placement::FILE), table).unwrap();
        let digest: String = Sha256::digest(table).iter().map(|byte| format!("{byte:02x}")).collect();
        let plan = format!("{{\"cluster\": {{\"servers\": 1, \"replicas\": 1}}, \"placement_sha256\": \"{digest}\"}}");
        fs::write(path.join(plan::FILE), plan).unwrap();
        fs::write(path.join(STAGE), "begin").unwrap();
        let text =
            format!("[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [\"127.0.0.1:1\"]\nplan = \"{}\"\n", path.display());
        let settings = Settings::of_file("f.toml", &text).unwrap();
        let shared = Shared::new(&settings, settings.clients);
        let mut kept = begin(&settings, &shared).unwrap().remove(0);
        let plan = shared.edition().pools[0].plan.clone().unwrap();
        let goes_on = |kept: &mut PoolMigration, now: Nanos| {
            let plan_state = kept.goes_on(now * 1_000_000).unwrap();
            plan_state.map(|plan_state| {
                shared.plans.publish(&plan, plan_state.clone());
                plan_state.stage.word()
            })
        };
        assert_eq!((kept.look(), goes_on(&mut kept, 0)), (None, None));
        fs::write(path.join(STAGE), "turn\n").unwrap();
        assert_eq!(kept.look(), Some(Ok(())));
        let asked = plan.state();
        assert_eq!(goes_on(&mut kept, 100), Some("move"));
        assert_eq!(goes_on(&mut kept, 90_000), None);
        drop(asked);
        // A timeout and one second after the last thread left the stage.
        assert_eq!([100_000, 101_999].map(|now| goes_on(&mut kept, now)), [None, None]);
        assert_eq!(goes_on(&mut kept, 102_000), Some("copied"));
        // Leases live for three seconds.
        assert_eq!([110_000, 113_999].map(|now| goes_on(&mut kept, now)), [None, None]);
        assert_eq!(goes_on(&mut kept, 114_000), Some("turn"));
        assert_eq!(goes_on(&mut kept, 200_000), None);
        fs::write(path.join(STAGE), "soon").unwrap();
        assert!(kept.look().unwrap().unwrap_err().what.contains("begin, move"));
        assert_eq!((kept.look(), goes_on(&mut kept, 300_000)), (None, None));
        // Without a `stage` file it stays, and a restart resumes here.
        fs::remove_file(path.join(STAGE)).unwrap();
        assert_eq!((kept.look(), goes_on(&mut kept, 400_000)), (Some(Ok(())), None));
        let plan = Settings::of_file("f.toml", &text).unwrap().pools.remove(0).plan.unwrap();
        assert_eq!((plan.stage, plan.is_new), (Stage::Turn, false));
    }

    #[test]
    fn new_plan_starts_from_begin_or_over() {
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
