//! A client's certificate, after it has been verified.

use x509_parser::extensions::GeneralName;
use x509_parser::parse_x509_certificate;

/// The name by which operators know it: its first DNS name or URI (RFC 5280, 4.2.1.6), else the common name of its subject.
pub fn name(certificate: &[u8]) -> Option<String> {
    let (_, certificate) = parse_x509_certificate(certificate).ok()?;
    let alternatives = certificate.subject_alternative_name().ok().flatten();
    let mut alternatives = alternatives.iter().flat_map(|found| &found.value.general_names);
    let alternative = alternatives.find_map(|name| match name {
        GeneralName::DNSName(name) | GeneralName::URI(name) => Some((*name).to_owned()),
        _ => None,
    });
    let common = || certificate.subject().iter_common_name().find_map(|name| name.as_str().ok().map(str::to_owned));
    alternative.or_else(common)
}

/// Unix time until which it is valid.
pub fn valid_until(certificate: &[u8]) -> Option<i64> {
    parse_x509_certificate(certificate).ok().map(|(_, certificate)| certificate.validity().not_after.timestamp())
}
