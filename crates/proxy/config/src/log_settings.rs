//! Settings of the request log.

use std::ops::Range;
use std::path::PathBuf;

use fanin_units::{Bytes, Share};
use serde::Deserialize;
use toml::Spanned;

use super::values::{Written, Wrong, bounded, quantity, right, word};
use fanin_proxy_observe::log::{self, Naming, Secret};

/// The log in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogInFile {
    file: Spanned<PathBuf>,
    share: Option<Spanned<Written>>,
    keys: Option<Spanned<String>>,
    secret: Option<Spanned<PathBuf>>,
    size: Option<Spanned<Written>>,
    files: Option<Spanned<i64>>,
}

/// Converts it.
pub fn log_in_file(file: LogInFile) -> Result<log::Settings, Wrong> {
    let hashed = word(file.keys, true, &[("hashed", true), ("plain", false)])?;
    let place = file.file.span();
    let path = log_file(file.file.into_inner(), Some(place))?;
    let mut log = match (hashed, file.secret) {
        (true, secret) => of_file(path, None, secret)?,
        (false, None) => of_file(path, Some(Naming::Plain), None)?,
        (false, Some(secret)) => {
            return Err(Wrong(Some(secret.span()), "keys are plain: remove the secret".to_owned()));
        }
    };
    let place = file.share.as_ref().map(Spanned::span);
    log.share = quantity(file.share, log.share, right("share", "1 %", "%"))?;
    if !(1..=1 << 30).contains(&log.share.in_q(30)) {
        return Err(Wrong(place, "the share must be above 0 and at most 1, such as share = \"1 %\"".to_owned()));
    }
    log.size = bounded(file.size, log.size, right("size", "256 MiB", "MiB"), Bytes(1 << 20)..=Bytes(1 << 40))?;
    if let Some(files) = file.files {
        let right = (1..=1000).contains(files.get_ref());
        let wrong = || Wrong(Some(files.span()), format!("{} is outside 1 to 1000", files.get_ref()));
        log.files = right.then(|| *files.get_ref() as usize).ok_or_else(wrong)?;
    }
    Ok(log)
}

/// Checks that the log's name ends in `.csv`.
pub fn log_file(file: PathBuf, place: Option<Range<usize>>) -> Result<PathBuf, Wrong> {
    let is_table = file.extension().is_some_and(|ending| ending == "csv");
    let wrong = || Wrong(place, "the log is a CSV file: use a name that ends in .csv".to_owned());
    is_table.then_some(file).ok_or_else(wrong)
}

/// Log settings with defaults: the secret is a file beside the log, created if it does not exist.
pub fn of_file(
    file: PathBuf,
    naming: Option<Naming>,
    secret: Option<Spanned<PathBuf>>,
) -> Result<log::Settings, Wrong> {
    let file = log_file(file, None)?;
    let naming = match naming {
        Some(naming) => naming,
        None => {
            let place = secret.as_ref().map(Spanned::span);
            let path = secret.map_or_else(|| file.with_extension("secret"), Spanned::into_inner);
            let wrong = |error| Wrong(place, format!("{}: {error}; use a file of at least 16 B", path.display()));
            Naming::Hashed(Secret::of_file(&path).map_err(wrong)?)
        }
    };
    Ok(log::Settings { file, share: Share::of(1, 100), naming, size: Bytes(256 << 20), files: 4 })
}
