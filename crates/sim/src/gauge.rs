//! What a queue or a memory holds over time: exact sums over the run and over equal parts of it.

use crate::histogram::Histogram;

/// How a thing stands, and how it stood.
#[derive(Clone, Default)]
pub(crate) struct Gauge {
    /// Since when it stands so; all times are since the first request.
    since: u64,
    bytes: u64,
    /// When its link will have sent what it has begun to send; zero of what has none.
    busy_until: u64,
    /// What it held by how long it did.
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
    /// From now on it holds so much, and its link is busy until then.
    pub fn stand(&mut self, now: u64, span: u64, (bytes, busy_until): (u64, u64)) {
        self.stand_until(now, span);
        (self.bytes, self.busy_until) = (bytes, busy_until);
        if bytes > 0 {
            let part = self.part(now / span);
            part.max_bytes = part.max_bytes.max(bytes);
        }
    }

    /// It has stood as it does until now.
    pub fn stand_until(&mut self, now: u64, span: u64) {
        let (bytes, busy_until) = (self.bytes, self.busy_until);
        self.levels.add(bytes.min(u32::MAX.into()) as u32, now - self.since);
        // Where it was idle, there is nothing to add up.
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

    /// Parts are twice as long from now on.
    pub fn pair_up(&mut self) {
        let pair = |pair: &[Part]| pair.iter().copied().reduce(Part::and).unwrap_or_default();
        self.parts = self.parts.chunks(2).map(pair).collect();
    }

    /// The clock begins anew, so much later: what was before is forgotten.
    pub fn begin(&mut self, later: u64) {
        let busy_until = self.busy_until.saturating_sub(later);
        *self = Gauge { bytes: self.bytes, busy_until, ..Gauge::default() };
    }

    /// All of it.
    pub fn whole(&self) -> Part {
        self.parts.iter().copied().reduce(Part::and).unwrap_or_default()
    }

    /// What it held for 99 hundredths of the time at the most.
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

/// The sum over a time, rounded; zero over no time.
pub(crate) fn mean(sum: u128, span_ps: u64) -> u64 {
    (sum + u128::from(span_ps / 2)).checked_div(span_ps.into()).unwrap_or(0) as u64
}
