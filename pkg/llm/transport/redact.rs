//! Redaction of addresses.

/// Redacts what may be secret in `url`: a user and password, and the values of a query.
pub(in crate::llm) fn redact_url(url: &str) -> String {
    let url = url.split_once('#').map_or(url, |(url, _)| url);
    let (address, query) =
        url.split_once('?').map_or((url, None), |(url, query)| (url, Some(query)));
    let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
    let host_end = rest.find('/').unwrap_or(rest.len());
    let (host, path) = rest.split_at_checked(host_end).unwrap_or((rest, ""));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let mut out = if scheme.is_empty() { String::new() } else { format!("{scheme}://") };
    out.push_str(host);
    out.push_str(path);
    for (at, pair) in query.into_iter().flat_map(|query| query.split('&')).enumerate() {
        let name = pair.split_once('=').map_or(pair, |(name, _)| name);
        out.push(if at == 0 { '?' } else { '&' });
        out.push_str(name);
        out.push_str("=…");
    }
    out
}
