//! twemproxy's `nutcracker.yml`: a map of pools.

use super::super::values;
use super::converted::{Converted, Pool, number, quoted, scalar, timeout};
use super::tree::{Entry, Node, Wrong};
use fanin_proxy_routing::Hash;

/// Keys of a pool, in twemproxy's order.
const KEYS: [&str; 18] = [
    "listen",
    "hash",
    "hash_tag",
    "distribution",
    "timeout",
    "backlog",
    "client_connections",
    "tcpkeepalive",
    "redis",
    "redis_auth",
    "redis_db",
    "preconnect",
    "auto_eject_hosts",
    "server_connections",
    "server_retry_timeout",
    "server_failure_limit",
    "servers",
    "reuseport",
];

/// Converts a file.
pub fn convert(tree: &Node) -> Result<Converted, Wrong> {
    let wrong = || Wrong::at(tree.line, "not a map of pools: write `NAME:` with its settings below".to_owned());
    let mut converted = Converted::default();
    let mut clients = Some(0);
    for Entry { line, key, node } in tree.entries().ok_or_else(wrong)? {
        let Some(entries) = node.entries() else {
            return Err(Wrong::at(*line, format!("`{key}` is not a pool: write its settings below it")));
        };
        let (pool, limit) = pool(key, *line, entries, &mut converted)?;
        converted.pools.extend(pool);
        clients = clients.zip(limit).map(|(sum, limit)| sum + limit);
    }
    if converted.pools.is_empty() && converted.notes.is_empty() {
        return Err(wrong());
    }
    if let Some(clients) = clients.filter(|clients| *clients > 0) {
        converted.settings.push(("clients", clients.clamp(1, 10_000_000).to_string()));
    }
    Ok(converted)
}

/// Converts a pool; returns also its limit of clients. None for one that no front end can serve.
fn pool(
    name: &str,
    line: usize,
    entries: &[Entry],
    converted: &mut Converted,
) -> Result<(Option<Pool>, Option<u64>), Wrong> {
    let mut pool = Pool { name: name.to_owned(), ..Pool::default() };
    let (mut clients, mut serves, mut ejects_in) = (None, true, None);
    for Entry { line, key, node } in entries {
        let (line, key) = (*line, key.as_str());
        match key {
            "listen" => pool.listen = listen(node, converted)?,
            "servers" => pool.servers = servers(node)?,
            "timeout" => pool.settings.push(("timeout", timeout(key, node, converted)?)),
            "hash" => pool.settings.push(("hash", hash(node)?)),
            "client_connections" => clients = Some(number(key, node)?).filter(|limit| *limit > 0),
            "distribution" => match scalar(key, node)? {
                "ketama" => pool.settings.push(("placement", quoted("ketama"))),
                other @ ("modula" | "random") => {
                    let text = format!(
                        "`distribution: {other}`: keys go to other servers here, by ketama; start with an empty cache, or change \
                         nutcracker to ketama first"
                    );
                    pool.comments.push(text.clone());
                    converted.matters(line, text);
                }
                other => return Err(unknown_value(key, other, node, "ketama, modula, random")),
            },
            "redis" if boolean(key, node)? => {
                converted.matters(
                    line,
                    format!("`redis: true`: only memcached's text protocol is served; `{name}` is left out"),
                );
                serves = false;
            }
            "auto_eject_hosts" if boolean(key, node)? => ejects_in = Some(line),
            _ => other(line, key, node, converted)?,
        }
    }
    let lacks = |what: &str| Err(Wrong::at(line, format!("the pool `{name}` has no `{what}`")));
    match (serves, pool.listen.is_empty(), pool.servers.is_empty()) {
        (false, ..) => return Ok((None, None)),
        (_, true, _) => return lacks("listen"),
        (.., true) => return lacks("servers"),
        _ => {}
    }
    if let Some(line) = ejects_in {
        ejects(line, &mut pool, converted);
    }
    if !entries.iter().any(|entry| entry.key == "timeout") {
        converted
            .harmless(line, format!("`{name}` has no `timeout`: nutcracker waits without end, this front end 1 s"));
    }
    Ok((Some(pool), clients))
}

