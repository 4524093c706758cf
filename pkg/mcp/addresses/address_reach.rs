//! Addresses to which secrets may be sent.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::Url;

/// Returns the origin and path of the URL, in the form in which a resource names itself: without query and fragment.
pub(crate) fn resource(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    let text = url.to_string();
    // An origin is written without a trailing slash.
    if url.path() == "/" { text.trim_end_matches('/').to_owned() } else { text }
}

/// Returns `true` for an address of this machine.
pub(crate) fn is_local(url: &Url) -> bool {
    reach(url) == AddressReach::Machine
}

/// The reach of an address: the area outside of which the same address may belong to something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AddressReach {
    /// This machine.
    Machine,
    /// The same link, on which machine services are reachable, such as those that hand out credentials.
    Link,
    /// A private network.
    Private,
    /// All other addresses, and all names, which are resolved when connecting.
    Public,
}

impl AddressReach {
    /// Returns the name of the place that the address does not reach beyond, for errors.
    pub(crate) fn place(self) -> &'static str {
        match self {
            Self::Machine => "this machine",
            Self::Link => "the link of this machine",
            Self::Private | Self::Public => "a private network",
        }
    }
}

/// Returns the reach of an address to which a name was resolved.
pub(crate) fn ip_reach(address: IpAddr) -> AddressReach {
    match address {
        IpAddr::V4(address) => ipv4_reach(address),
        IpAddr::V6(address) => ipv6_reach(address),
    }
}

/// Returns the reach of a URL's address, however it is written.
pub(crate) fn reach(url: &Url) -> AddressReach {
    let Some(host) = url.host_str() else { return AddressReach::Machine };
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    if let Some(Ok(address)) = bare.map(str::parse) {
        return ipv6_reach(address);
    }
    if let Ok(address) = host.parse() {
        return ipv4_reach(address);
    }
    let name = host.trim_end_matches('.');
    let is_here = name == "localhost" || name.ends_with(".localhost");
    if is_here { AddressReach::Machine } else { AddressReach::Public }
}

fn ipv6_reach(address: Ipv6Addr) -> AddressReach {
    // An IPv4 address embedded in an IPv6 address counts as the IPv4 address.
    let older = address.to_ipv4_mapped().or_else(|| translated(address));
    if let Some(older) = older {
        ipv4_reach(older)
    } else if address.is_loopback() || address.is_unspecified() {
        AddressReach::Machine
    } else if address.is_unicast_link_local() {
        AddressReach::Link
    } else if address.is_unique_local() || is_local_translation(address) {
        AddressReach::Private
    } else {
        AddressReach::Public
    }
}

fn ipv4_reach(address: Ipv4Addr) -> AddressReach {
    let [first, second, ..] = address.octets();
    let is_shared = first == 100 && (64..128).contains(&second);
    // Addresses of network 0 mean this network; 0.0.0.0 leads to this machine.
    if address.is_loopback() || first == 0 {
        AddressReach::Machine
    } else if address.is_link_local() {
        AddressReach::Link
    } else if address.is_private() || is_shared || address.is_broadcast() {
        AddressReach::Private
    } else {
        AddressReach::Public
    }
}

/// Returns `true` for `64:ff9b:1::/48`, behind which a network translates to IPv4 addresses of its own, and for the site addresses
/// `fec0::/10` of older networks.
fn is_local_translation(address: Ipv6Addr) -> bool {
    matches!(address.segments(), [0x64, 0xff9b, 1, ..] | [0xfec0..=0xfeff, ..])
}

/// Returns the IPv4 address that an IPv6 address is translated to: `64:ff9b::/96`, `2002::/16`, and the older `::/96` without `::` and
/// `::1`.
fn translated(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let older = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(older(high, low)),
        [0x2002, high, low, ..] => Some(older(high, low)),
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 || low > 1 => Some(older(high, low)),
        _ => None,
    }
}

