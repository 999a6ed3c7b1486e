//! TLS: a certificate that this machine trusts for the host of the request, or nothing is sent.

use std::sync::Arc;

use egress::test_support::TableResolver;
use egress::{Egress, EgressError, Kind, Limits, Network, TcpConnector};
use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{RootCertStore, ServerConfig};
use tokio::io::AsyncWriteExt;
use tokio_rustls::TlsAcceptor;

use crate::support::{Server, get, ok, policy, read, read_request, soon};

/// An authority of its own, and a server with a certificate of it for some names.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).unwrap();
        roots
    }

    fn certificate(
        &self,
        name: &str,
        change: impl FnOnce(&mut CertificateParams),
    ) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        change(&mut params);
        let certificate = params.signed_by(&key, &self.0).unwrap();
        (certificate.der().clone(), PrivatePkcs8KeyDer::from(key.serialize_der()).into())
    }
}

/// Roots that no server of this suite has a certificate of.
pub(crate) fn roots() -> RootCertStore {
    Authority::new().roots()
}

async fn server((certificate, key): (CertificateDer<'static>, PrivateKeyDer<'static>)) -> Server {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    Server::start(move |stream, requests| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            let request = read_request(&mut stream).await;
            let _ = stream.write_all(ok("private").as_bytes()).await;
            let _ = stream.shutdown().await;
            let _ = requests.send(request);
        }
    })
    .await
}

async fn outcome(server: &Server, name: &str, roots: Option<RootCertStore>) -> Result<String, EgressError> {
    let resolver = TableResolver::default().with(name, &["127.0.0.1"]);
    let network = Network::new(Arc::new(resolver), Arc::new(TcpConnector));
    let network = match roots {
        Some(roots) => network.with_roots(roots).unwrap(),
        None => network,
    };
    let url = format!("https://{name}:{}", server.address.port());
    let egress = Egress::new(network, policy(&[&url], &["127.0.0.0/8"]), Limits::default());
    read(egress.send(get(&url), soon()).await?).await
}

#[tokio::test]
async fn a_trusted_certificate_for_the_host_is_taken() {
    let authority = Authority::new();
    let mut by_name = server(authority.certificate("api.test", |_| ())).await;
    assert_eq!(outcome(&by_name, "api.test", Some(authority.roots())).await.unwrap(), "private");
    let expected = format!("GET / HTTP/1.1\r\nhost: api.test:{}\r\n\r\n", by_name.address.port());
    assert_eq!(by_name.requests.recv().await.unwrap(), expected);

    let by_address = server(authority.certificate("127.0.0.1", |_| ())).await;
    assert_eq!(outcome(&by_address, "127.0.0.1", Some(authority.roots())).await.unwrap(), "private");
}

#[tokio::test]
async fn every_other_certificate_is_refused_and_nothing_is_sent() {
    let authority = Authority::new();
    let expired = |params: &mut CertificateParams| params.not_after = rcgen::date_time_ymd(2001, 1, 1);
    for (what, certificate, roots) in [
        ("another authority", authority.certificate("api.test", |_| ()), Authority::new().roots()),
        ("another host", authority.certificate("other.test", |_| ()), authority.roots()),
        ("a suffix of the host", authority.certificate("test", |_| ()), authority.roots()),
        ("an address instead of the name", authority.certificate("127.0.0.1", |_| ()), authority.roots()),
        ("an expired one", authority.certificate("api.test", expired), authority.roots()),
    ] {
        let mut server = server(certificate).await;
        let error = outcome(&server, "api.test", Some(roots)).await.expect_err(what);
        assert_eq!(error.kind(), Kind::Tls, "{what}: {error}");
        assert_eq!(server.seen(), None, "{what}");
    }
}

#[tokio::test]
async fn the_machine_does_not_trust_an_authority_that_nobody_installed() {
    let server = server(Authority::new().certificate("api.test", |_| ())).await;
    // Without any installed certificates it is another error of the same kind.
    assert_eq!(outcome(&server, "api.test", None).await.unwrap_err().kind(), Kind::Tls);
}

#[tokio::test]
async fn a_server_without_tls_or_that_breaks_off_is_refused() {
    for answer in [ok("in clear").into_bytes(), Vec::new(), b"\x15\x03\x01\x00\x02\x02\x28".to_vec()] {
        let server = Server::start(move |mut stream, _| {
            let answer = answer.clone();
            async move {
                let _ = stream.write_all(&answer).await;
                let _ = stream.shutdown().await;
            }
        })
        .await;
        let error = outcome(&server, "api.test", Some(Authority::new().roots())).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Tls, "{error}");
    }
}
