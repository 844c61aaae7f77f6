//! Settings of messages for operators.

use http::Uri;
use serde::Deserialize;
use toml::Spanned;

use super::values::{Wrong, word};
use fanin_proxy_observe::messages::{self, Format};

/// Messages in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessagesInFile {
    format: Option<Spanned<String>>,
    otlp: Option<Spanned<String>>,
}

/// Converts them.
pub fn messages_in_file(file: MessagesInFile) -> Result<messages::Settings, Wrong> {
    let format = word(file.format, Format::default(), &Format::WORDS)?;
    let otlp = file.otlp.map(|url| collector(url.get_ref()).map_err(|why| Wrong(Some(url.span()), why))).transpose()?;
    Ok(messages::Settings { format, otlp })
}

/// Parses the URL of an OpenTelemetry collector.
fn collector(url: &str) -> Result<Uri, String> {
    if !messages::EXPORTS {
        return Err(
            "this build has no OpenTelemetry: build it with `--features opentelemetry`, or remove the line".to_owned()
        );
    }
    url.parse().ok().filter(is_collector).ok_or_else(|| {
        format!("`{url}` is not the URL of a collector: use http://host:port, such as otlp = \"http://127.0.0.1:4318\"")
    })
}

/// Whether a URL has a host, a port and perhaps a path, and nothing else.
fn is_collector(url: &Uri) -> bool {
    let is_place = |place: &http::uri::Authority| {
        !place.host().is_empty() && place.port_u16().is_some() && !place.as_str().contains('@')
    };
    url.scheme_str() == Some("http") && url.query().is_none() && url.authority().is_some_and(is_place)
}
