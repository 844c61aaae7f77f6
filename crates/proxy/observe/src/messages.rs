//! Messages for operators on stderr: as text, or as JSON with one object a line. A collector may get them as well (`otlp`).
//!
//! Messages of a kind are limited, so that a flapping server or a slow network fills no disk; the number of those left out follows.

mod incast_report;
#[cfg(feature = "opentelemetry")]
mod otlp;
mod report;

use std::io;
use std::sync::{Mutex, PoisonError};

use fanin_units::Time;
use http::Uri;
use tracing::Subscriber;
use tracing::{info, warn};
#[cfg(feature = "opentelemetry")]
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;

pub use incast_report::IncastReport;
pub use report::{Report, SlowMultiget};

use fanin_proxy_core::clock::{Nanos, unix};
use fanin_proxy_core::prediction::Predicted;

/// Whether this program can send messages to an OpenTelemetry collector.
pub const EXPORTS: bool = cfg!(feature = "opentelemetry");

/// Settings of messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Format on stderr.
    pub format: Format,
    /// URL of an OpenTelemetry collector, if one gets them.
    pub otlp: Option<Uri>,
}

/// Format of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Plain lines.
    #[default]
    Text,
    /// JSON objects with `timestamp`, `level`, `message` and the figures.
    Json,
}

impl Format {
    /// Names in the settings.
    pub const WORDS: [(&str, Format); 2] = [("text", Format::Text), ("json", Format::Json)];
}

/// Messages of a kind per period.
const MOST: u32 = 20;
const PERIOD: Nanos = 10_000_000_000;

/// Kind of message, each with a limit of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Other,
    Server,
    SlowMultiget,
    Incast,
}

/// Messages in the present period.
#[derive(Debug)]
struct Limit {
    since: Nanos,
    count: u32,
}

impl Limit {
    const NEW: Limit = Limit { since: 0, count: 0 };

    /// Counts a message; returns whether it may be written, and how many of the last period were not.
    fn admits(&mut self, now: Nanos) -> (bool, u32) {
        let mut left_out = 0;
        if now.saturating_sub(self.since) >= PERIOD {
            left_out = self.count.saturating_sub(MOST);
            *self = Limit { since: now, count: 0 };
        }
        self.count += 1;
        (self.count <= MOST, left_out)
    }
}

static LIMITS: Mutex<[Limit; 4]> = Mutex::new([Limit::NEW; 4]);

/// Installs the settings, once for the process: a later call changes nothing.
///
/// # Errors
/// The sender to a collector cannot be started.
pub fn install(settings: &Settings) -> io::Result<()> {
    let plain = tracing_subscriber::fmt().with_writer(std::io::stderr).with_target(false).log_internal_errors(false);
    match settings.format {
        Format::Text => {
            let text = plain.without_time().with_level(false).with_ansi(false).fmt_fields(MessageOnly).finish();
            subscribe(text, settings)
        }
        Format::Json => subscribe(plain.json().flatten_event(true).finish(), settings),
    }
}

#[cfg_attr(not(feature = "opentelemetry"), expect(unused_variables, reason = "such a build has no collector"))]
fn subscribe<S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync>(
    subscriber: S,
    settings: &Settings,
) -> io::Result<()> {
    #[cfg(feature = "opentelemetry")]
    let subscriber = subscriber.with(settings.otlp.as_ref().map(otlp::start).transpose()?);
    // A program that embeds a front end may have its own subscriber.
    let _ = tracing::subscriber::set_global_default(subscriber);
    Ok(())
}

/// Sends the last messages to the collector, if there is one.
pub fn flush() {
    #[cfg(feature = "opentelemetry")]
    otlp::flush();
}

/// Writes the message, which has all figures as text.
struct MessageOnly;

impl<'w> tracing_subscriber::fmt::FormatFields<'w> for MessageOnly {
    fn format_fields<R: tracing_subscriber::field::RecordFields>(
        &self,
        writer: tracing_subscriber::fmt::format::Writer<'w>,
        fields: R,
    ) -> std::fmt::Result {
        let mut visitor = MessageVisitor(writer, Ok(()));
        fields.record(&mut visitor);
        visitor.1
    }
}

struct MessageVisitor<'w>(tracing_subscriber::fmt::format::Writer<'w>, std::fmt::Result);

impl tracing::field::Visit for MessageVisitor<'_> {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" && self.1.is_ok() {
            self.1 = write!(self.0, "{value:?}");
        }
    }
}

/// Whether a message of a kind may be written.
fn admits(kind: Kind) -> bool {
    let (admitted, left_out) = LIMITS.lock().unwrap_or_else(PoisonError::into_inner)[kind as usize].admits(unix());
    if left_out > 0 {
        warn!(left_out, "{left_out} more messages like the following were left out");
    }
    admitted
}

/// Writes a message.
pub fn tell(text: &str) {
    if admits(Kind::Other) {
        info!("{text}");
    }
}

/// Writes a warning.
pub fn warning(text: &str) {
    if admits(Kind::Other) {
        warn!("warning: {text}");
    }
}

/// Writes a report, with its figures.
pub fn report(report: &Report<'_>) {
    match report {
        Report::Server { .. } if !admits(Kind::Server) => {}
        Report::Server { pool, server, address, state, up: true } => {
            info!(event = "server", pool, server, address, state, "{report}");
        }
        Report::Server { pool, server, address, state, up: false } => {
            warn!(event = "server", pool, server, address, state, "{report}");
        }
        Report::SlowMultiget(_) if !admits(Kind::SlowMultiget) => {}
        Report::SlowMultiget(slow) => report_slow(slow),
        Report::Incast(_) if !admits(Kind::Incast) => {}
        Report::Incast(incast) => report_incast(incast),
    }
}

/// Writes a slow multiget.
fn report_slow(slow: &SlowMultiget<'_>) {
    #[cfg(feature = "opentelemetry")]
    let _span = otlp::span(slow);
    warn!(
        event = "slow_multiget",
        pool = slow.pool,
        keys = slow.keys,
        servers = slow.servers,
        took_us = slow.took,
        slowest = slow.slowest,
        why = slow.why(),
        waited_us = slow.waited,
        responded_us = slow.responded,
        unread_us = slow.unread,
        error = slow.error.map(str::trim_end),
        "{slow}"
    );
}

/// Writes a prediction of incast.
fn report_incast(incast: &IncastReport<'_>) {
    let Predicted { workload, observed, prediction } = incast.predicted;
    let micros = |time: Time| time.0 / 1_000_000;
    macro_rules! write {
        ($level:ident) => {
            $level!(
                event = "incast",
                pool = incast.pool,
                keys = workload.keys,
                servers = workload.servers,
                value_bytes = workload.value,
                observed,
                collapse_servers = prediction.collapse,
                limit = prediction.limit,
                unlimited_us = micros(prediction.unlimited),
                expected_us = micros(prediction.expected),
                sustains = prediction.sustains,
                "{incast}"
            )
        };
    }
    if incast.is_warning() { write!(warn) } else { write!(info) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_count_what_they_leave_out() {
        let mut limit = Limit::NEW;
        let admitted = (0..100).filter(|at| limit.admits(PERIOD + at).0).count();
        assert_eq!(admitted, 20);
        assert_eq!(limit.admits(2 * PERIOD), (true, 80));
        assert_eq!(limit.admits(3 * PERIOD), (true, 0));
    }
}
