//! Discovery of the metadata of resources, and of the authorization servers that protect them.

use serde::Deserialize;
use url::Url;

use super::{bearer_challenge::BearerChallenge, oauth_exchange::OAuthExchange};
use crate::addresses::address_reach::{parse_trusted, resource};

/// The metadata of a resource, as its server describes it.
#[derive(Debug, Deserialize)]
struct ResourceMetadata {
    resource: Option<String>,
    #[serde(default)]
    authorization_servers: Vec<String>,
    scopes_supported: Option<Vec<String>>,
}

/// The metadata of an authorization server, as it describes itself.
#[derive(Debug, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent members of a document")]
struct ServerMetadata {
    issuer: String,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    registration_endpoint: Option<String>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    scopes_supported: Vec<String>,
    #[serde(default)]
    client_id_metadata_document_supported: bool,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// The checked authorization server of a resource.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent members of a document")]
pub(crate) struct AuthorizationServer {
    /// The name of the resource at the authorization server.
    pub(crate) resource: String,
    /// The scopes that the resource names; `None` if it names none.
    pub(crate) resource_scopes: Option<Vec<String>>,
    pub(crate) issuer: String,
    /// The page where a person logs in, or the reason why there is none.
    pub(crate) page: Result<Url, String>,
    pub(crate) token: Url,
    pub(crate) registration: Option<Url>,
    /// The authentication methods for clients; `None` if the server does not list any.
    pub(crate) proofs: Option<Vec<String>>,
    pub(crate) scopes: Vec<String>,
    pub(crate) takes_documents: bool,
    /// `true` when each answer must name the issuer.
    pub(crate) names_issuer: bool,
}

impl AuthorizationServer {
    /// Finds the authorization server of the server at this URL.
    ///
    /// # Errors
    ///
    /// Returns the reason: nothing was found, or what was found must not be trusted.
    pub(crate) async fn find(
        exchange: &OAuthExchange,
        server: &Url,
        challenge: &BearerChallenge,
    ) -> Result<Self, String> {
        let described = describe(exchange, server, challenge).await?;
        let Some((resource, described)) = described else {
            // Before resource metadata existed, the server's own origin was the authorization server.
            let issuer = server.origin().ascii_serialization();
            let metadata = metadata_of(exchange, &issuer, server).await?;
            return Self::new(resource(server), None, metadata, server);
        };
        let Some(issuer) = described.authorization_servers.first() else {
            return Err("it names no authorization server".to_owned());
        };
        let metadata = metadata_of(exchange, issuer, server).await?;
        Self::new(resource, described.scopes_supported, metadata, server)
    }

