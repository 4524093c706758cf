//! The tokens from a login.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::{Deserialize, Serialize};

use super::{authorization_server::AuthorizationServer, oauth_exchange::escape};
use forgeline_llm::private::SecretRedactor;

/// Time before its expiry from which a token is not used any more, in seconds.
const EARLY: u64 = 30;

/// The client as registered at the authorization server.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct OAuthClient {
    pub(crate) id: String,
    pub(crate) secret: Option<String>,
    pub(crate) proof: ClientAuthMethod,
    /// The redirect URL with which the client is registered; `None` for a client that was registered elsewhere.
    pub(crate) redirect: Option<String>,
}

/// The authentication method of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClientAuthMethod {
    None,
    ClientSecretBasic,
    ClientSecretPost,
}

/// Tokens, with their origin and the only place to which they may be sent.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct TokenGrant {
    pub(crate) issuer: String,
    pub(crate) token_endpoint: String,
    pub(crate) resource: String,
    pub(crate) client: OAuthClient,
    pub(crate) access_token: String,
    pub(crate) refresh_token: Option<String>,
    /// The expiry, in seconds since the Unix epoch; `None` when the server does not state it.
    pub(crate) expires_at: Option<u64>,
    pub(crate) scopes: Vec<String>,
}

/// The response of a token endpoint.
#[derive(Deserialize)]
pub(crate) struct TokenResponse {
    pub(crate) access_token: String,
    pub(crate) token_type: String,
    pub(crate) expires_in: Option<u64>,
    pub(crate) refresh_token: Option<String>,
    pub(crate) scope: Option<String>,
}

impl TokenResponse {
    /// Returns `true` for a token of the type that is sent as `Bearer`.
    pub(crate) fn is_bearer(&self) -> bool {
        self.token_type.eq_ignore_ascii_case("bearer")
    }

    /// Returns the scopes that the server names.
    fn scopes(&self) -> Option<Vec<String>> {
        Some(self.scope.as_ref()?.split(' ').map(str::to_owned).collect())
    }

    /// Returns the expiry of the token, in seconds since the Unix epoch. A token of less than a minute gets a later one, so that it is
    /// used for half of its time.
    pub(crate) fn expires_at(&self) -> Option<u64> {
        self.expires_in.map(|seconds| now().saturating_add(seconds.max(EARLY + seconds / 2)))
    }
}

impl TokenGrant {
    /// Creates the grant from the tokens that a server issued to a client for these scopes, unless the server names others.
    pub(crate) fn new(
        issued: TokenResponse,
        authorization: &AuthorizationServer,
        client: OAuthClient,
        scopes: Vec<String>,
    ) -> Self {
        Self {
            issuer: authorization.issuer.clone(),
            token_endpoint: authorization.token.to_string(),
            resource: authorization.resource.clone(),
            client,
            expires_at: issued.expires_at(),
            scopes: issued.scopes().unwrap_or(scopes),
            access_token: issued.access_token,
            refresh_token: issued.refresh_token,
        }
    }

    /// Takes over the result of a renewal; omitted members keep their values.
    pub(crate) fn renew(&mut self, issued: TokenResponse) {
        self.expires_at = issued.expires_at();
        if let Some(scopes) = issued.scopes() {
            self.scopes = scopes;
        }
        self.access_token = issued.access_token;
        self.refresh_token = issued.refresh_token.or(self.refresh_token.take());
    }

    /// Returns `true` for another grant of the same issuer and resource.
    pub(crate) fn is_instead_of(&self, other: &Self) -> bool {
        self.issuer == other.issuer
            && self.resource == other.resource
            && self.access_token != other.access_token
    }

    /// Returns `true` when the token has expired, or is about to.
    pub(crate) fn is_over(&self) -> bool {
        self.expires_at.is_some_and(|end| end <= now().saturating_add(EARLY))
    }

    /// Adds all secrets of the grant.
    pub(crate) fn hide(&self, redactor: &mut SecretRedactor) {
        redactor.add(&self.access_token);
        self.refresh_token.iter().for_each(|token| redactor.add(token));
        self.client.hide(redactor);
    }
}

impl OAuthClient {
    pub(crate) fn hide(&self, redactor: &mut SecretRedactor) {
        self.secret.iter().for_each(|secret| redactor.add(secret));
    }

    /// Adds the authentication to a form, or returns it as a header.
    pub(crate) fn prove<'f>(&'f self, form: &mut Vec<(&'static str, &'f str)>) -> Option<String> {
        let secret = self.secret.as_deref();
        if let (ClientAuthMethod::ClientSecretBasic, Some(secret)) = (self.proof, secret) {
            let pair = format!("{}:{}", escape(&self.id), escape(secret));
            return Some(format!("Basic {}", BASE64_STANDARD.encode(pair)));
        }
        form.push(("client_id", &self.id));
        if let (ClientAuthMethod::ClientSecretPost, Some(secret)) = (self.proof, secret) {
            form.push(("client_secret", secret));
        }
        None
    }
}

impl ClientAuthMethod {
    /// Parses the method named in a registration.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::None),
            "client_secret_basic" => Some(Self::ClientSecretBasic),
            "client_secret_post" => Some(Self::ClientSecretPost),
            _ => None,
        }
    }

    /// Returns the name used in registrations.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
        }
    }

    /// Returns the method for a client that has a secret.
    pub(crate) fn with_secret(offered: Option<&[String]>) -> Self {
        let offers =
            |name: &str| offered.is_some_and(|offered| offered.iter().any(|it| it == name));
        if offers("client_secret_post") && !offers("client_secret_basic") {
            Self::ClientSecretPost
        } else {
            Self::ClientSecretBasic
        }
    }

    /// Returns the method that a client requests when it registers.
    pub(crate) fn to_register(offered: Option<&[String]>) -> Self {
        match offered {
            Some(offered) if !offered.iter().any(|it| it == "none") => {
                Self::with_secret(Some(offered))
            }
            _ => Self::None,
        }
    }
}

/// Returns the seconds since the Unix epoch.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_used_for_half_of_its_time_or_until_30_seconds_before_its_end() {
        for (seconds, want) in [(0, 0), (1, 0), (10, 5), (59, 29), (60, 30), (3600, 3570)] {
            let response =
                format!(r#"{{"access_token":"a","token_type":"bearer","expires_in":{seconds}}}"#);
            let response: TokenResponse = serde_json::from_str(&response).unwrap();
            let begun = now();
            let used = response.expires_at().unwrap() - EARLY - begun;
            assert!(used == want || used == want + 1, "{seconds} s: used for {used} s");
        }
    }
}
