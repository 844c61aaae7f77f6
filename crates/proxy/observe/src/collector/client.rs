//! Requests to a collector, of threads that wait for it.

use std::error::Error;
use std::io;
use std::time::Duration;

use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderValue};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};

/// Longest time to send a batch.
const SEND_TIME: Duration = Duration::from_secs(5);
/// Largest response of a collector.
const LARGEST_RESPONSE: usize = 64 << 10;

/// A thread's runtime.
pub fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_io().enable_time().build()
}

/// Where a collector takes a signal.
pub fn endpoint(collector: &Uri, signal: &str) -> String {
    format!("{}/v1/{signal}", collector.to_string().trim_end_matches('/'))
}

/// Sends a request, within a limited time.
pub async fn send(request: Request<Bytes>) -> Result<Response<Bytes>, Box<dyn Error + Send + Sync>> {
    tokio::time::timeout(SEND_TIME, exchange(request)).await.map_err(|_| "it does not respond")?
}

/// Sends a request over a connection of its own, since batches are rare.
async fn exchange(mut request: Request<Bytes>) -> Result<Response<Bytes>, Box<dyn Error + Send + Sync>> {
    let host = request.uri().authority().map(ToString::to_string).unwrap_or_default();
    let (mut sender, connection) = http1::handshake(TokioIo::new(TcpStream::connect(&host).await?)).await?;
    let connection = tokio::spawn(connection);
    request.headers_mut().insert(HOST, HeaderValue::from_str(&host)?);
    *request.uri_mut() = request.uri().path().parse()?;
    let (head, body) = sender.send_request(request.map(Full::new)).await?.into_parts();
    let body = Limited::new(body, LARGEST_RESPONSE).collect().await?.to_bytes();
    drop(sender);
    // The response is complete, however the connection ends.
    let _ = connection.await;
    Ok(Response::from_parts(head, body))
}
