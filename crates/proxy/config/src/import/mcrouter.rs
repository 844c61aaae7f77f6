//! mcrouter's JSON: pools, and a tree of routes.
//!
//! A pool that a route sends keys to becomes a pool. mcrouter's hashes of keys are its own, so only the keys of a pool of one server stay
//! where they are.

use std::collections::BTreeSet;

use super::super::values;
use super::converted::{Converted, Pool, scalar, timeout};
use super::tree::{Entry, Node, Wrong};

/// Port of the first pool: mcrouter has its own on the command line.
const FIRST_PORT: usize = 5000;
/// Routes that send every key of a pool to one of its servers.
const OF_POOLS: [&str; 3] = ["PoolRoute", "HashRoute", "Pool"];
/// Routes without a child.
const ENDS: [&str; 3] = ["NullRoute", "ErrorRoute", "DevNullRoute"];
/// Keys of a route whose values are routes, or lists or maps of routes.
const CHILDREN: [&str; 18] = [
    "children",
    "child",
    "target",
    "route",
    "normal",
    "failover",
    "primary",
    "from",
    "to",
    "warm",
    "cold",
    "fast",
    "slow",
    "wildcard",
    "policies",
    "default_policy",
    "operation_policies",
    "default",
];

/// Replacement for a kind of route.
fn advice(kind: &str) -> &'static str {
    match kind {
        kind if kind.starts_with("All") => {
            "with `replicas`, every key is on several servers of one pool; this is not converted"
        }
        kind if kind.contains("Failover") => {
            "there is no failover to another pool: with `on_down = \"next\"` or `replicas`, other servers of the same pool answer"
        }
        "PrefixSelectorRoute" => "a pool has an address of its own: give the clients of each prefix that of their pool",
        "OperationSelectorRoute" => "a pool serves all operations",
        "WarmUpRoute" | "MigrateRoute" => "a pool with a `plan` migrates keys between its own servers",
        _ => "there is no such route here; remove it, or keep mcrouter for these keys",
    }
}

/// Conversion in progress.
struct Import<'a> {
    root: &'a Node,
    /// Names of route handles.
    handles: BTreeSet<&'a str>,
    /// Pools that routes use, in this order.
    used: Vec<&'a str>,
    converted: Converted,
}

/// Converts a file.
pub fn convert(root: &Node) -> Result<Converted, Wrong> {
    let Some(entries) = root.entries() else { return Err(Wrong::at(root.line, "not a JSON object".to_owned())) };
    let mut handles = BTreeSet::new();
    names(root, &mut handles);
    let mut import = Import { root, handles, used: Vec::new(), converted: Converted::default() };
    let mut routes = false;
    for Entry { line, key, node } in entries {
        match key.as_str() {
            "pools" if node.entries().is_some() => {}
            "pools" => return Err(Wrong::at(*line, "`pools` must be an object".to_owned())),
            "route" => {
                routes = true;
                import.route(node)?;
            }
            "routes" => {
                routes = true;
                import.prefixed(node)?;
            }
            "named_handles" => import.children(node)?,
            "macros" | "consts" => {
                return Err(Wrong::at(
                    *line,
                    format!("`{key}` is not evaluated: import the file that results from it"),
                ));
            }
            _ => import.converted.matters(*line, format!("`{key}`: there is no such setting here")),
        }
    }
    if !routes {
        return Err(Wrong::at(root.line, "no route: add \"route\": \"PoolRoute|NAME\"".to_owned()));
    }
    import.pools()?;
    Ok(import.converted)
}

/// Collects names of route handles.
fn names<'a>(node: &'a Node, found: &mut BTreeSet<&'a str>) {
    if node.get("type").is_some() {
        found.extend(node.get("name").and_then(Node::text));
    }
    node.entries().unwrap_or_default().iter().for_each(|entry| names(&entry.node, found));
    node.items().unwrap_or_default().iter().for_each(|item| names(item, found));
}

impl<'a> Import<'a> {
    /// Routes by prefixes of keys.
    fn prefixed(&mut self, node: &'a Node) -> Result<(), Wrong> {
        let wrong = || Wrong::at(node.line, "`routes` must be a list of objects with `aliases` and `route`".to_owned());
        for item in node.items().ok_or_else(wrong)? {
            self.route(item.get("route").ok_or_else(wrong)?)?;
        }
        let text =
            "`routes`: routing prefixes are not removed from keys: give each group of clients the address of its pool";
        self.converted.matters(node.line, text);
        Ok(())
    }

