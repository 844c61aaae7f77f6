//! Progress of a long job: a bar on a terminal, otherwise occasional lines.

use std::io::{IsTerminal, Write, stderr};
use std::time::Duration;

use fanin::{Pace, Progress};
use indicatif::{ProgressBar, ProgressStyle};

use crate::figures::{large, span, time};

/// Delay before the bar appears.
const BAR_AFTER: Duration = Duration::from_secs(1);
/// Delay before the first line; later intervals grow.
const LINE_AFTER: Duration = Duration::from_secs(5);
const LINES_APART: Duration = Duration::from_secs(60);

/// Reports progress on standard error.
#[derive(Default)]
pub struct ProgressReporter {
    bar: Option<ProgressBar>,
    /// Time of the last line.
    told: Duration,
}

impl ProgressReporter {
    /// Updates the display.
    pub fn update(&mut self, progress: Progress) {
        if stderr().is_terminal() {
            if progress.elapsed >= BAR_AFTER {
                self.draw(progress);
            }
        } else if progress.elapsed >= next_line(self.told) {
            self.told = progress.elapsed;
            // A failure to print progress is not an error.
            let _ = writeln!(stderr(), "{} of {} runs, {}", progress.done, progress.total, state(progress));
        }
    }

    fn draw(&mut self, progress: Progress) {
        let bar = self.bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{bar:40} {pos}/{len} runs, {msg}");
            ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("█▌ "))
        });
        bar.set_length(progress.total as u64);
        bar.set_message(state(progress));
        bar.set_position(progress.done as u64);
    }

    /// Removes the bar at the end.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Time of the next line: twice that of the last one, at most a minute later.
fn next_line(told: Duration) -> Duration {
    (told + told.min(LINES_APART)).max(LINE_AFTER)
}

/// Remaining wall time, and the pace of the runs under way: the simulated time is that of the one that began first.
fn state(progress: Progress) -> String {
    let left = match progress.left {
        Some(left) => format!("about {} left", span(left)),
        None => "running the first".into(),
    };
    let pace = progress.pace.map(|Pace { simulated, packets_per_s }| {
        format!(
            ", {} simulated, {} data packets per second",
            time(simulated.as_secs_f64() * 1e3),
            large(packets_per_s as f64)
        )
    });
    left + &pace.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use fanin::Time;

    use super::*;

    #[test]
    fn says_what_is_left_and_how_fast_it_goes() {
        let pace = Pace { simulated: Time::from_micros(81_200), packets_per_s: 1_380_000 };
        let progress = Progress { left: Some(Duration::from_secs(40)), pace: Some(pace), ..Progress::default() };
        assert_eq!(state(progress), "about 40 s left, 81.2 ms simulated, 1.38 M data packets per second");
        assert_eq!(state(Progress::default()), "running the first");
    }

    #[test]
    fn prints_lines_after_5_s_and_then_up_to_a_minute_apart() {
        let mut told = vec![Duration::ZERO];
        while told.len() < 8 {
            told.push(next_line(told[told.len() - 1]));
        }
        assert_eq!(told[1..].iter().map(Duration::as_secs).collect::<Vec<_>>(), [5, 10, 20, 40, 80, 140, 200]);
    }
}