/// Parses a URL that a server names, to which tokens, codes or similar secrets are sent.
///
/// A URL whose reach is smaller than that of the server itself is refused, so that a server cannot direct a client to
/// programs on its own machine, or into its own network. Plain HTTP is allowed for this machine only.
///
/// # Errors
///
/// Returns the problem, worded to follow the name of the URL.
pub(crate) fn parse_trusted(text: &str, server: &Url) -> Result<Url, String> {
    let url: Url = text.parse().map_err(|_| "is not an address".to_owned())?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("contains a user name or password".to_owned());
    }
    let reach = reach(&url);
    let is_here = reach == AddressReach::Machine;
    match url.scheme() {
        "https" => {}
        "http" if is_here => {}
        scheme => return Err(format!("has the scheme `{scheme}`; expected `https`")),
    }
    if reach < self::reach(server) {
        let place = reach.place();
        return Err(format!("is at {place}, but the server is not"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_and_a_local_server_s_own_machine_are_trusted() {
        let remote: Url = "https://mcp.example/mcp".parse().unwrap();
        let local: Url = "http://localhost:1/mcp".parse().unwrap();
        let cases = [
            ("https://auth.example/token", true, true),
            ("http://auth.example/token", false, false),
            ("http://localhost:2/token", false, true),
            ("https://127.0.0.1/token", false, true),
            ("http://127.9.9.9/token", false, true),
            ("http://[::1]/token", false, true),
            ("http://localhost.example/token", false, false),
            ("https://me@auth.example/token", false, false),
            ("file:///etc/passwd", false, false),
            ("/token", false, false),
            ("https://[::1]/token", false, true),
            ("https://[::]/token", false, true),
            ("https://0.0.0.0/token", false, true),
            ("https://[::ffff:127.0.0.1]/token", false, true),
            ("http://[::ffff:7f00:1]/token", false, true),
            ("https://[64:ff9b::7f00:1]/token", false, true),
            ("https://127.1/token", false, true),
            ("https://2130706433/token", false, true),
            ("https://localhost./token", false, true),
            ("https://a.localhost/token", false, true),
            ("https://169.254.169.254/token", false, true),
            ("https://[::ffff:169.254.169.254]/token", false, true),
            ("https://[fe80::1]/token", false, true),
            ("https://10.0.0.1/token", false, true),
            ("https://172.16.0.1/token", false, true),
            ("https://192.168.0.1/token", false, true),
            ("https://100.64.0.1/token", false, true),
            ("https://[fd00::1]/token", false, true),
            ("https://[2002:c0a8:1::]/token", false, true),
            ("https://[::127.0.0.1]/token", false, true),
            ("https://[::169.254.169.254]/token", false, true),
            ("https://[::8.8.8.8]/token", true, true),
            ("https://[64:ff9b:1::808:808]/token", false, true),
            ("https://[fec0::1]/token", false, true),
            ("http://10.0.0.1/token", false, false),
            ("http://[fe80::1]/token", false, false),
            ("https://8.8.8.8/token", true, true),
            ("https://[2001:db8::1]/token", true, true),
        ];
        for (text, of_remote, of_local) in cases {
            let is_trusted = |server| parse_trusted(text, server).is_ok();
            assert_eq!((is_trusted(&remote), is_trusted(&local)), (of_remote, of_local), "{text}");
        }
    }

    #[test]
    fn a_server_of_a_private_network_sends_no_one_to_what_is_nearer() {
        let private: Url = "https://10.0.0.5/mcp".parse().unwrap();
        let cases = [
            ("https://10.1.2.3/token", None),
            ("https://[fd00::1]/token", None),
            ("https://auth.example/token", None),
            (
                "https://169.254.169.254/token",
                Some("is at the link of this machine, but the server is not"),
            ),
            ("https://127.0.0.1/token", Some("is at this machine, but the server is not")),
        ];
        for (text, want) in cases {
            assert_eq!(parse_trusted(text, &private).err().as_deref(), want, "{text}");
        }
        let public = "https://mcp.example".parse().unwrap();
        let error = parse_trusted("https://192.168.1.1/", &public).unwrap_err();
        assert_eq!(error, "is at a private network, but the server is not");
        assert!(!is_local(&private) && is_local(&"http://[::ffff:127.0.0.1]/".parse().unwrap()));
    }

    #[test]
    fn a_resource_has_no_query_and_an_origin_no_slash() {
        let cases = [
            ("https://h/mcp?key=1#f", "https://h/mcp"),
            ("https://h", "https://h"),
            ("https://H:443/", "https://h"),
            ("https://h/mcp/", "https://h/mcp/"),
        ];
        for (url, want) in cases {
            assert_eq!(resource(&url.parse().unwrap()), want);
        }
    }
}
