//! Settings of connections: TLS, logins, access lists. Paths are relative to the folder of the configuration file.

mod certificates;
mod names;
mod secrets;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use ipnet::IpNet;
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::sign::SingleCertAndKey;
use rustls::{ClientConfig, ServerConfig};
use serde::Deserialize;
use toml::Spanned;

use super::values::Wrong;
use fanin_proxy_net::users::{User, Users};
use fanin_proxy_net::{Address, Entry};
use names::Named;

pub use secrets::Files;

/// Right forms.
const TLS: &str = "tls = { certificate = \"cert.pem\", key = \"key.pem\" }";
const SERVER_TLS: &str = "server_tls = { ca = \"ca.pem\" }";
/// Sessions that are kept for a server: each resumes one connection of a thread.
const SESSIONS: usize = 64;

/// TLS of clients.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as tls = { certificate = \"cert.pem\", key = \"key.pem\" }")]
pub struct TlsInFile {
    certificate: Option<Spanned<PathBuf>>,
    key: Option<Spanned<PathBuf>>,
    client_ca: Option<Spanned<PathBuf>>,
    allow_names: Option<Spanned<Vec<Spanned<String>>>>,
}

/// TLS towards servers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as server_tls = { ca = \"ca.pem\" }")]
pub struct ServerTlsInFile {
    ca: Option<Spanned<PathBuf>>,
    certificate: Option<Spanned<PathBuf>>,
    key: Option<Spanned<PathBuf>>,
    name: Option<Spanned<String>>,
}

impl TlsInFile {
    /// Whether clients have to have a certificate.
    pub fn authenticates(&self) -> bool {
        self.client_ca.is_some()
    }
}

impl ServerTlsInFile {
    /// Whether servers get a certificate.
    pub fn is_certified(&self) -> bool {
        self.certificate.is_some()
    }
}

/// Requirements for clients, in a pool.
pub struct EntryInFile {
    pub allow: Option<Spanned<Vec<Spanned<String>>>>,
    pub proxy_protocol: Option<bool>,
    pub tls: Option<Spanned<TlsInFile>>,
    pub auth: Option<Spanned<PathBuf>>,
}

/// Reads the requirements for clients at this address.
pub fn entry(file: EntryInFile, listen: &Address, files: &Files) -> Result<Entry, Wrong> {
    let proxy_protocol = file.proxy_protocol.unwrap_or(false);
    let mut allow = Vec::new();
    if let Some(list) = file.allow {
        let place = list.span();
        if listen.ip().is_none() && !proxy_protocol {
            let why = "clients of a UNIX socket have no address: remove `allow`, and set the permissions of its folder";
            return Err(Wrong(Some(place), why.to_owned()));
        }
        allow = list.into_inner().into_iter().map(network).collect::<Result<_, _>>()?;
        if allow.is_empty() {
            let why = "an empty list allows nobody: remove it, or list networks, such as allow = [\"10.0.0.0/8\"]";
            return Err(Wrong(Some(place), why.to_owned()));
        }
    }
    let tls = file.tls.map(|tls| server_config(tls, files)).transpose()?.map(Arc::new);
    let users = file.auth.map(|path| users(&path, files)).transpose()?.map(Arc::new);
    Ok(Entry { allow, proxy_protocol, tls, users })
}

/// Parses a network or an address.
fn network(text: Spanned<String>) -> Result<IpNet, Wrong> {
    let found = text
        .get_ref()
        .parse::<IpNet>()
        .ok()
        .or_else(|| Some(IpNet::from(text.get_ref().parse::<std::net::IpAddr>().ok()?)));
    let found = found.filter(|network| network.trunc() == *network);
    found.ok_or_else(|| {
        let right = "use an address, or a network without host bits, such as 10.0.0.0/8 or 2001:db8::/32";
        Wrong(Some(text.span()), format!("`{}` is not a network: {right}", text.get_ref()))
    })
}

