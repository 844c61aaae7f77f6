//! Certificates and keys from PEM files, with all checks that are possible without a peer.

use std::path::{Path, PathBuf};

use rustls::crypto::ring;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys, RootCertStore};
use toml::Spanned;
use x509_parser::certificate::X509Certificate;
use x509_parser::parse_x509_certificate;

use super::secrets::Files;
use crate::values::Wrong;

/// Reads a chain of certificates and the key of the first.
pub fn certified(certificate: &Spanned<PathBuf>, key: &Spanned<PathBuf>, files: &Files) -> Result<CertifiedKey, Wrong> {
    let (path, chain) = certificates(certificate, files)?;
    for one in &chain {
        let parsed = parsed(one).map_err(|why| in_file(certificate, &path, &why))?;
        is_valid(&parsed, files.now).map_err(|why| in_file(certificate, &path, &why))?;
    }
    let (key_path, bytes) = files.read_secret(key)?;
    let wrong = |why: &str| in_file(key, &key_path, why);
    let private = match PrivateKeyDer::from_pem_slice(&bytes) {
        Ok(private) => private,
        Err(PemError::NoItemsFound) if contains(&bytes, b"ENCRYPTED PRIVATE KEY") => {
            return Err(wrong("the key is encrypted: decrypt it (openssl pkey -in KEY -out PLAIN)"));
        }
        Err(PemError::NoItemsFound) => {
            return Err(wrong("no private key in it; use a PEM file with BEGIN PRIVATE KEY"));
        }
        Err(_) => return Err(wrong("its PEM is damaged; use a PEM file with BEGIN PRIVATE KEY")),
    };
    CertifiedKey::from_der(chain, private, &ring::default_provider()).map_err(|error| match error {
        Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => wrong(&format!(
            "the key does not belong to the first certificate in {}; use the key for which that was issued",
            path.display()
        )),
        _ => wrong("the key is invalid or of an unknown kind; use RSA of at least 2048 bits, P-256, P-384 or Ed25519"),
    })
}

/// Reads certificates of authorities. Those that have expired, or are not valid yet, are left out.
pub fn authorities(file: &Spanned<PathBuf>, files: &Files) -> Result<RootCertStore, Wrong> {
    let (path, found) = certificates(file, files)?;
    let (mut roots, mut first_wrong) = (RootCertStore::empty(), None);
    for one in found {
        let checked = parsed(&one).and_then(|parsed| {
            is_valid(&parsed, files.now)?;
            signs(&parsed)
        });
        match checked {
            Ok(()) => roots.add(one).map_err(|error| in_file(file, &path, &error.to_string()))?,
            Err(why) => first_wrong = first_wrong.or(Some(why)),
        }
    }
    match first_wrong {
        Some(why) if roots.is_empty() => Err(in_file(file, &path, &why)),
        _ => Ok(roots),
    }
}

/// Reads the certificates in a file, at least one.
fn certificates(file: &Spanned<PathBuf>, files: &Files) -> Result<(PathBuf, Vec<CertificateDer<'static>>), Wrong> {
    let (path, bytes) = files.read(file)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let found = found.map_err(|error| in_file(file, &path, &format!("its PEM is damaged ({error}); write it anew")))?;
    if found.is_empty() {
        return Err(in_file(file, &path, "no certificate in it; use a PEM file with BEGIN CERTIFICATE"));
    }
    Ok((path, found))
}

fn parsed<'a>(certificate: &'a CertificateDer<'_>) -> Result<X509Certificate<'a>, String> {
    let damaged = || "a certificate in it is damaged; write it anew".to_owned();
    parse_x509_certificate(certificate).map(|(_, parsed)| parsed).map_err(|_| damaged())
}

/// Checks the time of validity (RFC 5280, 4.1.2.5).
fn is_valid(certificate: &X509Certificate<'_>, now: i64) -> Result<(), String> {
    let (validity, subject) = (certificate.validity(), certificate.subject());
    if validity.not_after.timestamp() < now {
        return Err(format!("the certificate of {subject} expired on {}; renew it", validity.not_after));
    }
    if validity.not_before.timestamp() > now {
        let from = validity.not_before;
        return Err(format!("the certificate of {subject} is not valid before {from}; wait, or check this clock"));
    }
    Ok(())
}

/// Checks that a certificate can have signed others, or is its own (RFC 5280, 4.2.1.3 and 4.2.1.9).
fn signs(certificate: &X509Certificate<'_>) -> Result<(), String> {
    let is_own = certificate.subject() == certificate.issuer();
    let may_sign = certificate.key_usage().ok().flatten().is_none_or(|usage| usage.value.key_cert_sign());
    if is_own || certificate.is_ca() && may_sign {
        return Ok(());
    }
    let (subject, issuer) = (certificate.subject(), certificate.issuer());
    Err(format!("the certificate of {subject} is no CA's, so it signs nothing; use the one of its issuer, {issuer}"))
}

fn in_file(file: &Spanned<PathBuf>, path: &Path, why: &str) -> Wrong {
    Wrong(Some(file.span()), format!("{}: {why}", path.display()))
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
