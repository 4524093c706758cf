//! The question that a login asks at an authorization server.

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use ring::{
    digest::{SHA256, digest},
    rand::{SecureRandom as _, SystemRandom},
};
use url::Url;

use super::{oauth_exchange::encode_form, token_grant::OAuthClient};

/// The values of one login, which are used for no other.
pub(super) struct LoginQuestion {
    pub(super) state: String,
    pub(super) verifier: String,
    pub(super) redirect: String,
    pub(super) scopes: Vec<String>,
}

impl LoginQuestion {
    /// Creates the question for a login that returns to `redirect`.
    ///
    /// # Errors
    ///
    /// Returns an error on a system without random numbers.
    pub(super) fn new(redirect: String, scopes: Vec<String>) -> Result<Self, String> {
        Ok(Self { state: random()?, verifier: random()?, redirect, scopes })
    }

    /// Returns the URL of the page.
    pub(super) fn page(&self, mut page: Url, resource: &str, client: &OAuthClient) -> Url {
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, self.verifier.as_bytes()));
        let scope = self.scopes.join(" ");
        let mut form = vec![
            ("response_type", "code"),
            ("client_id", client.id.as_str()),
            ("redirect_uri", self.redirect.as_str()),
            ("code_challenge", challenge.as_str()),
            ("code_challenge_method", "S256"),
            ("state", self.state.as_str()),
            ("resource", resource),
        ];
        if !scope.is_empty() {
            form.push(("scope", &scope));
        }
        let query = match page.query() {
            Some(before) => format!("{before}&{}", encode_form(&form)),
            None => encode_form(&form),
        };
        page.set_query(Some(&query));
        page
    }
}

/// Returns a random string that cannot be guessed.
fn random() -> Result<String, String> {
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| "this system has no random numbers".to_owned())?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}
