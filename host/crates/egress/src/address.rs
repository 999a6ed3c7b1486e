//! What kind of place an IP address is: public, or one of those that code which is not trusted must not reach unless the operator says
//! so. From the IANA special-purpose registries, read strictly: what is in doubt is not public. Knows no policy.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What kind of place an address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressClass {
    /// Reachable from everywhere; the only class that needs no grant.
    Public,
    /// This machine: 127.0.0.0/8, `::1`.
    Loopback,
    /// RFC 1918 networks, and site-local IPv6.
    Private,
    /// 169.254.0.0/16, fe80::/10.
    LinkLocal,
    /// fc00::/7.
    UniqueLocal,
    /// Carrier-grade NAT, 100.64.0.0/10.
    SharedCarrier,
    /// Where clouds hand out credentials of the machine, whatever network that address is in.
    Metadata,
    /// 0.0.0.0 and `::`, which reach this machine too.
    Unspecified,
    /// 224.0.0.0/4, ff00::/8.
    Multicast,
    /// 255.255.255.255.
    Broadcast,
    /// Addresses for books.
    Documentation,
    /// Addresses for benchmarks.
    Benchmark,
    /// An old tunnel (6to4, Teredo, ISATAP, IPv4-compatible, local NAT64), which may end anywhere.
    Tunnel,
    /// Everything else that is no public unicast address.
    Reserved,
}

/// Services that hand out credentials or control of the machine; some of them in ranges that are public or commonly granted.
const METADATA_V4: [Ipv4Addr; 6] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(169, 254, 170, 23),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(192, 0, 0, 192),
];

/// The same, by IPv6.
const METADATA_V6: [Ipv6Addr; 3] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];

impl AddressClass {
    /// The class of an address. An address that stands for an IPv4 one (`::ffff:10.0.0.1`, `64:ff9b::10.0.0.1`) has the class of that.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        }
    }

    /// Whether machines answer there: what a grant by host name may open. The rest needs the address itself.
    pub fn is_inside(self) -> bool {
        matches!(self, Self::Loopback | Self::Private | Self::LinkLocal | Self::UniqueLocal | Self::SharedCarrier)
    }
}

impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "public",
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::LinkLocal => "link-local",
            Self::UniqueLocal => "unique-local",
            Self::SharedCarrier => "carrier-grade NAT",
            Self::Metadata => "cloud metadata",
            Self::Unspecified => "unspecified",
            Self::Multicast => "multicast",
            Self::Broadcast => "broadcast",
            Self::Documentation => "documentation",
            Self::Benchmark => "benchmark",
            Self::Tunnel => "tunnel",
            Self::Reserved => "reserved",
        })
    }
}

fn of_v4(address: Ipv4Addr) -> AddressClass {
    if METADATA_V4.contains(&address) {
        return AddressClass::Metadata;
    }
    match address.octets() {
        [0, 0, 0, 0] => AddressClass::Unspecified,
        [0, ..] | [192, 0, 0, _] => AddressClass::Reserved,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => AddressClass::Private,
        [100, 64..=127, ..] => AddressClass::SharedCarrier,
        [127, ..] => AddressClass::Loopback,
        [169, 254, ..] => AddressClass::LinkLocal,
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => AddressClass::Documentation,
        [192, 88, 99, _] => AddressClass::Tunnel,
        [198, 18 | 19, ..] => AddressClass::Benchmark,
        [224..=239, ..] => AddressClass::Multicast,
        [255, 255, 255, 255] => AddressClass::Broadcast,
        [240..=255, ..] => AddressClass::Reserved,
        _ => AddressClass::Public,
    }
}

fn of_v6(address: Ipv6Addr) -> AddressClass {
    if METADATA_V6.contains(&address) {
        return AddressClass::Metadata;
    }
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => AddressClass::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressClass::Loopback,
        // IPv4-mapped; the translated form of RFC 2765; NAT64, which networks without IPv4 need for every public server.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            of_v4(embedded(high, low))
        }
        [0, 0, 0, 0, 0, 0, ..] | [0x64, 0xff9b, 1, ..] | [0x2001, 0, ..] | [0x2002, ..] => AddressClass::Tunnel,
        [_, _, _, _, 0 | 0x200, 0x5efe, _, _] => AddressClass::Tunnel,
        [0x2001, 2, 0, ..] => AddressClass::Benchmark,
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => AddressClass::Documentation,
        [0x2001, 0..=0x1ff, ..] => AddressClass::Reserved,
        [0xfc00..=0xfdff, ..] => AddressClass::UniqueLocal,
        [0xfe80..=0xfebf, ..] => AddressClass::LinkLocal,
        [0xfec0..=0xfeff, ..] => AddressClass::Private,
        [0xff00..=0xffff, ..] => AddressClass::Multicast,
        [0x2000..=0x3fff, ..] => AddressClass::Public,
        _ => AddressClass::Reserved,
    }
}

