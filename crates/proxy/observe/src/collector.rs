//! OpenTelemetry collectors: their URLs, and requests to them.

#[cfg(feature = "collector")]
mod client;

pub use http::Uri;

#[cfg(feature = "collector")]
pub(crate) use client::{endpoint, runtime, send};

/// The URL of a collector: a host, a port and perhaps a path, and nothing else.
pub fn url(text: &str) -> Option<Uri> {
    text.parse().ok().filter(is_collector)
}

fn is_collector(url: &Uri) -> bool {
    let is_place = |place: &http::uri::Authority| {
        !place.host().is_empty() && place.port_u16().is_some() && !place.as_str().contains('@')
    };
    url.scheme_str() == Some("http") && url.query().is_none() && url.authority().is_some_and(is_place)
}
