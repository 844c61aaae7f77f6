//! Advice: remedies for a cluster.

use core::sync::atomic::Ordering;
use std::cell::RefCell;
use std::time::{Duration, Instant};

use fanin_advise::{Addresses, Advice, AdviceOptions, Asked, Goal, advise};
use fanin_execute::Out;

use crate::remedies;
use crate::{Comparison, Error, Lab, Resolved, Scenario, Update};

/// Request for advice.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Words by which commands name the scenario: its file, or flags that describe it.
    pub source: Vec<String>,
    /// Keys that the user set in it, as pairs of command-line arguments, so that printed commands set them too.
    pub arguments: Vec<String>,
    /// Number of servers; the scenario's largest if absent.
    pub servers: Option<u32>,
    /// Number of servers that the cluster will grow to.
    pub grow_to: Option<u32>,
    /// A threshold.
    pub goal: Option<Goal>,
    /// Maximum number of simulated data packets.
    pub budget: u64,
    /// Time limit; with one, the result depends on the machine's speed.
    pub time: Option<Duration>,
    /// Words of [`crate::advice::FAMILIES`]; empty for all.
    pub remedies: Vec<String>,
    /// Addresses that the configuration lines name.
    pub addresses: Addresses,
}

impl Wanted {
    /// All remedies that this number of simulated data packets can compare, for the scenario of these words.
    pub fn new(source: Vec<String>, budget: u64) -> Wanted {
        Wanted {
            source,
            arguments: Vec::new(),
            servers: None,
            grow_to: None,
            goal: None,
            budget,
            time: None,
            remedies: Vec::new(),
            addresses: Addresses::default(),
        }
    }
}

/// Advice, and the settings for its picture.
pub struct Advised {
    /// The advice.
    pub advice: Advice,
    curves: Resolved,
}

impl Lab {
    /// Diagnoses a cluster and finds the changes that help, best first. The scenario's first scheme is the current one.
    ///
    /// # Errors
    /// [`Error::Scenario`], [`Error::Asked`], [`Error::Broken`], [`Error::Stopped`].
    #[expect(clippy::disallowed_methods, reason = "a budget of time needs a clock")]
    pub fn advise(&self, scenario: &Scenario, wanted: &Wanted, hear: &mut dyn FnMut(Update)) -> Result<Advised, Error> {
        scenario.resolve()?;
        let (loaded, begun) = (&scenario.0, Instant::now());
        let read = |file: &str| loaded.named(file);
        let asked = Asked {
            scenario: &loaded.scenario,
            read: &read,
            source: &wanted.source,
            arguments: wanted.arguments.clone(),
            servers: wanted.servers,
            grow_to: wanted.grow_to,
            addresses: &wanted.addresses,
        };
        let Wanted { goal, budget, remedies, .. } = wanted.clone();
        let options = AdviceOptions { goal, budget, remedies };
        let late = || wanted.time.is_some_and(|time| begun.elapsed() > time);
        let stop = || self.stop.load(Ordering::Relaxed) || late();
        let hear = RefCell::new(hear);
        let tell = |news| {
            (hear.borrow_mut())(match news {
                fanin_advise::Update::Progress(progress) => Update::Progress(progress),
                fanin_advise::Update::Word(word) => Update::Notice(word),
            });
        };
        let advice = self.with_executor(|executor| advise(executor, &asked, &options, &stop, &tell))?;
        let curves = Resolved {
            name: loaded.scenario.name.clone(),
            title: Some("Today and the first remedies".into()),
            text: loaded.text.clone(),
            variants: advice.curves(&asked)?,
            warnings: Vec::new(),
        };
        Ok(Advised { advice, curves })
    }

    /// Compares the current scheme with the first remedies at fewer and at more servers. Its report shows why they help.
    ///
    /// # Errors
    /// As [`Lab::compare`].
    pub fn picture(&self, advised: &Advised, hear: &mut dyn FnMut(Update)) -> Result<Comparison, Error> {
        self.compare(&advised.curves, fanin_lab::CompareOptions::default(), hear)
    }
}

impl Advised {
    /// Writes the advice, its remedies' scripts, the named `files`, and the picture's tables and report.
    ///
    /// # Errors
    /// As [`Comparison::write`].
    pub fn write(
        &self,
        out: Out,
        picture: &Comparison,
        arguments: &[String],
        mut files: Vec<(String, String)>,
    ) -> Result<(), Error> {
        files.extend(self.advice.scripts());
        files.push(("advice.json".into(), self.to_json() + "\n"));
        picture.write_with(out, arguments, &files, remedies::section(&self.advice))
    }

    /// One JSON object: the output of `fanin advise --json`.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.advice).unwrap_or_default()
    }
}

impl From<fanin_advise::AdviceError> for Error {
    fn from(why: fanin_advise::AdviceError) -> Error {
        use fanin_advise::AdviceError::{Asked, Broken, Problem, Stopped};
        match why {
            Problem(problem) => problem.into(),
            Broken(broken) => broken.into(),
            Asked(what) => Error::Asked(what),
            Stopped => Error::Stopped,
        }
    }
}
