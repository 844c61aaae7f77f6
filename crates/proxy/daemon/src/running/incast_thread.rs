//! Thread that predicts, with low priority.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use fanin_proxy_core::clock::{Clock, Nanos};
use fanin_proxy_observe::messages::{self, IncastReport, Report};
use fanin_proxy_state::incast::{IncastState, Predicted, Predictor, Workload, assumed_workload};
use fanin_proxy_state::shared::{PoolState, Shared};

/// Time between two looks at the observations.
const LOOK: Duration = Duration::from_millis(200);
/// Least time between two predictions for observed multigets of a pool.
const BETWEEN: Nanos = 10_000_000_000;

/// The running thread.
pub struct IncastThread {
    /// Dropping this ends the thread.
    ends: Sender<()>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl IncastThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(shared: Arc<Shared>, predictor: Box<dyn Predictor>) -> io::Result<IncastThread> {
        let (ends, end) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let stops = stop.clone();
        let work = move || {
            fanin_ring::lower_priority();
            keep(&shared, predictor.as_ref(), &stops, &end);
        };
        Ok(IncastThread { ends, stop, thread: Builder::new().name("fanin-incast".to_owned()).spawn(work)? })
    }

    /// Stops the thread and waits for it.
    pub fn end(self) {
        self.stop.store(true, Relaxed);
        drop(self.ends);
        // A panic of a prediction does not affect the front end.
        let _ = self.thread.join();
    }
}

/// A pool's last prediction: its state, the workload, when it ended, and whether it failed.
struct Last {
    state: Arc<IncastState>,
    basis: Basis,
    at: Nanos,
    failed: bool,
}

/// The workload that a prediction is for.
#[derive(Clone, Copy)]
struct Basis {
    workload: Workload,
    /// Whether it has been observed; otherwise it is assumed.
    observed: bool,
}

fn keep(shared: &Shared, predictor: &dyn Predictor, stop: &AtomicBool, end: &Receiver<()>) {
    let (clock, mut last) = (Clock::start(), Vec::new());
    loop {
        for pool in &shared.edition().pools {
            if let Some(state) = &pool.incast
                && !stop.load(Relaxed)
            {
                look(pool, state, &mut last, predictor, &clock, stop);
            }
        }
        if end.recv_timeout(LOOK) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        let pools = &shared.edition().pools;
        let is_current = |last: &Last| {
            pools.iter().filter_map(|pool| pool.incast.as_ref()).any(|state| Arc::ptr_eq(state, &last.state))
        };
        last.retain(is_current);
    }
}

/// Updates a pool's observations, and predicts if they have changed much.
fn look(
    pool: &PoolState,
    state: &Arc<IncastState>,
    all: &mut Vec<Last>,
    predictor: &dyn Predictor,
    clock: &Clock,
    stop: &AtomicBool,
) {
    let Some(assumed) = assumed_workload(&pool.settings) else { return };
    state.set_round_trip(round_trip(pool));
    state.end_period(&assumed);
    let observed = state.observed().map(|observed| observed.workload);
    let basis = Basis { workload: observed.unwrap_or(assumed), observed: observed.is_some() };
    let number = all.iter().position(|last| Arc::ptr_eq(&last.state, state));
    if let Some(last) = number.map(|number| &all[number])
        && !is_due(last, basis, clock.now())
    {
        return;
    }
    let failed = !predict(pool, state, predictor, basis, stop);
    let last = Last { state: state.clone(), basis, at: clock.now(), failed };
    match number {
        Some(number) => all[number] = last,
        None => all.push(last),
    }
}

/// Whether to predict again: the first observation replaces the assumption at once, and a failed prediction, which a busy machine may have
/// no time for, is repeated.
fn is_due(last: &Last, basis: Basis, now: Nanos) -> bool {
    let rests = (last.basis.observed || last.failed) && now.saturating_sub(last.at) < BETWEEN;
    !rests && (last.failed || basis.observed && (!last.basis.observed || last.basis.workload.differs(&basis.workload)))
}

/// Predicts; returns whether it could.
fn predict(pool: &PoolState, state: &IncastState, predictor: &dyn Predictor, basis: Basis, stop: &AtomicBool) -> bool {
    let (settings, Basis { workload, observed }) = (&pool.settings, basis);
    match predictor.predict(settings, &workload, stop) {
        Ok(prediction) => {
            let predicted = Predicted { workload, observed, prediction };
            state.set_limit(prediction.limit);
            state.set_predicted(predicted);
            let has_limit = settings.window(None).window() < u32::MAX;
            let servers = settings.servers.len();
            messages::report(&Report::Incast(IncastReport { pool: &settings.name, servers, has_limit, predicted }));
            return true;
        }
        Err(_) if stop.load(Relaxed) => {}
        Err(why) => messages::warning(&format!("{}: incast cannot be predicted: {why}", settings.name)),
    }
    false
}

/// Mean round-trip time to the servers, as TCP has it.
fn round_trip(pool: &PoolState) -> Option<Nanos> {
    let figures = pool.servers.iter().flat_map(|server| server.all_figures());
    let known: Vec<Nanos> = figures.map(|figures| figures.rtt.get()).filter(|rtt| *rtt > 0).collect();
    (!known.is_empty()).then(|| known.iter().sum::<Nanos>() / known.len() as Nanos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanin_proxy_config::Incast;
    use fanin_units::{Bytes, Rate, Time};

    #[test]
    fn failed_prediction_is_repeated_after_a_pause() {
        let millis = Time::from_millis(1);
        let (buffer, link) = (Bytes(1 << 16), Rate(200_000_000));
        let incast =
            Incast { buffer, rto_min: Time::from_millis(200), link, rtt: millis, keys: 10, value: Bytes(1000) };
        let state = Arc::new(IncastState::new(incast, 1, None));
        let workload = Workload { keys: 10, servers: 2, value: 1025 };
        let last = |observed, failed| Last { state: state.clone(), basis: Basis { workload, observed }, at: 1, failed };
        // The multigets are the same now; they may be observed instead of assumed.
        for (observed, failed, now_observed, at_once, later) in [
            (false, false, false, false, false),
            (false, false, true, true, true),
            (true, false, true, false, false),
            (false, true, false, false, true),
            (true, true, true, false, true),
        ] {
            let due = |now| is_due(&last(observed, failed), Basis { workload, observed: now_observed }, now);
            assert_eq!((due(2), due(BETWEEN + 1)), (at_once, later), "{observed} {failed} {now_observed}");
        }
    }
}