/// Configuration of TLS with clients.
fn server_config(tls: Spanned<TlsInFile>, files: &Files) -> Result<ServerConfig, Wrong> {
    let place = tls.span();
    let TlsInFile { certificate, key, client_ca, allow_names } = tls.into_inner();
    let Some((certificate, key)) = certificate.zip(key) else {
        return Err(Wrong(Some(place), format!("TLS needs a certificate and its key: {TLS}")));
    };
    let certified = certificates::certified(&certificate, &key, files)?;
    let provider = Arc::new(ring::default_provider());
    let failed = |error: rustls::Error| Wrong(Some(place.clone()), format!("TLS cannot be set up: {error}"));
    let builder = ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
    let builder = builder.map_err(failed)?;
    let builder = match (client_ca, allow_names) {
        (None, None) => builder.with_no_client_auth(),
        (None, Some(names)) => {
            let why = "names are in clients' certificates, which only `client_ca` requires: add client_ca = \"ca.pem\"";
            return Err(Wrong(Some(names.span()), why.to_owned()));
        }
        (Some(ca), names) => {
            let roots = Arc::new(certificates::authorities(&ca, files)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build();
            let verifier = verifier.map_err(|error| Wrong(Some(ca.span()), error.to_string()))?;
            match names.map(allowed_names).transpose()? {
                None => builder.with_client_cert_verifier(verifier),
                Some(names) => builder.with_client_cert_verifier(Arc::new(Named::new(verifier, names))),
            }
        }
    };
    let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    // Tickets of these settings alone: others may trust other clients.
    config.ticketer = ring::Ticketer::new().map_err(failed)?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(config)
}

fn allowed_names(names: Spanned<Vec<Spanned<String>>>) -> Result<Vec<String>, Wrong> {
    let place = names.span();
    let names: Vec<String> = names.into_inner().into_iter().map(Spanned::into_inner).collect();
    if names.is_empty() || names.iter().any(String::is_empty) {
        let right = "allow_names = [\"web.example.org\", \"spiffe://example.org/web\"]";
        return Err(Wrong(Some(place), format!("no name, or an empty one: use names such as {right}")));
    }
    Ok(names)
}

/// TLS towards the servers of a pool.
pub struct ServerTls {
    config: ClientConfig,
    name: Option<ServerName<'static>>,
    place: Range<usize>,
}

impl ServerTls {
    /// Reads the settings.
    pub fn of(tls: Spanned<ServerTlsInFile>, files: &Files) -> Result<ServerTls, Wrong> {
        let place = tls.span();
        let ServerTlsInFile { ca, certificate, key, name } = tls.into_inner();
        let wrong = |why: String| Wrong(Some(place.clone()), why);
        let Some(ca) = ca else {
            return Err(wrong(format!("TLS needs the CA of the servers' certificates: {SERVER_TLS}")));
        };
        let roots = Arc::new(certificates::authorities(&ca, files)?);
        let provider = Arc::new(ring::default_provider());
        let failed = |error: rustls::Error| Wrong(Some(place.clone()), format!("TLS cannot be set up: {error}"));
        let builder = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider).build();
        let verifier = verifier.map_err(|error| Wrong(Some(ca.span()), error.to_string()))?;
        let builder = builder.map_err(failed)?.with_webpki_verifier(verifier);
        let config = match (certificate, key) {
            (None, None) => builder.with_no_client_auth(),
            (Some(certificate), Some(key)) => {
                let certified = certificates::certified(&certificate, &key, files)?;
                builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(certified)))
            }
            _ => return Err(wrong("`certificate` and `key` belong together: set both, or neither".to_owned())),
        };
        let server_name = |name: Spanned<String>| {
            ServerName::try_from(name.get_ref().clone()).map_err(|_| {
                let why = format!("`{}` is not a name of a server: use a DNS name or an IP address", name.get_ref());
                Wrong(Some(name.span()), why)
            })
        };
        let name = name.map(server_name).transpose()?;
        Ok(ServerTls { config, name, place })
    }

    /// Configuration for a server with this host, if it has one. Each server has sessions of its own.
    pub fn of_server(&self, host: Option<&str>) -> Result<(Arc<ClientConfig>, ServerName<'static>), Wrong> {
        let name = match (&self.name, host) {
            (Some(name), _) => Some(name.clone()),
            (None, host) => host.and_then(|host| ServerName::try_from(host.to_owned()).ok()),
        };
        let why = || {
            let what = host.unwrap_or("a UNIX socket");
            format!(
                "a certificate cannot be verified against {what}: add the servers' name, such as name = \"cache.example.org\""
            )
        };
        let name = name.ok_or_else(|| Wrong(Some(self.place.clone()), why()))?;
        let mut config = self.config.clone();
        config.resumption = Resumption::in_memory_sessions(SESSIONS);
        Ok((Arc::new(config), name))
    }
}

/// Reads users and passwords.
fn users(path: &Spanned<PathBuf>, files: &Files) -> Result<Users, Wrong> {
    let (full, text) = files.read_secret(path)?;
    Users::parse(&text).map_err(|wrong| {
        let right = "use lines of user:password, as memcached's -Y";
        Wrong(Some(path.span()), format!("{}:{}: {}; {right}", full.display(), wrong.0, wrong.1))
    })
}

/// Reads the user as whom to log in.
pub fn server_user(path: &Spanned<PathBuf>, files: &Files) -> Result<User, Wrong> {
    users(path, files)?.only().ok_or_else(|| {
        let why = format!("{}: several users: use a file with one line of user:password", files.path(path).display());
        Wrong(Some(path.span()), why)
    })
}
