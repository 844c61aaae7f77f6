//! Papers: reproduction of their figures, and verdicts on their claims.

pub use fanin_papers::{
    Changed, Claim, Conditions, Count, Expected, Figure, Mode, Paper, PaperProblem, Reproduced, Scorecard, ScoredClaim,
    Setting, Verdict,
};
pub use fanin_reproduce::{EMBEDDED, names, read, record, recorded};

use fanin_lab::Session;
use fanin_reproduce::ReproduceError;

use crate::{Error, Lab, Update};

impl From<ReproduceError> for Error {
    fn from(why: ReproduceError) -> Error {
        match why {
            ReproduceError::Paper(problem) => problem.into(),
            ReproduceError::Broken(broken) => broken.into(),
            ReproduceError::Stopped => Error::Stopped,
        }
    }
}

impl Lab {
    /// Reproduces papers, or those of their figures that `wanted` selects. After a stop, finished runs remain in the cache.
    ///
    /// # Errors
    /// [`Error::Paper`], [`Error::Broken`], [`Error::Stopped`].
    pub fn reproduce(
        &self,
        papers: &[Paper],
        wanted: &dyn Fn(&Figure) -> bool,
        conditions: &Conditions,
        hear: &mut dyn FnMut(Update),
    ) -> Result<Reproduced, Error> {
        let mut progress = |progress| hear(Update::Progress(progress));
        let reproduced = self.with_executor(|executor| {
            fanin_reproduce::reproduce(&mut Session::new(executor, &mut progress), papers, wanted, conditions)
        })?;
        reproduced.notices.iter().for_each(|notice| hear(Update::Notice(notice.clone())));
        Ok(reproduced)
    }

    /// Moves every open parameter of papers to either end, and records the changes. `tell` receives each parameter's name.
    ///
    /// # Errors
    /// As [`Lab::reproduce`].
    pub fn sensitivity(
        &self,
        papers: &[Paper],
        tell: &mut dyn FnMut(&Paper, &str),
        hear: &mut dyn FnMut(Update),
    ) -> Result<(), Error> {
        let mut progress = |progress| hear(Update::Progress(progress));
        self.with_executor(|executor| {
            let mut session = Session::new(executor, &mut progress);
            papers
                .iter()
                .try_for_each(|paper| fanin_reproduce::sweep(&mut session, paper, &mut |what| tell(paper, what)))
        })?;
        Ok(())
    }
}
