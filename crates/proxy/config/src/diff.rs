//! Differences between two configuration files: what a reload would change, and what share of the keys would move.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::types::{Pool, Problem, Settings};

/// Number of keys by which placements are compared: the share is exact to about 0.3 %.
const KEYS: u32 = 100_000;

/// The text of a configuration file, with its name for messages.
#[derive(Clone, Copy)]
pub struct ConfigText<'a> {
    /// Name in messages.
    pub name: &'a str,
    /// Content.
    pub text: &'a str,
}

/// Describes the changes from one file to another, a line each; none if there are none.
///
/// # Errors
/// One of the files is not valid.
pub fn diff(old: ConfigText<'_>, new: ConfigText<'_>) -> Result<Vec<String>, Problem> {
    let [before, after] = [Settings::of_file(old.name, old.text)?, Settings::of_file(new.name, new.text)?];
    let [old, new] = [old, new].map(|config| config.text.parse::<Table>().unwrap_or_default());
    let mut lines = changed_keys("", &old, &new);
    let old_pools: Vec<&Pool> = before.pools.iter().collect();
    let mut continued = Vec::new();
    for (number, pool) in after.pools.iter().enumerate() {
        let Some(place) = pool.predecessor(&after.pools, &old_pools) else {
            lines.push(format!("pool {}: added", pool.name));
            continue;
        };
        continued.push(place);
        let tables = [(&old, place), (&new, number)].map(|(file, pool)| pool_table(file, pool));
        lines.extend(changed_keys(&format!("pool {}: ", pool.name), &tables[0], &tables[1]));
        lines.extend(changed_servers(&before.pools[place], pool));
    }
    let removed = (0..before.pools.len()).filter(|place| !continued.contains(place));
    lines.extend(removed.map(|place| format!("pool {}: removed", before.pools[place].name)));
    Ok(lines)
}

/// Keys of a pool in a file, without its servers.
fn pool_table(file: &Table, number: usize) -> Table {
    let pools = file.get("pool").and_then(Value::as_array);
    let mut table = pools.and_then(|pools| pools.get(number)?.as_table()).cloned().unwrap_or_default();
    table.remove("servers");
    table
}

/// Changes of keys other than pools.
fn changed_keys(prefix: &str, old: &Table, new: &Table) -> Vec<String> {
    let mut both: BTreeMap<&str, [Option<&Value>; 2]> = BTreeMap::new();
    for (side, table) in [old, new].into_iter().enumerate() {
        for (key, value) in table.iter().filter(|(key, _)| *key != "pool") {
            both.entry(key).or_default()[side] = Some(value);
        }
    }
    let written = |value: Option<&Value>| value.map_or_else(|| "default".to_owned(), Value::to_string);
    let changed = both.into_iter().filter(|(_, [old, new])| old != new);
    changed.map(|(key, [old, new])| format!("{prefix}{key}: {} -> {}", written(old), written(new))).collect()
}

/// Changes of a pool's servers, and the share of keys that get another server.
fn changed_servers(old: &Pool, new: &Pool) -> Vec<String> {
    let prefix = format!("pool {}: ", new.name);
    let mut lines = Vec::new();
    for server in &new.servers {
        let (name, weight) = (&server.weighted.name, server.weighted.weight);
        match old.servers.iter().find(|other| other.is_same_server(server)) {
            None => lines.push(format!("{prefix}server {name} added with weight {weight}")),
            Some(other) if other.weighted.weight != weight => {
                lines.push(format!("{prefix}server {name}: weight {} -> {weight}", other.weighted.weight));
            }
            Some(_) => {}
        }
    }
    let is_gone = |server: &&super::Server| !new.servers.iter().any(|other| other.is_same_server(server));
    lines.extend(
        old.servers.iter().filter(is_gone).map(|gone| format!("{prefix}server {} removed", gone.weighted.name)),
    );
    let (before, after) = (old.router(), new.router());
    let moves = |key: &u32| {
        let key = format!("key:{key}");
        let [from, to] = [&old.servers[before.server(key.as_bytes())], &new.servers[after.server(key.as_bytes())]];
        !from.is_same_server(to)
    };
    let moved = (0..KEYS).filter(moves).count();
    if moved > 0 {
        lines.push(format!(
            "{prefix}{:.1} % of the keys move to another server",
            moved as f64 * 100.0 / f64::from(KEYS)
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config<'a>(name: &'a str, text: &'a str) -> ConfigText<'a> {
        ConfigText { name, text }
    }

    fn pool(listen: u16, servers: &[&str], more: &str) -> String {
        format!("[[pool]]\nname = \"p{listen}\"\nlisten = \"127.0.0.1:{listen}\"\nservers = {servers:?}\n{more}")
    }

    #[test]
    fn lists_changed_keys_pools_servers_and_moved_share() {
        let old = pool(1, &["10.0.0.1:11211", "10.0.0.2:11211", "10.0.0.3:11211"], "timeout = \"1 s\"\n")
            + &pool(2, &["10.0.0.9:1"], "");
        let new = "batching_delay = \"0 s\"\n".to_owned()
            + &pool(1, &["10.0.0.1:11211", "10.0.0.2:11211:2", "10.0.0.4:11211"], "timeout = \"300 ms\"\n")
            + &pool(3, &["10.0.0.9:1"], "");
        let lines = diff(config("old.toml", &old), config("new.toml", &new)).unwrap();
        let moved = lines[5].split(' ').nth(2).unwrap().parse::<f64>().unwrap();
        // A server of a quarter of the points has come in place of a third, and another one has a half.
        assert!((40.0..70.0).contains(&moved), "{moved}");
        assert_eq!(
            [&lines[..5], &lines[6..]].concat(),
            [
                "batching_delay: default -> \"0 s\"",
                "pool p1: timeout: \"1 s\" -> \"300 ms\"",
                "pool p1: server 10.0.0.2: weight 1 -> 2",
                "pool p1: server 10.0.0.4 added with weight 1",
                "pool p1: server 10.0.0.3 removed",
                "pool p3: added",
                "pool p2: removed",
            ]
        );
        assert_eq!(diff(config("old.toml", &old), config("old.toml", &old)).unwrap(), [""; 0]);
        assert!(
            diff(config("old.toml", &old), config("new.toml", "x = 1"))
                .unwrap_err()
                .to_string()
                .starts_with("new.toml:1: ")
        );
    }

    #[test]
    fn added_server_moves_its_share() {
        let servers: Vec<String> = (1..=10).map(|server| format!("10.0.0.{server}:11211")).collect();
        let names: Vec<&str> = servers.iter().map(String::as_str).collect();
        let lines = diff(config("a", &pool(1, &names[..9], "")), config("b", &pool(1, &names, ""))).unwrap();
        let moved = lines[1].split(' ').nth(2).unwrap().parse::<f64>().unwrap();
        assert!((8.0..12.0).contains(&moved), "{moved}");
    }
}
