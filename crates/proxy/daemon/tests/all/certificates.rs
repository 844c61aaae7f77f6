//! Certificates for tests, and clients and servers that use them.
#![expect(clippy::disallowed_types, reason = "these clients and servers wait for one another")]

use std::fs;
use std::io::BufReader;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, SanType, date_time_ymd};
use rustls::client::Resumption;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use crate::support::{Client, connect};

/// Years of validity.
pub const VALID: (i32, i32) = (2020, 2200);
pub const EXPIRED: (i32, i32) = (2010, 2011);
pub const NOT_YET: (i32, i32) = (2190, 2191);

/// A certificate and its key, as PEM.
#[derive(Clone)]
pub struct Identity {
    pub certificate: String,
    pub key: String,
}

/// A certificate authority.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub certificate: String,
}

fn params(names: &[&str], (from, to): (i32, i32)) -> CertificateParams {
    let (uris, others): (Vec<&str>, Vec<&str>) = names.iter().partition(|name| name.contains("://"));
    let mut params = CertificateParams::new(others.iter().map(|name| name.to_string()).collect::<Vec<_>>()).unwrap();
    params.subject_alt_names.extend(uris.iter().map(|uri| SanType::URI(uri.to_string().try_into().unwrap())));
    (params.not_before, params.not_after) = (date_time_ymd(from, 1, 1), date_time_ymd(to, 1, 1));
    params
}

impl Authority {
    pub fn new(name: &str, years: (i32, i32)) -> Authority {
        let mut params = params(&[], years);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().pem();
        Authority { issuer: Issuer::new(params, key), certificate }
    }

    /// A certificate with a common name and alternative names.
    pub fn issue(&self, common: &str, names: &[&str], years: (i32, i32)) -> Identity {
        self.sign(common, params(names, years))
    }

    /// The same, valid until this Unix time in seconds.
    pub fn issue_until(&self, common: &str, names: &[&str], end: u64) -> Identity {
        let mut params = params(names, VALID);
        params.not_after = date_time_ymd(1970, 1, 1) + std::time::Duration::from_secs(end);
        self.sign(common, params)
    }

    fn sign(&self, common: &str, mut params: CertificateParams) -> Identity {
        params.distinguished_name.push(DnType::CommonName, common);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Identity { certificate, key: key.serialize_pem() }
    }
}

impl Identity {
    /// Writes `NAME.pem` and `NAME-key.pem`.
    pub fn write(&self, folder: &Path, name: &str) {
        fs::write(folder.join(format!("{name}.pem")), &self.certificate).unwrap();
        fs::write(folder.join(format!("{name}-key.pem")), &self.key).unwrap();
    }

    fn chain(&self) -> Vec<CertificateDer<'static>> {
        vec![CertificateDer::from_pem_slice(self.certificate.as_bytes()).unwrap()]
    }

    fn private(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::from_pem_slice(self.key.as_bytes()).unwrap()
    }
}

/// A folder with `ca.pem`, and `front.pem` and `front-key.pem` for 127.0.0.1.
pub fn folder() -> (tempfile::TempDir, Authority) {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("Test CA", VALID));
    fs::write(folder.path().join("ca.pem"), &authority.certificate).unwrap();
    authority.issue("front", &["127.0.0.1", "127.0.0.2", "127.0.0.3"], VALID).write(folder.path(), "front");
    (folder, authority)
}

/// Settings of a client that trusts an authority, with its own certificate.
pub fn client_config(
    trusts: &Authority,
    own: Option<&Identity>,
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(trusts.certificate.as_bytes()).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_protocol_versions(versions).unwrap().with_root_certificates(roots);
    let mut config = match own {
        Some(own) => builder.with_client_auth_cert(own.chain(), own.private()).unwrap(),
        None => builder.with_no_client_auth(),
    };
    config.resumption = Resumption::in_memory_sessions(8);
    config
}

pub type Tls = StreamOwned<ClientConnection, TcpStream>;

/// A connection whose handshake has not begun.
pub fn open(address: SocketAddr, config: &Arc<ClientConfig>) -> Tls {
    let name = ServerName::from(address.ip());
    StreamOwned::new(ClientConnection::new(config.clone(), name).unwrap(), connect(address))
}

/// A client with TLS 1.3, without a certificate.
pub fn client(address: SocketAddr, trusts: &Authority) -> Client<Tls> {
    Client(BufReader::new(open(address, &Arc::new(client_config(trusts, None, &[&rustls::version::TLS13])))))
}

/// A server that shakes hands, and then answers every read with this text.
pub fn server(own: &Identity, answers: &'static str) -> SocketAddr {
    use std::io::{Read, Write};
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = Arc::new(builder.with_single_cert(own.chain(), own.private()).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let config = config.clone();
            thread::spawn(move || {
                let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
                let mut bytes = [0; 4096];
                while stream.read(&mut bytes).is_ok_and(|count| count > 0) {
                    if stream.write_all(answers.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}
