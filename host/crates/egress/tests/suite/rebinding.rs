//! Names that answer differently each time, or with several addresses: the address that was checked is the one that is connected to.

use std::sync::Arc;

use egress::test_support::{MemoryConnector, TableResolver};
use egress::{Egress, EgressError, Kind, Limits, Network};
use tokio::io::AsyncWriteExt;

use crate::support::{Server, egress_by, get, ok, policy, read, read_request, soon};

#[tokio::test]
async fn a_name_is_resolved_once_for_each_request_and_checked_each_time() {
    let table = TableResolver::default().with("rebind.test", &["93.184.215.14"]).with("rebind.test", &["127.0.0.1"]);
    let resolver = Arc::new(table);
    let (connector, mut accepted) = MemoryConnector::new();
    let network = Network::new(Arc::clone(&resolver) as Arc<_>, Arc::new(connector));
    let egress = Egress::new(network, policy(&["http://rebind.test"], &[]), Limits::default());

    let serve = async {
        let (address, mut stream) = accepted.recv().await.unwrap();
        read_request(&mut stream).await;
        stream.write_all(ok("public").as_bytes()).await.unwrap();
        address
    };
    let (response, address) = tokio::join!(egress.send(get("http://rebind.test"), soon()), serve);
    assert_eq!(read(response.unwrap()).await.unwrap(), "public");
    assert_eq!(address, "93.184.215.14:80".parse().unwrap());
    assert_eq!(resolver.asked(), ["rebind.test"]);

    let error = egress.send(get("http://rebind.test"), soon()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::RefusedAddress);
    let text = error.to_string();
    assert!(text.contains("127.0.0.1") && text.contains("plugins.entries.weather.capabilities.http.privateNetworks"), "{text}");
    assert_eq!(resolver.asked().len(), 2);
    assert!(accepted.try_recv().is_err(), "nothing may be connected to");
}

#[tokio::test]
async fn one_inside_address_among_public_ones_refuses_all() {
    for answer in [&["93.184.215.14", "10.0.0.1"][..], &["::1", "93.184.215.14"], &["::ffff:169.254.169.254"]] {
        let (connector, mut accepted) = MemoryConnector::new();
        let network = Network::new(Arc::new(TableResolver::default().with("mixed.test", answer)), Arc::new(connector));
        let egress = Egress::new(network, policy(&["http://mixed.test"], &[]), Limits::default());
        let error = egress.send(get("http://mixed.test"), soon()).await.unwrap_err();
        assert_eq!(error.kind(), Kind::RefusedAddress, "{answer:?}");
        assert!(accepted.try_recv().is_err(), "{answer:?}");
    }
}

#[tokio::test]
async fn a_granted_network_is_reached_by_name() {
    let mut server = Server::answering(ok("inside")).await;
    let url = format!("http://inside.test:{}", server.address.port());
    for (networks, allowed) in [(&["127.0.0.0/8"][..], true), (&["inside.test"], true), (&["10.0.0.0/8"], false), (&[], false)] {
        let resolver = TableResolver::default().with("inside.test", &["127.0.0.1"]);
        let outcome = egress_by(resolver, policy(&[&url], networks)).send(get(&url), soon()).await;
        assert_eq!(outcome.is_ok(), allowed, "{networks:?}");
        if allowed {
            let host = format!("host: inside.test:{}\r\n", server.address.port());
            assert!(server.requests.recv().await.unwrap().contains(&host));
        }
    }
    assert_eq!(server.seen(), None);
}

#[tokio::test]
async fn a_dead_address_is_followed_by_the_next() {
    let server = Server::answering(ok("second")).await;
    let url = format!("http://two.test:{}", server.address.port());
    // Nothing listens on the second loopback address.
    let resolver = TableResolver::default().with("two.test", &["127.0.0.2", "127.0.0.1"]);
    let response = egress_by(resolver, policy(&[&url], &["127.0.0.0/8"])).send(get(&url), soon()).await.unwrap();
    assert_eq!(read(response).await.unwrap(), "second");
}

#[tokio::test]
async fn names_without_an_address_and_places_without_a_server_have_their_kinds() {
    let resolver = TableResolver::default().with("empty.test", &[]).with("closed.test", &["127.0.0.1"]);
    let egress = egress_by(resolver, policy(&["http://*", "http://closed.test:1"], &["127.0.0.0/8"]));
    for (url, kind) in
        [("http://unknown.test", Kind::Dns), ("http://empty.test", Kind::Dns), ("http://closed.test:1", Kind::Connect)]
    {
        let error: EgressError = egress.send(get(url), soon()).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{url}: {error}");
    }
}
