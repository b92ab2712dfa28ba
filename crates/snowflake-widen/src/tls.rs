//! How a server proves who it is, by `PGSSLMODE`.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::failure::Failure;

/// What connects with TLS, for a mode of libpq.
pub fn connector(mode: Option<&str>) -> Result<MakeRustlsConnect, Failure> {
    let provider = Arc::new(ring::default_provider());
    let trusted = match mode {
        Some("verify-ca" | "verify-full") => {
            let roots = Arc::new(roots()?);
            let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider.clone());
            Some(verifier.build().map_err(|error| Failure::new(error.to_string()))?)
        }
        None | Some("disable" | "allow" | "prefer" | "require") => None,
        Some(other) => return Err(Failure::new(format!("invalid PGSSLMODE value: \"{other}\""))),
    };
    let verifier = Verifier { trusted, any_name: mode != Some("verify-full"), provider };
    let config = ClientConfig::builder_with_provider(verifier.provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::new(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// The authorities that may vouch for the server.
fn roots() -> Result<RootCertStore, Failure> {
    let path = env::var_os("PGSSLROOTCERT").map(PathBuf::from).unwrap_or_else(|| {
        Path::new(&env::var_os("HOME").unwrap_or_default()).join(".postgresql/root.crt")
    });
    let mut roots = RootCertStore::empty();
    if path.as_os_str() == "system" {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(roots);
    }
    let unreadable = |error: &dyn std::fmt::Display| {
        let path = path.display();
        Failure::new(format!("could not read root certificate file \"{path}\": {error}"))
    };
    let file = CertificateDer::pem_file_iter(&path).map_err(|error| unreadable(&error))?;
    for certificate in file {
        let certificate = certificate.map_err(|error| unreadable(&error))?;
        roots.add(certificate).map_err(|error| unreadable(&error))?;
    }
    Ok(roots)
}

/// Asks as much of a server as the mode does: nothing, an authority that vouches for it, or that for
/// the name that was connected to.
#[derive(Debug)]
struct Verifier {
    trusted: Option<Arc<WebPkiServerVerifier>>,
    any_name: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(trusted) = &self.trusted else { return Ok(ServerCertVerified::assertion()) };
        match trusted.verify_server_cert(certificate, others, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.any_name => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match &self.trusted {
            Some(trusted) => trusted.verify_tls12_signature(message, certificate, signature),
            // Whoever may show any certificate may as well sign with any key.
            None => Ok(HandshakeSignatureValid::assertion()),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match &self.trusted {
            Some(trusted) => trusted.verify_tls13_signature(message, certificate, signature),
            None => Ok(HandshakeSignatureValid::assertion()),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
