//! `fanin cache`: the cache of finished runs.

use std::time::Duration;

use fanin::{Bytes, Pruning, Usage, user_cache};
use serde_json::json;

use crate::arguments::{CacheArguments, CacheCommand};
use crate::failure::Failure;

use crate::terminal::{fold, say};

/// Shows the cache, or prunes it.
pub fn cache(arguments: &CacheArguments) -> Result<(), Failure> {
    let Some(cache) = user_cache() else {
        return Err(Failure::Environment("this system has no default cache folder: set XDG_CACHE_HOME".into()));
    };
    let folder = cache.folder().display();
    let wrong = |error: std::io::Error| Failure::Environment(format!("the cache in {folder}: {error}"));
    let (pruned, usage) = match arguments.command {
        None => (None, cache.usage().map_err(wrong)?),
        Some(CacheCommand::Prune { all, older_than, to }) => {
            let pruning = Pruning {
                all,
                older_than: older_than.map(|days| Duration::from_hours(24) * days),
                to_bytes: to.map(|Bytes(bytes)| bytes),
            };
            (Some(cache.prune(pruning).map_err(wrong)?), cache.usage().map_err(wrong)?)
        }
    };
    if arguments.json {
        let list = |usage: &[Usage]| {
            let entry = |u: &Usage| json!({"engine": u.engine, "current": u.current, "runs": u.runs, "bytes": u.bytes});
            usage.iter().map(entry).collect::<Vec<_>>()
        };
        let folder = folder.to_string();
        let object = json!({"folder": folder, "engines": list(&usage), "pruned": pruned.as_deref().map(list)});
        return say(&format!("{object}\n"));
    }
    let mut text = String::new();
    if let Some(pruned) = pruned {
        text += &format!("removed {}\n", total(&pruned));
    }
    text += &format!("{folder} keeps {}\n", total(&usage));
    for engine in &usage {
        let whose = if engine.current { "this version" } else { "another version; `fanin cache prune` removes it" };
        text += &format!("  {}  {}  ({whose})\n", engine.engine, total(std::slice::from_ref(engine)));
    }
    say(&fold(&text))
}

fn total(usage: &[Usage]) -> String {
    let runs: usize = usage.iter().map(|u| u.runs).sum();
    let bytes: u64 = usage.iter().map(|u| u.bytes).sum();
    format!("{runs} {}, {:.1} MB", if runs == 1 { "run" } else { "runs" }, bytes as f64 / 1e6)
}
