//! What the commands need of the program around them.

use fanin_daemon::incast::Predictor;

use crate::failure::Failure;

/// The program around the commands.
pub trait Program {
    /// Prints to standard output.
    ///
    /// # Errors
    /// It cannot be written to.
    fn say(&self, text: &str) -> Result<(), Failure>;

    /// Predicts incast for pools with `incast`, if the program has a simulator.
    fn predictor(&self) -> Option<Box<dyn Predictor>>;
}