    fn new(
        resource: String,
        resource_scopes: Option<Vec<String>>,
        metadata: ServerMetadata,
        server: &Url,
    ) -> Result<Self, String> {
        let endpoint = |name: &str, address: Option<&String>| match address {
            Some(address) => match parse_trusted(address, server) {
                Ok(url) => Ok(Some(url)),
                Err(problem) => Err(format!("the {name} of its authorization server {problem}")),
            },
            None => Ok(None),
        };
        let missing = |name: &str| format!("its authorization server has no {name}");
        let page = endpoint("authorization endpoint", metadata.authorization_endpoint.as_ref())?;
        let has_pkce = metadata.code_challenge_methods_supported.iter().any(|it| it == "S256");
        let page = match page {
            Some(page) if has_pkce => Ok(page),
            Some(_) => {
                Err("its authorization server does not support PKCE with S256, without which a \
                            login is not safe"
                    .to_owned())
            }
            None => Err(missing("authorization endpoint")),
        };
        let token = endpoint("token endpoint", metadata.token_endpoint.as_ref())?;
        Ok(Self {
            resource,
            resource_scopes,
            issuer: metadata.issuer,
            page,
            token: token.ok_or_else(|| missing("token endpoint"))?,
            registration: endpoint(
                "registration endpoint",
                metadata.registration_endpoint.as_ref(),
            )?,
            proofs: metadata.token_endpoint_auth_methods_supported,
            scopes: metadata.scopes_supported,
            takes_documents: metadata.client_id_metadata_document_supported,
            names_issuer: metadata.authorization_response_iss_parameter_supported,
        })
    }
}

/// The path of resource metadata, to which the path of the resource is appended.
const RESOURCES: &str = "/.well-known/oauth-protected-resource";

/// Returns the metadata of the resource, from the URL in the challenge or from the well-known ones,
/// and the name of the resource.
///
/// The name must be the server's own, as RFC 9728 requires (section 3.3). A name that contains the server,
/// such as its origin, also covers other servers: it is accepted if the metadata at that name's own URL says
/// the same, since only the owner of that URL can speak for everything below it.
///
/// # Errors
///
/// Returns an error when the metadata is of another resource: tokens for one must not be sent to the other, in either direction.
async fn describe(
    exchange: &OAuthExchange,
    server: &Url,
    challenge: &BearerChallenge,
) -> Result<Option<(String, ResourceMetadata)>, String> {
    let mut addresses = Vec::new();
    if let Some(named) = &challenge.resource_metadata {
        let named = parse_trusted(named, server);
        addresses.push(named.map_err(|problem| format!("the address of its metadata {problem}"))?);
    }
    let path = server.path().trim_end_matches('/');
    addresses.push(well_known(server, &format!("{RESOURCES}{path}")));
    addresses.push(well_known(server, RESOURCES));
    addresses.dedup();
    for (at, address) in addresses.into_iter().enumerate() {
        let answer = exchange.get(&address).await?;
        if !answer.is_success() {
            continue;
        }
        let described: ResourceMetadata = match answer.json("the description of a resource") {
            Ok(described) => described,
            Err(problem) if at == 0 && challenge.resource_metadata.is_some() => {
                return Err(problem);
            }
            // Many hosts return a page for each URL that they do not know.
            Err(_) => continue,
        };
        let Some(name) = described.resource.clone() else {
            return Ok(Some((resource(server), described)));
        };
        let holds = holder(&name, server)?;
        if holds.path().trim_end_matches('/') == path {
            return Ok(Some((name, described)));
        }
        return confirmed(exchange, &name, &holds, (&address, described)).await.map(Some);
    }
    Ok(None)
}

/// Returns the metadata of a resource that contains the server, from the URL of that resource.
async fn confirmed(
    exchange: &OAuthExchange,
    name: &str,
    holds: &Url,
    (found_at, described): (&Url, ResourceMetadata),
) -> Result<(String, ResourceMetadata), String> {
    let own = well_known(holds, &format!("{RESOURCES}{}", holds.path().trim_end_matches('/')));
    if own == *found_at {
        return Ok((name.to_owned(), described));
    }
    let unconfirmed = || {
        format!("its metadata is of `{name}`, which holds others too, and `{own}` does not say so")
    };
    let answer = exchange.get(&own).await?;
    if !answer.is_success() {
        return Err(unconfirmed());
    }
    let described: ResourceMetadata =
        answer.json("the description of a resource").map_err(|_| unconfirmed())?;
    if described.resource.as_deref() == Some(name) {
        Ok((name.to_owned(), described))
    } else {
        Err(unconfirmed())
    }
}

/// Returns the URL of a resource that is the server, or contains it.
fn holder(name: &str, server: &Url) -> Result<Url, String> {
    let other = || format!("its metadata is of another resource, `{name}`; expected this server's");
    let url: Url = name.parse().map_err(|_| other())?;
    let path = url.path().trim_end_matches('/');
    let below = server.path().strip_prefix(path);
    let is_ours = url.origin() == server.origin()
        && url.fragment().is_none()
        && below.is_some_and(|below| below.is_empty() || below.starts_with('/'));
    if is_ours { Ok(url) } else { Err(other()) }
}

/// Returns the metadata of an authorization server, if it describes that server itself.
async fn metadata_of(
    exchange: &OAuthExchange,
    issuer: &str,
    server: &Url,
) -> Result<ServerMetadata, String> {
    let url = parse_trusted(issuer, server);
    let url =
        url.map_err(|problem| format!("the address of its authorization server {problem}"))?;
    let path = url.path().trim_end_matches('/');
    let mut addresses = vec![
        well_known(&url, &format!("/.well-known/oauth-authorization-server{path}")),
        well_known(&url, &format!("/.well-known/openid-configuration{path}")),
    ];
    if !path.is_empty() {
        addresses.push(well_known(&url, &format!("{path}/.well-known/openid-configuration")));
    }
    let mut unread = None;
    for address in addresses {
        let answer = exchange.get(&address).await?;
        if !answer.is_success() {
            continue;
        }
        let metadata: ServerMetadata =
            match answer.json("the description of the authorization server") {
                Ok(metadata) => metadata,
                Err(problem) => {
                    unread = Some(problem);
                    continue;
                }
            };
        if metadata.issuer.trim_end_matches('/') != issuer.trim_end_matches('/') {
            return Err(format!(
                "its authorization server `{issuer}` says that it is another, `{}`",
                metadata.issuer
            ));
        }
        return Ok(metadata);
    }
    let words = format!("its authorization server `{issuer}` does not say how to log in");
    Err(unread.map_or(words.clone(), |problem| format!("{words}: {problem}")))
}

/// Returns a URL of the same origin.
fn well_known(of: &Url, path: &str) -> Url {
    let mut url = of.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
}
