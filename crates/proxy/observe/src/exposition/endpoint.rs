//! Responses of the metrics' endpoint to requests.

use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use http::header::{ACCEPT, ALLOW, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, DATE};
use http::{Method, StatusCode, Uri};
use httparse::{EMPTY_HEADER, Status};

use super::source::{Format, Source, encode};
use fanin_proxy_core::clock::{Clock, Nanos, unix};

/// Maximum size of a request's header.
pub const HEADER: usize = 8192;
/// Maximum number of its fields.
const FIELDS: usize = 100;
/// Time for which a response is reused.
const FRESH: Nanos = 100_000_000;

/// Responses to requests, from metrics that are reused for a moment.
#[derive(Debug)]
pub struct Endpoint {
    source: Box<dyn Source>,
    clock: Clock,
    /// The last metrics in each format, and their time.
    last: [Option<(Nanos, Arc<[u8]>)>; 3],
}

/// A response.
#[derive(Debug)]
pub struct Response {
    /// Status line and header.
    pub head: String,
    /// Body; empty for `HEAD`.
    pub body: Arc<[u8]>,
}

/// Status, type of the content, and content.
type Content = (StatusCode, &'static str, Arc<[u8]>);

impl Endpoint {
    /// Responses with these metrics.
    pub fn new(source: impl Source) -> Endpoint {
        Endpoint { source: Box::new(source), clock: Clock::start(), last: Default::default() }
    }

    /// The response to the bytes of a client; none as long as the header is not complete.
    pub fn respond(&mut self, bytes: &[u8]) -> Option<Response> {
        let mut fields = [EMPTY_HEADER; FIELDS];
        let mut request = httparse::Request::new(&mut fields);
        let refused = match request.parse(bytes) {
            Ok(Status::Complete(_)) => None,
            Ok(Status::Partial) if bytes.len() < HEADER => return None,
            Ok(Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
                Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE)
            }
            Err(_) => Some(StatusCode::BAD_REQUEST),
        };
        if let Some(status) = refused {
            return Some(response(plain(status, ""), true));
        }
        let method = request.method.unwrap_or_default();
        let has_body = method != Method::HEAD.as_str();
        if has_body && method != Method::GET.as_str() {
            return Some(response(plain(StatusCode::METHOD_NOT_ALLOWED, "use GET\n"), true));
        }
        let content = match request.path.unwrap_or_default().parse::<Uri>() {
            Err(_) => plain(StatusCode::BAD_REQUEST, ""),
            Ok(uri) => match uri.path() {
                "/metrics" => self.metrics(request.headers),
                "/healthz" => plain(StatusCode::OK, "OK\n"),
                "/ready" => match self.source.readiness() {
                    Ok(()) => plain(StatusCode::OK, "ready\n"),
                    Err(why) => plain(StatusCode::SERVICE_UNAVAILABLE, &format!("{why}\n")),
                },
                _ => plain(StatusCode::NOT_FOUND, "use /metrics, /healthz or /ready\n"),
            },
        };
        Some(response(content, has_body))
    }

    fn metrics(&mut self, fields: &[httparse::Header<'_>]) -> Content {
        let accepted = fields.iter().filter(|field| field.name.eq_ignore_ascii_case(ACCEPT.as_str()));
        let accepted: Vec<&str> = accepted.filter_map(|field| std::str::from_utf8(field.value).ok()).collect();
        let (format, name) = Format::accepted(&accepted.join(","));
        match self.body(format) {
            Ok(body) => (StatusCode::OK, name, body),
            Err(_) => plain(StatusCode::INTERNAL_SERVER_ERROR, "metrics could not be written\n"),
        }
    }

    fn body(&mut self, format: Format) -> Result<Arc<[u8]>, std::fmt::Error> {
        let (now, last) = (self.clock.now(), &mut self.last[format as usize]);
        if let Some((_, body)) = last.as_ref().filter(|(at, _)| now.saturating_sub(*at) < FRESH) {
            return Ok(body.clone());
        }
        let body: Arc<[u8]> = encode(&*self.source, format)?.into();
        *last = Some((now, body.clone()));
        Ok(body)
    }
}

fn plain(status: StatusCode, text: &str) -> Content {
    (status, "text/plain; charset=utf-8", text.as_bytes().into())
}

/// A response with its header, of which the connection is closed afterwards.
fn response(content: Content, has_body: bool) -> Response {
    let (status, kind, body) = content;
    let mut head = format!("HTTP/1.1 {status}\r\n");
    let date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_nanos(unix()));
    let length = body.len().to_string();
    let allowed = (ALLOW, "GET, HEAD");
    let fields = [(CONTENT_TYPE, kind), (CONTENT_LENGTH, &length), (CONNECTION, "close"), (DATE, &date)];
    let allowed = (status == StatusCode::METHOD_NOT_ALLOWED).then_some(allowed);
    for (name, value) in fields.into_iter().chain(allowed) {
        // Writing to a string cannot fail.
        let _ = write!(head, "{name}: {value}\r\n");
    }
    head.push_str("\r\n");
    Response { head, body: if has_body { body } else { Arc::default() } }
}

