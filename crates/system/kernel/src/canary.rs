//! A trial of a congestion control on a share of a cgroup's new connections. Nothing of it is pinned: it ends with its process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use libbpf_rs::{Link, MapCore, MapFlags, Object};
use nix::time::{ClockId, clock_gettime};
use serde::Serialize;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::cgroup::Cgroup;
use crate::control::{CANARY, Control};
use crate::load::{self, Registered, name_bytes, set_constants, set_variables};
use crate::pins;
use crate::prediction::Prediction;
use crate::trial::{Figures, Totals, Verdict, judge};
use crate::trouble::Trouble;

/// Pause between two renewals of the time until which gentle slow start acts.
const BEAT: Duration = Duration::from_millis(250);
/// Renewals between two judgements.
const JUDGE_EVERY: u64 = 4;
/// How long gentle slow start acts without a renewal. Afterwards its connections grow as its base does.
const LASTS: Duration = Duration::from_secs(3);
/// Time that connections have to return to their own congestion control at the end.
const RETURNS: Duration = Duration::from_secs(2);

/// Options of a trial.
#[derive(Clone, Debug)]
pub struct Options {
    /// Longest duration.
    pub duration: Duration,
    /// Share of the new connections that get the congestion control, from 0 to 1.
    pub share: f64,
    /// Whether to go on when it is worse.
    pub keep: bool,
}

/// Reason for the end of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// Its time was over.
    Deadline,
    /// The treated part was worse.
    Worse,
    /// A signal.
    Stopped,
}

/// Report of a trial.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The congestion control.
    pub control: &'static str,
    /// The cgroup's folder.
    pub cgroup: String,
    /// Share of the new connections that got the congestion control.
    pub share: f64,
    /// Duration in seconds.
    pub seconds: f64,
    /// Why it ended.
    pub ended: Ended,
    /// Comparison of both parts.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Connections that kept their own congestion control.
    pub untouched: Figures,
    /// Connections that got the new one.
    pub treated: Figures,
    /// Connections that returned to their own congestion control at the end. Others had closed, or were idle: those grow as the base
    /// of the congestion control until they close.
    pub returned: u64,
    /// Connections whose congestion control could not be set.
    pub refused: u64,
    /// The simulator's figures, if there is a scenario.
    pub prediction: Option<Prediction>,
}

/// A trial that runs. Dropping it ends it.
struct Trial {
    // Dropped in this order: no connection may select a name that is gone.
    _selection: Link,
    object: Object,
    registered: Registered,
    /// CLOCK_MONOTONIC at its begin.
    began: Duration,
}

/// Runs a trial to its end.
///
/// # Errors
/// The machine lacks something, or the congestion control is loaded already.
pub fn run(control: &'static Control, cgroup: &Cgroup, options: &Options) -> Result<Report, Trouble> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let trial = Trial::begin(control, cgroup, options)?;
    let ended = trial.watch(options, &stop)?;
    let seconds = trial.elapsed()?.as_secs_f64();
    let [untouched, treated] = trial.parts()?;
    let returned = trial.give_back()?;
    drop(trial);
    pins::wait_until_gone(control);
    Ok(Report {
        control: control.scheme,
        cgroup: cgroup.path.display().to_string(),
        share: options.share,
        seconds,
        ended,
        verdict: judge(&untouched, &treated),
        untouched: untouched.figures(),
        treated: treated.figures(),
        returned,
        refused: treated.refused,
        prediction: None,
    })
}

fn monotonic() -> Result<Duration, Trouble> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map_err(|error| Trouble::kernel("read the clock", error))?;
    Ok(Duration::from(now))
}

impl Trial {
    fn begin(control: &Control, cgroup: &Cgroup, options: &Options) -> Result<Trial, Trouble> {
        let registered = load::register(control)?;
        let mut object = load::open("canary", CANARY)?;
        let share_q32 = (options.share * f64::from(u32::MAX)) as u32;
        set_constants(&mut object, &[&name_bytes(control)[..], &share_q32.to_ne_bytes()].concat())?;
        let object = object.load().map_err(|error| load::refused("load the trial", &error))?;
        let began = monotonic()?;
        renew(&registered, began)?;
        let selection = load::attach(&object, cgroup)?;
        Ok(Trial { _selection: selection, object, registered, began })
    }

    fn elapsed(&self) -> Result<Duration, Trouble> {
        Ok(monotonic()?.saturating_sub(self.began))
    }

    /// Renews and judges until the end.
    fn watch(&self, options: &Options, stop: &AtomicBool) -> Result<Ended, Trouble> {
        for beat in 1_u64.. {
            thread::sleep(BEAT);
            renew(&self.registered, monotonic()?)?;
            if stop.load(Ordering::Relaxed) {
                return Ok(Ended::Stopped);
            }
            if self.elapsed()? >= options.duration {
                return Ok(Ended::Deadline);
            }
            let [untouched, treated] = self.parts()?;
            let judges = beat % JUDGE_EVERY == 0 && !options.keep;
            if judges && matches!(judge(&untouched, &treated), Verdict::Worse { .. }) {
                return Ok(Ended::Worse);
            }
        }
        Ok(Ended::Deadline)
    }

    /// The untouched and the treated part.
    fn parts(&self) -> Result<[Totals; 2], Trouble> {
        let part = |place: u32| {
            let map = self.object.maps().find(|map| map.name() == "parts")?;
            Totals::read(&map.lookup(&place.to_ne_bytes(), MapFlags::ANY).ok()??)
        };
        let both = part(0).zip(part(1)).map(|(untouched, treated)| [untouched, treated]);
        both.ok_or_else(|| Trouble::Environment("cannot read the trial's figures from the kernel".into()))
    }

    /// Returns connections to their own congestion control, each with its next packet; counts them.
    fn give_back(&self) -> Result<u64, Trouble> {
        set_variables(&self.object, ".bss", &1_u32.to_ne_bytes())?;
        for _ in 0..RETURNS.as_millis() / BEAT.as_millis() {
            thread::sleep(BEAT);
            renew(&self.registered, monotonic()?)?;
        }
        Ok(self.parts()?[1].returned)
    }
}

fn renew(registered: &Registered, now: Duration) -> Result<(), Trouble> {
    registered.act_until(u64::try_from((now + LASTS).as_nanos()).unwrap_or(u64::MAX))
}
