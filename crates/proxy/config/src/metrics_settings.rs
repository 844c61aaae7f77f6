//! Settings of the metrics that Prometheus reads.

use std::net::SocketAddr;

use serde::Deserialize;
use toml::Spanned;

use super::types::MetricsSettings;
use super::values::{Wrong, ip_address};

/// Maximum number of hot keys.
const MOST_HOT_KEYS: i64 = 100;

/// The metrics in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricsInFile {
    listen: Spanned<String>,
    hot_keys: Option<Spanned<i64>>,
}

/// The address to listen on.
pub fn listens(listen: &Spanned<String>) -> Result<SocketAddr, Wrong> {
    ip_address(listen.get_ref()).map_err(|why| Wrong(Some(listen.span()), why))
}

/// Converts them.
pub fn metrics_in_file(file: MetricsInFile) -> Result<MetricsSettings, Wrong> {
    let listen = listens(&file.listen)?;
    let hot_keys = match file.hot_keys {
        None => 0,
        Some(number) if (0..=MOST_HOT_KEYS).contains(number.get_ref()) => *number.get_ref() as usize,
        Some(number) => {
            return Err(Wrong(
                Some(number.span()),
                format!("{} is outside 0 to {MOST_HOT_KEYS}; use a value such as hot_keys = 20", number.get_ref()),
            ));
        }
    };
    Ok(MetricsSettings { listen, hot_keys })
}