#[cfg(test)]
mod tests {
    use super::super::family::{Family, gauge};
    use super::*;

    #[derive(Debug)]
    struct Fixed;

    impl Source for Fixed {
        fn readiness(&self) -> Result<(), String> {
            Err("draining".to_owned())
        }

        fn families(&self) -> Vec<Family> {
            vec![gauge("a", "A gauge", 3.0)]
        }
    }

    fn ask(request: &str) -> Option<(String, String)> {
        let Response { head, body } = Endpoint::new(Fixed).respond(request.as_bytes())?;
        Some((head, String::from_utf8_lossy(&body).into_owned()))
    }

    #[test]
    fn status_follows_method_and_path() {
        for (request, status, body) in [
            ("GET /metrics HTTP/1.1\r\n\r\n", 200, "# HELP a A gauge\n# TYPE a gauge\na 3.0\n"),
            ("GET /metrics?a=b HTTP/1.0\r\nHost: x\r\n\r\n", 200, "# HELP a A gauge\n# TYPE a gauge\na 3.0\n"),
            ("GET http://host:1/healthz HTTP/1.1\r\n\r\n", 200, "OK\n"),
            ("HEAD /healthz HTTP/1.1\r\n\r\n", 200, ""),
            ("GET /ready HTTP/1.1\r\n\r\n", 503, "draining\n"),
            ("GET / HTTP/1.1\r\n\r\n", 404, "use /metrics, /healthz or /ready\n"),
            ("DELETE /metrics HTTP/1.1\r\n\r\n", 405, "use GET\n"),
            ("get\r\n\r\n", 400, ""),
            ("PRI * HTTP/2.0\r\n\r\n", 400, ""),
        ] {
            let (head, found) = ask(request).unwrap();
            assert!(head.starts_with(&format!("HTTP/1.1 {status} ")) && head.ends_with("\r\n\r\n"), "{head}");
            assert_eq!(head.contains("allow: GET, HEAD\r\n"), status == 405);
            assert_eq!(found, body, "{request}");
        }
        assert!(ask("HEAD /healthz HTTP/1.1\r\n\r\n").unwrap().0.contains("content-length: 3\r\n"));
    }

    #[test]
    fn header_has_a_limit() {
        let fields = |count: usize| "A: b\r\n".repeat(count);
        let request = |fields: &str| format!("GET /healthz HTTP/1.1\r\n{fields}\r\n");
        assert!(ask(&request(&fields(FIELDS))).unwrap().0.starts_with("HTTP/1.1 200 "));
        assert!(ask(&request(&fields(FIELDS + 1))).unwrap().0.starts_with("HTTP/1.1 431 "));
        let unfinished = |size: usize| format!("GET /healthz HTTP/1.1\r\nA: {}", "x".repeat(size - 26));
        assert!(ask(&unfinished(HEADER - 1)).is_none());
        assert!(ask(&unfinished(HEADER)).unwrap().0.starts_with("HTTP/1.1 431 "));
    }
}
