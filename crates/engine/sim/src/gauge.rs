//! Fill level of a queue or memory over time: exact sums over the run and over equal parts of it.

use crate::histogram::Histogram;

/// Current level and its history.
#[derive(Clone, Default)]
pub(crate) struct Gauge {
    /// Time of the last change; all times count from the first request.
    since: u64,
    bytes: u64,
    /// When its link will have sent all that it has started; zero without a link.
    busy_until: u64,
    /// Levels weighted by time.
    levels: Histogram,
    pub parts: Vec<Part>,
}

/// One part of the run.
#[derive(Clone, Copy, Default)]
pub(crate) struct Part {
    pub byte_ps: u128,
    pub max_bytes: u64,
    pub busy_ps: u64,
}

impl Part {
    pub fn and(self, next: Part) -> Part {
        Part {
            byte_ps: self.byte_ps + next.byte_ps,
            max_bytes: self.max_bytes.max(next.max_bytes),
            busy_ps: self.busy_ps + next.busy_ps,
        }
    }
}

impl Gauge {
    /// Set the level from now on, with its link busy until then.
    pub fn stand(&mut self, now: u64, span: u64, bytes: u64, busy_until: u64) {
        self.stand_until(now, span);
        (self.bytes, self.busy_until) = (bytes, busy_until);
        if bytes > 0 {
            let part = self.part(now / span);
            part.max_bytes = part.max_bytes.max(bytes);
        }
    }

    /// Extend the current level until now.
    pub fn stand_until(&mut self, now: u64, span: u64) {
        let (bytes, busy_until) = (self.bytes, self.busy_until);
        self.levels.add(bytes.min(u32::MAX.into()) as u32, now - self.since);
        // Idle time adds nothing.
        let until = if bytes > 0 { now } else { now.min(busy_until) };
        let mut from = self.since;
        while from < until {
            let number = from / span;
            let to = until.min((number + 1) * span);
            let part = self.part(number);
            part.byte_ps += u128::from(bytes) * u128::from(to - from);
            part.max_bytes = part.max_bytes.max(bytes);
            part.busy_ps += to.min(busy_until).saturating_sub(from);
            from = to;
        }
        self.since = now;
    }

    /// Double the length of parts.
    pub fn pair_up(&mut self) {
        let pair = |pair: &[Part]| pair.iter().copied().reduce(Part::and).unwrap_or_default();
        self.parts = self.parts.chunks(2).map(pair).collect();
    }

    /// Restart the clock this much later; discard earlier data.
    pub fn begin(&mut self, later: u64) {
        let busy_until = self.busy_until.saturating_sub(later);
        *self = Gauge { bytes: self.bytes, busy_until, ..Gauge::default() };
    }

    /// Total of all parts.
    pub fn whole(&self) -> Part {
        self.parts.iter().copied().reduce(Part::and).unwrap_or_default()
    }

    /// Time-weighted p99 of the level.
    pub fn p99_bytes(&self) -> u64 {
        self.levels.quantile(990).into()
    }

    fn part(&mut self, number: u64) -> &mut Part {
        let number = number as usize;
        if self.parts.len() <= number {
            self.parts.resize(number + 1, Part::default());
        }
        &mut self.parts[number]
    }
}

/// The average over a time, rounded; zero over no time.
pub(crate) fn mean(sum: u128, span_ps: u64) -> u64 {
    (sum + u128::from(span_ps / 2)).checked_div(span_ps.into()).unwrap_or(0) as u64
}