fn embedded(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use AddressClass::*;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_have_their_class() {
        for (text, class) in [
            ("1.1.1.1", Public),
            ("8.8.8.8", Public),
            ("9.255.255.255", Public),
            ("11.0.0.0", Public),
            ("100.63.255.255", Public),
            ("100.128.0.0", Public),
            ("126.255.255.255", Public),
            ("128.0.0.1", Public),
            ("169.253.255.255", Public),
            ("169.255.0.0", Public),
            ("172.15.255.255", Public),
            ("172.32.0.0", Public),
            ("192.0.1.0", Public),
            ("192.167.255.255", Public),
            ("198.17.255.255", Public),
            ("198.20.0.0", Public),
            ("223.255.255.255", Public),
            ("127.0.0.1", Loopback),
            ("127.255.255.254", Loopback),
            ("10.0.0.1", Private),
            ("172.16.0.1", Private),
            ("172.31.255.255", Private),
            ("192.168.1.1", Private),
            ("169.254.0.1", LinkLocal),
            ("100.64.0.1", SharedCarrier),
            ("100.127.255.255", SharedCarrier),
            ("169.254.169.254", Metadata),
            ("169.254.170.2", Metadata),
            ("169.254.170.23", Metadata),
            ("100.100.100.200", Metadata),
            ("168.63.129.16", Metadata),
            ("192.0.0.192", Metadata),
            ("0.0.0.0", Unspecified),
            ("0.0.0.1", Reserved),
            ("192.0.0.1", Reserved),
            ("224.0.0.1", Multicast),
            ("239.255.255.250", Multicast),
            ("255.255.255.255", Broadcast),
            ("240.0.0.1", Reserved),
            ("255.255.255.254", Reserved),
            ("192.0.2.1", Documentation),
            ("198.51.100.7", Documentation),
            ("203.0.113.9", Documentation),
            ("198.18.0.1", Benchmark),
            ("198.19.255.255", Benchmark),
            ("192.88.99.1", Tunnel),
            ("2606:4700:4700::1111", Public),
            ("2a00:1450:4001:800::200e", Public),
            ("2001:200::1", Public),
            ("::1", Loopback),
            ("::", Unspecified),
            ("fc00::1", UniqueLocal),
            ("fdff::1", UniqueLocal),
            ("fe80::1", LinkLocal),
            ("febf::1", LinkLocal),
            ("fec0::1", Private),
            ("ff02::1", Multicast),
            ("fd00:ec2::254", Metadata),
            ("fd00:ec2::23", Metadata),
            ("fd20:ce::254", Metadata),
            ("2001:db8::1", Documentation),
            ("3fff::1", Documentation),
            ("3fff:1000::1", Public),
            ("2001:2::1", Benchmark),
            ("2001:1::1", Reserved),
            ("2001:20::1", Reserved),
            ("100::1", Reserved),
            ("5f00::1", Reserved),
            ("4000::1", Reserved),
            ("::ffff:8.8.8.8", Public),
            ("::ffff:127.0.0.1", Loopback),
            ("::ffff:10.0.0.1", Private),
            ("::ffff:169.254.169.254", Metadata),
            ("::ffff:0.0.0.0", Unspecified),
            ("::ffff:100.64.0.1", SharedCarrier),
            ("::ffff:0:127.0.0.1", Loopback),
            ("64:ff9b::8.8.8.8", Public),
            ("64:ff9b::192.168.0.1", Private),
            ("64:ff9b::169.254.169.254", Metadata),
            ("64:ff9b:1::10.0.0.1", Tunnel),
            ("::127.0.0.1", Tunnel),
            ("::8.8.8.8", Tunnel),
            ("2002:7f00:1::1", Tunnel),
            ("2002:808:808::1", Tunnel),
            ("2001:0:4136:e378:8000:63bf:3fff:fdd2", Tunnel),
            ("2a00::5efe:10.0.0.1", Tunnel),
            ("2a00::200:5efe:10.0.0.1", Tunnel),
        ] {
            assert_eq!(AddressClass::of(text.parse().unwrap()), class, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_mapped_address_is_never_more_public_than_its_ipv4(bits in any::<u32>()) {
            let v4 = Ipv4Addr::from(bits);
            prop_assert_eq!(AddressClass::of(IpAddr::V6(v4.to_ipv6_mapped())), AddressClass::of(IpAddr::V4(v4)));
            if AddressClass::of(IpAddr::V4(v4)) != Public {
                for text in [format!("::{v4}"), format!("64:ff9b::{v4}"), format!("2002:{:x}:{:x}::1", bits >> 16, bits & 0xffff)] {
                    let address: IpAddr = text.parse().unwrap();
                    prop_assert_ne!(AddressClass::of(address), Public, "{}", address);
                }
            }
        }

        #[test]
        fn what_the_standard_library_calls_special_is_not_public(bits in any::<u32>()) {
            let v4 = Ipv4Addr::from(bits);
            let special = v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.is_multicast() || v4.is_broadcast()
                || v4.is_documentation() || v4.is_unspecified();
            prop_assert!(!special || AddressClass::of(IpAddr::V4(v4)) != Public);
        }
    }
}
