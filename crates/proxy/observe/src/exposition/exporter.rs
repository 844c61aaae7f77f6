//! A thread that sends metrics to an OpenTelemetry collector.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{Method, Request, Uri};
use hyper::body::Bytes;
use tokio::runtime::Runtime;

use super::family::Labels;
use super::otlp::{Period, encode};
use super::source::Source;
use crate::collector;
use fanin_proxy_core::clock::unix;

/// Time between two requests.
const INTERVAL: Duration = Duration::from_secs(10);

/// Sends metrics each 10 s, and once more when it is dropped.
#[derive(Debug)]
pub struct Exporter {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Exporter {
    /// Starts to send. `resource`: attributes of the program. `report` gets the first failure.
    ///
    /// # Errors
    /// The system has no file descriptor or thread left.
    pub fn start(target: &Uri, resource: Labels, source: impl Source, report: fn(&str)) -> io::Result<Exporter> {
        let runtime = collector::runtime()?;
        let endpoint = collector::endpoint(target, "metrics");
        let start = unix();
        let (stop, stopped) = mpsc::channel::<()>();
        let work = move || {
            let mut reported = false;
            loop {
                let goes_on = stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout);
                let body = encode(&resource, &source.families(), Period { start, end: unix() });
                if let Err(why) = send(&runtime, &endpoint, body)
                    && !std::mem::replace(&mut reported, true)
                {
                    report(&why);
                }
                if !goes_on {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("fanin-metrics".to_owned()).spawn(work)?;
        Ok(Exporter { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.stop = None;
        // It ends within the time of a request.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn send(runtime: &Runtime, endpoint: &str, body: Vec<u8>) -> Result<(), String> {
    let request = Request::builder().method(Method::POST).uri(endpoint);
    let request = request.header(CONTENT_TYPE, "application/x-protobuf").body(Bytes::from(body));
    let response = request.map_err(|error| error.to_string())?;
    let response = runtime.block_on(collector::send(response)).map_err(|error| error.to_string())?;
    if response.status().is_success() { Ok(()) } else { Err(response.status().to_string()) }
}
