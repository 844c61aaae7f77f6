//! How far a long job is: a bar on a terminal, elsewhere a line now and then.

use std::io::{IsTerminal, Write, stderr};
use std::time::Duration;

use fanin::Progress;
use indicatif::{ProgressBar, ProgressStyle};

use crate::figures::span;

/// A bar is shown once the job has lasted so long; it vanishes in the end.
const BAR_AFTER: Duration = Duration::from_secs(1);
/// A line stays: the first comes later, the next ones ever more rarely.
const LINE_AFTER: Duration = Duration::from_secs(5);
const LINES_APART: Duration = Duration::from_secs(60);

/// Tells on standard error how far a job is.
#[derive(Default)]
pub struct ProgressReporter {
    bar: Option<ProgressBar>,
    /// When the last line was told.
    told: Duration,
}

impl ProgressReporter {
    /// Something has changed, or time has passed.
    pub fn update(&mut self, progress: Progress) {
        if stderr().is_terminal() {
            if progress.elapsed >= BAR_AFTER {
                self.draw(progress);
            }
        } else if progress.elapsed >= next_line(self.told) {
            self.told = progress.elapsed;
            // Where it cannot be told, the results are none the worse.
            let _ = writeln!(stderr(), "{} of {} runs, {}", progress.done, progress.total, left(progress));
        }
    }

    fn draw(&mut self, progress: Progress) {
        let bar = self.bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{bar:40} {pos}/{len} runs, {msg}");
            ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("█▌ "))
        });
        bar.set_length(progress.total as u64);
        bar.set_message(left(progress));
        bar.set_position(progress.done as u64);
    }

    /// The job has ended.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// When a line is due after one that was told then: in twice the time, and no later than a minute after.
fn next_line(told: Duration) -> Duration {
    (told + told.min(LINES_APART)).max(LINE_AFTER)
}

fn left(progress: Progress) -> String {
    match progress.left {
        Some(left) => format!("about {} left", span(left)),
        None => "the first is under way".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_after_5_s_and_ever_more_rarely_down_to_one_a_minute() {
        let mut told = vec![Duration::ZERO];
        while told.len() < 8 {
            told.push(next_line(told[told.len() - 1]));
        }
        assert_eq!(told[1..].iter().map(Duration::as_secs).collect::<Vec<_>>(), [5, 10, 20, 40, 80, 140, 200]);
    }
}
