//! HTTP endpoint of the metrics: `/metrics`, `/healthz` and `/ready`.
//!
//! Connections, their headers and their time are bounded, and a response is reused for a moment, so that a flood or a client that stalls
//! costs little, and cannot keep others away.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::{Domain, Socket, Type};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::AbortHandle;

use super::source::{Format, Source, encode};
use crate::clock::{Clock, Nanos};

/// Maximum number of connections.
const MOST: usize = 64;
/// Maximum time to send a request's header, and of a connection.
const HEADER_TIME: Duration = Duration::from_secs(5);
const CONNECTION_TIME: Duration = Duration::from_secs(15);
/// Maximum size of a header, hyper's least.
const HEADER: usize = 8192;
/// Connections that wait in the kernel.
const BACKLOG: i32 = 128;
/// Pause after a failed accept, for example without free file descriptors.
const PAUSE: Duration = Duration::from_millis(100);
/// Time for which a response is reused.
const FRESH: Nanos = 100_000_000;

/// Listens at an address.
///
/// # Errors
/// The address is in use or not of this machine; the error names it.
pub fn listen(address: SocketAddr) -> io::Result<Socket> {
    let open = || {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    };
    open().map_err(|error: io::Error| io::Error::new(error.kind(), format!("metrics on {address}: {error}")))
}

/// The thread that serves metrics.
#[derive(Debug)]
pub struct HttpThread {
    stop: Option<oneshot::Sender<()>>,
    thread: JoinHandle<()>,
}

impl HttpThread {
    /// Starts to serve.
    pub fn start(listener: Socket, source: impl Source) -> io::Result<HttpThread> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let (stop, stopped) = oneshot::channel();
        let endpoint = Endpoint { source: Box::new(source), clock: Clock::start(), last: Default::default() };
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener.into())?
        };
        // The end of the runtime ends its connections.
        let work = move || {
            runtime.block_on(async {
                let free = Arc::new(Semaphore::new(MOST));
                let accepting = tokio::spawn(accept(listener, Arc::new(endpoint), free.clone()));
                if stopped.await.is_ok() {
                    accepting.abort();
                    // Open connections have all permits that are not free.
                    let _ = free.acquire_many(MOST as u32).await;
                }
            });
        };
        let thread = std::thread::Builder::new().name("fanin-metrics".to_owned()).spawn(work)?;
        Ok(HttpThread { stop: Some(stop), thread })
    }

    /// Stops accepting, and ends after the open connections.
    pub fn stop_accepting(&mut self) {
        // It may have ended.
        let _ = self.stop.take().map(|stop| stop.send(()));
    }

    /// Ends it, with all connections; or waits for them if it has stopped accepting.
    pub fn end(self) {
        drop(self.stop);
        // A panic there has harmed nothing else.
        let _ = self.thread.join();
    }
}

/// Accepts connections, without end. If there are too many, the oldest of the address with most of them is closed for a new one.
async fn accept(listener: tokio::net::TcpListener, endpoint: Arc<Endpoint>, free: Arc<Semaphore>) {
    let mut open: Vec<(IpAddr, AbortHandle)> = Vec::new();
    loop {
        let Ok((stream, from)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        open.retain(|(_, connection)| !connection.is_finished());
        if open.len() >= MOST {
            let most = |(ip, _): &(IpAddr, AbortHandle)| open.iter().filter(|(other, _)| other == ip).count();
            // The first of several maxima is the oldest.
            let place = (0..open.len()).rev().max_by_key(|place| most(&open[*place])).unwrap_or(0);
            open.remove(place).1.abort();
        }
        // One that is closed has its permit until it is dropped.
        let Ok(permit) = free.clone().acquire_owned().await else { return };
        let endpoint = endpoint.clone();
        let connection = tokio::spawn(async move {
            // A client that breaks off or stalls is no error here.
            let _ = tokio::time::timeout(CONNECTION_TIME, connection(stream, endpoint)).await;
            drop(permit);
        });
        open.push((from.ip(), connection.abort_handle()));
    }
}

async fn connection(stream: TcpStream, endpoint: Arc<Endpoint>) -> Result<(), hyper::Error> {
    let service = service_fn(move |request: Request<Incoming>| {
        let response = endpoint.respond(&request);
        async move { Ok::<_, Infallible>(response) }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_buf_size(HEADER)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
        .await
}

/// Responses to requests.
#[derive(Debug)]
struct Endpoint {
    source: Box<dyn Source>,
    clock: Clock,
    /// The last response in each format, and its time.
    last: Mutex<[Option<(Nanos, Bytes)>; 3]>,
}

impl Endpoint {
    fn respond(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let is_get = [Method::GET, Method::HEAD].contains(request.method());
        match request.uri().path() {
            _ if !is_get => {
                let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "use GET\n");
                response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
                response
            }
            "/metrics" => self.metrics(request),
            "/healthz" => plain(StatusCode::OK, "OK\n"),
            "/ready" => match self.source.readiness() {
                Ok(()) => plain(StatusCode::OK, "ready\n"),
                Err(why) => plain(StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
            },
            _ => plain(StatusCode::NOT_FOUND, "use /metrics, /healthz or /ready\n"),
        }
    }

    fn metrics(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let accepted = request.headers().get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let (format, name) = Format::accepted(&accepted.collect::<Vec<_>>().join(","));
        let Ok(body) = self.body(format) else {
            return plain(StatusCode::INTERNAL_SERVER_ERROR, "metrics could not be written\n");
        };
        let mut response = Response::new(Full::new(body));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(name));
        response
    }

    fn body(&self, format: Format) -> Result<Bytes, std::fmt::Error> {
        let (now, mut last) = (self.clock.now(), self.last.lock().unwrap_or_else(PoisonError::into_inner));
        let last = &mut last[format as usize];
        if let Some((_, body)) = last.as_ref().filter(|(at, _)| now.saturating_sub(*at) < FRESH) {
            return Ok(body.clone());
        }
        let body = Bytes::from(encode(&*self.source, format)?);
        *last = Some((now, body.clone()));
        Ok(body)
    }
}

fn plain(status: StatusCode, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
