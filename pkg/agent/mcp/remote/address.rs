//! Addresses that secrets may be sent to.

use reqwest::Url;

/// Returns the origin and path of the address as a resource names itself: without query and fragment.
pub(super) fn resource(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    let text = url.to_string();
    // An origin is named without a slash behind it.
    if url.path() == "/" { text.trim_end_matches('/').to_owned() } else { text }
}

/// Returns `true` for an address of this machine.
pub(super) fn is_local(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost" | "[::1]") => true,
        Some(host) => host.parse().is_ok_and(|address: std::net::Ipv4Addr| address.is_loopback()),
        None => false,
    }
}

/// Reads an address that a server names, to which tokens, codes or their like are sent.
///
/// Plain HTTP, and this machine, count only when the server itself is here: no server may send a client to the
/// programs of its own machine.
///
/// # Errors
///
/// The problem, which follows the name of the address.
pub(super) fn trusted(text: &str, server: &Url) -> Result<Url, String> {
    let url: Url = text.parse().map_err(|_| "is not an address".to_owned())?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("has a user or a password".to_owned());
    }
    let is_here = is_local(&url);
    if is_here && !is_local(server) {
        return Err("is of this machine, and the server is not".to_owned());
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_here => Ok(url),
        scheme => Err(format!("is of the scheme `{scheme}`; expected `https`")),
    }
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
        ];
        for (text, of_remote, of_local) in cases {
            let is_trusted = |server| trusted(text, server).is_ok();
            assert_eq!((is_trusted(&remote), is_trusted(&local)), (of_remote, of_local), "{text}");
        }
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
