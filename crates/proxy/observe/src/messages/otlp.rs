//! Messages as OTLP log records, and slow multigets as spans, for an OpenTelemetry collector.
//!
//! Threads of the SDK send them in batches. A full queue drops further ones, so that no request waits for the collector.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::{Duration, UNIX_EPOCH};

use async_trait::async_trait;
use http::Uri;
use opentelemetry::trace::{Span, Status, TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Context, ContextGuard, KeyValue};
use opentelemetry_appender_tracing::layer::OpenTelemetryTracingBridge;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{LogExporter, Protocol, RetryPolicy, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::logs::{SdkLogger, SdkLoggerProvider};
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Runtime;
use tracing::warn;

use crate::collector;
use crate::messages::SlowMultiget;
use fanin_proxy_core::clock::unix;

/// Name of the service and of the tracer.
const NAME: &str = "fanin";
/// Longest time to send the remainder at the end.
const FLUSH_TIME: Duration = Duration::from_secs(2);

/// Senders of records and of spans.
static SENDERS: OnceLock<(SdkLoggerProvider, SdkTracerProvider)> = OnceLock::new();
/// Whether a failure has been reported.
static REPORTED: AtomicBool = AtomicBool::new(false);

/// Starts to send to a collector; returns the layer that passes messages on.
pub fn start(target: &Uri) -> io::Result<OpenTelemetryTracingBridge<SdkLoggerProvider, SdkLogger>> {
    let resource = Resource::builder().with_service_name(NAME).build();
    let logs = configured(LogExporter::builder().with_http(), target, "logs")?.build().map_err(io::Error::other)?;
    let spans = configured(SpanExporter::builder().with_http(), target, "traces")?.build().map_err(io::Error::other)?;
    let logs = SdkLoggerProvider::builder().with_resource(resource.clone()).with_batch_exporter(logs).build();
    let spans = SdkTracerProvider::builder().with_resource(resource).with_batch_exporter(spans).build();
    let layer = OpenTelemetryTracingBridge::new(&logs);
    // A later front end of the process keeps the first one's.
    let _ = SENDERS.set((logs, spans));
    Ok(layer)
}

/// Configures an exporter.
fn configured<B: WithExportConfig + WithHttpConfig>(builder: B, target: &Uri, signal: &str) -> io::Result<B> {
    Ok(builder
        .with_http_client(Client(collector::runtime()?))
        .with_endpoint(collector::endpoint(target, signal))
        .with_protocol(Protocol::HttpBinary)
        .with_retry_policy(RetryPolicy::disabled()))
}

/// Sends a slow multiget as a span, to which messages belong while the result exists.
pub fn span(slow: &SlowMultiget<'_>) -> Option<ContextGuard> {
    let (_, spans) = SENDERS.get()?;
    let tracer = spans.tracer(NAME);
    let end = UNIX_EPOCH + Duration::from_nanos(unix());
    let start = end.checked_sub(Duration::from_micros(slow.took)).unwrap_or(end);
    let attributes = [
        KeyValue::new("pool", slow.pool.to_owned()),
        KeyValue::new("keys", slow.keys as i64),
        KeyValue::new("servers", slow.servers as i64),
        KeyValue::new("slowest", slow.slowest.to_owned()),
        KeyValue::new("why", slow.why()),
        KeyValue::new("waited_us", slow.waited as i64),
        KeyValue::new("responded_us", slow.responded as i64),
        KeyValue::new("unread_us", slow.unread as i64),
    ];
    let mut span =
        tracer.span_builder("slow_multiget").with_start_time(start).with_attributes(attributes).start(&tracer);
    if let Some(error) = slow.error {
        span.set_status(Status::error(error.trim_end().to_owned()));
    }
    span.end_with_timestamp(end);
    Some(Context::current_with_span(span).attach())
}

/// Sends the remainder, within a limited time.
pub fn flush() {
    let Some((logs, spans)) = SENDERS.get() else { return };
    let (done, end) = mpsc::channel::<()>();
    let work = move || {
        // The client reports failures.
        let _ = (logs.force_flush(), spans.force_flush());
        drop(done);
    };
    if std::thread::Builder::new().name("fanin-flush".to_owned()).spawn(work).is_ok() {
        let _ = end.recv_timeout(FLUSH_TIME);
    }
}

/// HTTP client of an exporter's thread, which waits for it.
#[derive(Debug)]
struct Client(Runtime);

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let result = self.0.block_on(collector::send(request));
        match &result {
            Ok(response) if response.status().is_success() => {}
            Ok(response) => report(&response.status().to_string()),
            Err(error) => report(&error.to_string()),
        }
        result
    }
}

/// Reports the first failure. The SDK ignores messages of its own threads, so that this one is not sent.
fn report(why: &str) {
    if !REPORTED.swap(true, Relaxed) {
        warn!("warning: the OpenTelemetry collector does not get all messages: {why}; later failures are not reported");
    }
}
