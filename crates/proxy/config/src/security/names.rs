//! Access list by the names in clients' certificates.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use x509_parser::extensions::GeneralName;
use x509_parser::parse_x509_certificate;

/// A verifier that also requires one of these names.
#[derive(Debug)]
pub struct Named {
    inner: Arc<dyn ClientCertVerifier>,
    names: Vec<String>,
}

impl Named {
    pub fn new(inner: Arc<dyn ClientCertVerifier>, names: Vec<String>) -> Named {
        Named { inner, names }
    }

    /// Whether a certificate has an allowed name: a DNS name or URI (RFC 5280, 4.2.1.6), or the common name of its subject.
    fn allows(&self, certificate: &[u8]) -> bool {
        let Ok((_, certificate)) = parse_x509_certificate(certificate) else { return false };
        let alternatives = certificate.subject_alternative_name().ok().flatten();
        let mut alternatives = alternatives.iter().flat_map(|found| &found.value.general_names);
        let is_dns = |name: &str| self.names.iter().any(|allowed| allowed.eq_ignore_ascii_case(name));
        let is_exactly = |name: &str| self.names.iter().any(|allowed| allowed == name);
        alternatives.any(|name| match name {
            GeneralName::DNSName(name) => is_dns(name),
            GeneralName::URI(uri) => is_exactly(uri),
            _ => false,
        }) || certificate.subject().iter_common_name().any(|name| name.as_str().is_ok_and(is_exactly))
    }
}

impl ClientCertVerifier for Named {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.inner.verify_client_cert(end_entity, intermediates, now)?;
        // The client receives the alert `access_denied` (RFC 8446, 6.2).
        if self.allows(end_entity) {
            Ok(verified)
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