    /// A route: a text such as `PoolRoute|A`, the name of another, or an object.
    fn route(&mut self, node: &'a Node) -> Result<(), Wrong> {
        if let Some(text) = node.text() {
            return self.short(node.line, text);
        }
        let kind = node.get("type").and_then(Node::text);
        let wrong = || Wrong::at(node.line, "a route needs a `type`, such as \"PoolRoute\"".to_owned());
        let kind = kind.ok_or_else(wrong)?;
        if OF_POOLS.contains(&kind) {
            return self.of_pool(kind, node);
        }
        self.unmapped(node.line, kind);
        node.entries()
            .unwrap_or_default()
            .iter()
            .filter(|entry| CHILDREN.contains(&entry.key.as_str()))
            .try_for_each(|entry| self.children(&entry.node))
    }

    /// A route as text, such as `AllSyncRoute|PoolRoute|A`.
    fn short(&mut self, line: usize, text: &'a str) -> Result<(), Wrong> {
        if text.contains(['%', '@']) {
            return Err(Wrong::at(
                line,
                format!("`{text}`: macros are not evaluated: import the file that results from them"),
            ));
        }
        let mut route = text;
        while let Some((kind, rest)) = route.split_once('|') {
            if OF_POOLS.contains(&kind) {
                // `HashRoute|Pool|A` is a pool, too.
                return self.uses(line, rest.strip_prefix("Pool|").unwrap_or(rest));
            }
            self.unmapped(line, kind);
            route = rest;
        }
        if ENDS.contains(&route) {
            self.unmapped(line, route);
            return Ok(());
        }
        let is_named = self.handles.contains(route);
        is_named.then_some(()).ok_or_else(|| Wrong::at(line, format!("no route is named `{route}`")))
    }

    /// One route, or a list or map of them.
    fn children(&mut self, node: &'a Node) -> Result<(), Wrong> {
        if let Some(items) = node.items() {
            return items.iter().try_for_each(|item| self.children(item));
        }
        match node.entries() {
            Some(entries) if node.get("type").is_none() => {
                entries.iter().try_for_each(|entry| self.children(&entry.node))
            }
            _ => self.route(node),
        }
    }

    fn unmapped(&mut self, line: usize, kind: &str) {
        self.converted.matters(line, format!("`{kind}`: {}", advice(kind)));
    }

    /// A route of this kind, which sends keys to the servers of a pool.
    fn of_pool(&mut self, kind: &str, node: &'a Node) -> Result<(), Wrong> {
        for Entry { line, key, node } in node.entries().unwrap_or_default() {
            match key.as_str() {
                "type" | "name" => {}
                "pool" | "children" if node.text().is_some() => {
                    let text = node.text().unwrap_or_default();
                    self.uses(node.line, text.strip_prefix("Pool|").unwrap_or(text))?;
                }
                "pool" | "children" => {
                    let text = format!("`{key}`: name the pool here, and write it in `pools`");
                    return Err(Wrong::at(*line, text));
                }
                // Said where the pool is.
                "hash" | "hash_func" | "weights" | "salt" => {}
                _ => self.converted.matters(*line, format!("`{key}` of `{kind}`: there is no such setting here")),
            }
        }
        if node.get("pool").is_none() && node.get("children").is_none() {
            return Err(Wrong::at(node.line, format!("`{kind}` names no pool")));
        }
        let hash = node.get("hash").or(node.get("hash_func"));
        let named = node.get("pool").or(node.get("children")).and_then(Node::text).unwrap_or_default();
        let servers = self.servers_of(named.strip_prefix("Pool|").unwrap_or(named), node.line)?;
        if let Some(hash) = hash.filter(|_| servers.items().is_some_and(|items| items.len() > 1)) {
            let func = hash.text().or(hash.get("hash_func").and_then(Node::text)).unwrap_or("Ch3");
            self.converted.matters(
                hash.line,
                format!("`{func}`: mcrouter's hashes are not supported; `hash` and `placement` are"),
            );
        }
        Ok(())
    }

