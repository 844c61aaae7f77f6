//! Keys of other programs, and their equivalents here.

/// Keys of twemproxy, mcrouter and memcached, and their equivalents here.
const FOREIGN: [(&[&str], &str); 21] = [
    (&["distribution"], "write it as `placement`: ketama, ketama-libmemcached or rendezvous"),
    (
        &["modula", "random"],
        "only consistent hashing and rendezvous hashing are supported, which move few keys when servers change",
    ),
    (
        &["auto_eject_hosts", "server_failure_limit", "server_retry_timeout", "failover"],
        "write it as on_down = \"next\", or set `replicas`: a server that is down is retried after 50 ms to 2 s, and is ejected when it \
         fails twice in succession",
    ),
    (
        &[
            "ssl",
            "use_ssl",
            "enable_ssl",
            "ssl_chain_cert",
            "ssl_key",
            "ssl_cert_path",
            "ssl_key_path",
            "pem_cert_path",
            "pem_key_path",
        ],
        "write it as tls = { certificate = \"cert.pem\", key = \"key.pem\" }",
    ),
    (
        &["ssl_ca_cert", "ssl_verify_mode", "pem_ca_path"],
        "write the clients' CA as `client_ca` in `tls`, the servers' as `ca` in `server_tls`",
    ),
    (&["allow_names", "client_ca"], "it belongs into `tls`"),
    (
        &["sasl", "auth_file", "user", "username", "password", "redis_auth"],
        "write a file of user:password lines as `auth`, for clients, or `server_auth`, for servers",
    ),
    (&["redis", "redis_db"], "only memcached's text protocol is supported: remove it"),
    (&["backlog"], "the backlog is 4096, or the system's limit: remove it"),
    (&["tcpkeepalive"], "keepalives are not supported: remove it; `idle_timeout` closes idle clients"),
    (&["hash_tag"], "hash tags are not supported: whole keys are hashed"),
    (&["preconnect"], "servers are always connected at startup: remove it"),
    (&["server_connections"], "each thread has one connection to every server: set `threads`"),
    (&["num_proxies", "num-proxies", "workers"], "write it as `threads`"),
    (&["client_connections", "max_connections", "maxconns"], "write it as `clients`"),
    (&["server_timeout", "server_timeout_ms", "rcvtimeo"], "write it as `timeout`, with its unit"),
    (&["max_item_size", "item_size_max"], "write it as `item`, with its unit"),
    (&["weight", "weights"], "write a server's weight after its port, as in \"10.0.0.1:11211:2\""),
    (&["port", "bind", "address", "addresses"], "write it as `listen = \"host:port\"`"),
    (&["pools"], "write each pool as [[pool]]"),
    (&["route", "routes"], "a pool has one route, by `placement` and `hash`; use a separate pool for each route"),
];

/// The equivalent of another program's key.
pub fn foreign(word: &str) -> Option<&'static str> {
    FOREIGN.iter().find(|(words, _)| words.contains(&word)).map(|(_, says)| *says)
}