/// Settings that have no equivalent.
fn other(line: usize, key: &str, node: &Node, converted: &mut Converted) -> Result<(), Wrong> {
    let ejects =
        "a server that is down is tried again after 50 ms to 2 s, and ejected when it fails twice in succession";
    let harmless = match key {
        "redis" | "auto_eject_hosts" => return Ok(()),
        "hash_tag" => {
            let tag = scalar(key, node)?;
            converted.matters(
                line,
                format!("`hash_tag: {tag}`: whole keys are hashed, so keys with a tag go to other servers here"),
            );
            return Ok(());
        }
        "redis_auth" => {
            converted.matters(line, "`redis_auth`: clients are not asked for a password; restrict access to `listen`");
            return Ok(());
        }
        "redis_db" => "servers are memcached's, without databases",
        "backlog" => "the backlog is 4096, or the system's limit",
        "preconnect" if boolean(key, node)? => return Ok(()),
        "preconnect" => "servers are connected at startup",
        "tcpkeepalive" => "keepalives are not sent; `idle_timeout` closes idle clients",
        "reuseport" => "threads share an address by SO_REUSEPORT",
        "server_connections" if number(key, node)? == 1 => return Ok(()),
        "server_connections" => "each thread has one connection to every server: set `threads`",
        "server_retry_timeout" | "server_failure_limit" => ejects,
        _ => {
            return Err(Wrong::at(line, format!("unknown key `{key}`: nutcracker has {}", KEYS.join(", "))));
        }
    };
    converted.harmless(line, format!("`{key}`: {harmless}"));
    Ok(())
}

/// Servers that are ejected. One alone stays.
fn ejects(line: usize, pool: &mut Pool, converted: &mut Converted) {
    if pool.servers.len() > 1 {
        pool.settings.push(("on_down", quoted("next")));
    }
    converted.harmless(
        line,
        "`auto_eject_hosts: true`: `on_down = \"next\"` ejects a server that fails twice in succession, and deletes there what changed \
         meanwhile when it is back",
    );
}

/// An address: `host:port`, or a UNIX socket with or without its mode.
fn listen(node: &Node, converted: &mut Converted) -> Result<String, Wrong> {
    let text = scalar("listen", node)?;
    let wrong = |why: String| Wrong::at(node.line, why);
    if text.starts_with('/') {
        let (path, mode) = text.split_once(' ').unwrap_or((text, ""));
        values::address(&format!("unix:{path}")).map_err(wrong)?;
        if !mode.is_empty() {
            converted
                .harmless(node.line, format!("`listen`: set the mode {mode} of {path} by the folder, or by umask"));
        }
        return Ok(format!("unix:{path}"));
    }
    let text = if text.starts_with(':') { format!("0.0.0.0{text}") } else { text.to_owned() };
    values::address(&text).map_err(wrong)?;
    Ok(text)
}

fn servers(node: &Node) -> Result<Vec<String>, Wrong> {
    let wrong = || Wrong::at(node.line, "`servers` must be a list such as `- 10.0.0.1:11211:1`".to_owned());
    let items = node.items().filter(|items| !items.is_empty()).ok_or_else(wrong)?;
    items
        .iter()
        .map(|item| {
            let text = scalar("servers", item)?;
            let text = if text.starts_with('/') { format!("unix:{text}") } else { text.to_owned() };
            values::server(&text).map(|_| text).map_err(|why| Wrong::at(item.line, why))
        })
        .collect()
}

fn hash(node: &Node) -> Result<String, Wrong> {
    let text = scalar("hash", node)?;
    let known = Hash::WORDS.map(|(word, _)| word);
    if known.contains(&text) { Ok(quoted(text)) } else { Err(unknown_value("hash", text, node, &known.join(", "))) }
}

fn boolean(key: &str, node: &Node) -> Result<bool, Wrong> {
    match scalar(key, node)? {
        "true" => Ok(true),
        "false" => Ok(false),
        other => Err(unknown_value(key, other, node, "true, false")),
    }
}

fn unknown_value(key: &str, text: &str, node: &Node, known: &str) -> Wrong {
    Wrong::at(node.line, format!("unknown value `{key}: {text}`: use one of {known}"))
}

#[cfg(test)]
mod tests {
    use super::super::tree::yaml;
    use super::*;

    #[test]
    fn unix_sockets_are_addresses() {
        for (text, address, notes) in
            [("/run/a.sock", "unix:/run/a.sock", 0), ("/run/a.sock 0666", "unix:/run/a.sock", 1)]
        {
            let mut converted = Converted::default();
            assert_eq!(listen(&yaml(text).unwrap(), &mut converted).unwrap(), address);
            assert_eq!(converted.notes.len(), notes);
        }
    }
}