    /// Uses a pool.
    fn uses(&mut self, line: usize, name: &'a str) -> Result<(), Wrong> {
        self.servers_of(name, line)?;
        if !self.used.contains(&name) {
            self.used.push(name);
        }
        Ok(())
    }

    /// The list of a pool's servers.
    fn servers_of(&self, name: &str, line: usize) -> Result<&'a Node, Wrong> {
        let pool = self.root.get("pools").and_then(|pools| pools.get(name));
        let pool = pool.ok_or_else(|| Wrong::at(line, format!("no pool is named `{name}`")))?;
        let servers = pool.get("servers").filter(|servers| servers.items().is_some_and(|items| !items.is_empty()));
        let text = || format!("the pool `{name}` has no list `servers`; write it out if it comes from elsewhere");
        servers.ok_or_else(|| Wrong::at(pool.line, text()))
    }

    /// Converts the pools that routes use.
    fn pools(&mut self) -> Result<(), Wrong> {
        let pools = self.root.get("pools").and_then(Node::entries).unwrap_or_default();
        for Entry { line, key, .. } in pools.iter().filter(|entry| !self.used.contains(&entry.key.as_str())) {
            self.converted.harmless(*line, format!("the pool `{key}` is left out: no route uses it"));
        }
        for (number, name) in std::mem::take(&mut self.used).into_iter().enumerate() {
            let Some(entry) = pools.iter().find(|entry| entry.key == name) else { continue };
            let mut pool = Pool { name: name.to_owned(), ..Pool::default() };
            pool.listen = format!("127.0.0.1:{}", FIRST_PORT + number);
            let text =
                format!("`{name}` listens on {}: set the address and port of mcrouter's command line", pool.listen);
            pool.comments.push(text.clone());
            self.converted.harmless(entry.line, text);
            self.pool(entry, &mut pool)?;
            self.converted.pools.push(pool);
        }
        Ok(())
    }

    fn pool(&mut self, entry: &Entry, pool: &mut Pool) -> Result<(), Wrong> {
        for Entry { line, key, node } in entry.node.entries().unwrap_or_default() {
            match key.as_str() {
                "servers" => {
                    pool.servers = node.items().unwrap_or_default().iter().map(server).collect::<Result<_, _>>()?
                }
                "server_timeout" => pool.settings.push(("timeout", timeout(key, node, &mut self.converted)?)),
                "protocol" if node.text() == Some("ascii") => {}
                "protocol" => {
                    self.converted.matters(*line, "`protocol`: servers are asked in memcached's text protocol only");
                }
                "connect_timeout" => {
                    self.converted
                        .harmless(*line, "`connect_timeout`: connecting has the same `timeout` as a response");
                }
                "keep_routing_prefix" | "region" | "cluster" | "qos" | "failure_domains" | "failure_domain" => {
                    self.converted.harmless(*line, format!("`{key}`: has no meaning here"));
                }
                _ => self
                    .converted
                    .matters(*line, format!("`{key}` of the pool `{}`: there is no such setting here", entry.key)),
            }
        }
        if pool.servers.len() > 1 {
            let text = format!(
                "`{}`: mcrouter places keys by a hash of its own (Ch3 by default), and this front end by ketama: keys go to other servers, \
                 so start with an empty cache",
                entry.key
            );
            pool.comments.push(text.clone());
            self.converted.matters(entry.line, text);
        }
        Ok(())
    }
}

/// A server: `host:port`, with a protocol that is plain ASCII, if any.
fn server(node: &Node) -> Result<String, Wrong> {
    let text = scalar("servers", node)?;
    let end = text.rfind(']').unwrap_or(0);
    let mut parts = text[end..].splitn(3, ':');
    let (host, port, options) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default(), parts.next());
    if let Some(options) = options.filter(|options| !["ascii", "ascii:plain"].contains(options)) {
        let text = format!(
            "`{text}`: `{options}` is not supported: servers are asked in memcached's text protocol, without TLS"
        );
        return Err(Wrong::at(node.line, text));
    }
    let found = format!("{}{host}:{port}", &text[..end]);
    values::server(&found).map(|_| found).map_err(|why| Wrong::at(node.line, why))
}
