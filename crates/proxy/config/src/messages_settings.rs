//! Settings of messages for operators.

use http::Uri;
use serde::Deserialize;
use toml::Spanned;

use super::values::{Wrong, word};
use fanin_proxy_observe::collector;
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
    let otlp = file.otlp.map(|url| parsed(url.get_ref()).map_err(|why| Wrong(Some(url.span()), why))).transpose()?;
    Ok(messages::Settings { format, otlp })
}

/// Parses the URL of an OpenTelemetry collector.
fn parsed(url: &str) -> Result<Uri, String> {
    if !messages::EXPORTS {
        return Err(
            "this build has no OpenTelemetry: build it with `--features opentelemetry`, or remove the line".to_owned()
        );
    }
    collector::url(url).ok_or_else(|| {
        format!("`{url}` is not the URL of a collector: use http://host:port, such as otlp = \"http://127.0.0.1:4318\"")
    })
}
