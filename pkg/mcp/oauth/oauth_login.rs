//! A login: the page that a person sees, its answer, and the resulting tokens.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tokio::time::timeout;
use url::Url;

use super::{
    authorization_server::AuthorizationServer,
    bearer_challenge::BearerChallenge,
    login_question::LoginQuestion,
    oauth_access::{NO_PERSON, OAuthAccess},
    oauth_exchange::server_message,
    token_grant::{ClientAuthMethod, OAuthClient, TokenGrant, TokenResponse},
};

/// Maximum wait for a person to log in.
const LOGIN_TIMEOUT: Duration = Duration::from_mins(5);

/// The scope for tokens that can be renewed, if a server supports it.
const OFFLINE: &str = "offline_access";

/// The response to a registration.
#[derive(Deserialize)]
struct ClientRegistration {
    client_id: String,
    client_secret: Option<String>,
    token_endpoint_auth_method: Option<String>,
}

impl OAuthAccess {
    /// Asks a person to log in.
    ///
    /// # Errors
    ///
    /// Returns the reason why no grant was obtained.
    pub(crate) async fn login(
        &self,
        authorization: &AuthorizationServer,
        challenge: &BearerChallenge,
        before: Option<&TokenGrant>,
    ) -> Result<TokenGrant, String> {
        if self.settings.is_for_itself {
            return self.for_itself(authorization, challenge, before).await;
        }
        let page = authorization.page.as_ref().map_err(String::clone)?;
        let Some(logins) = &self.logins else {
            return Err(NO_PERSON.to_owned());
        };
        let late = |_| format!("no person logged in within {LOGIN_TIMEOUT:?}");
        let person = timeout(LOGIN_TIMEOUT, logins.begin(&self.server)).await.map_err(late)?;
        let person = person.map_err(|error| error.to_string())?;
        let redirect = person.redirect_uri();
        let client = self.client(authorization, &redirect, before).await?;
        let scopes = self.scopes(authorization, challenge, before);
        let question = LoginQuestion::new(redirect, scopes)?;
        let page = question.page(page.clone(), &authorization.resource, &client);
        let answer = timeout(LOGIN_TIMEOUT, person.answer(page.as_str())).await;
        let answer = answer.map_err(late)?;
        let answer = answer.map_err(|error| error.to_string())?;
        let code = self.code(&answer, &question, authorization)?;
        self.exchanged(&code, question, authorization, client).await
    }

    /// Returns the client for the login: the one in the settings, the one of the previous login, or a new one.
    async fn client(
        &self,
        authorization: &AuthorizationServer,
        redirect: &str,
        before: Option<&TokenGrant>,
    ) -> Result<OAuthClient, String> {
        let proofs = authorization.proofs.as_deref();
        if let Some(id) = &self.settings.client_id {
            let secret = self.settings.client_secret.as_ref();
            if secret.is_some() && !self.may_have_secret(authorization) {
                let issuer = &authorization.issuer;
                return Err(format!(
                    "it names the authorization server {issuer}, which may not get \
                     `oauth.clientSecret`; if you trust it, set it as `oauth.issuer`"
                ));
            }
            let secret = secret.map(|secret| secret.expose().to_owned());
            let proof = if secret.is_some() {
                ClientAuthMethod::with_secret(proofs)
            } else {
                ClientAuthMethod::None
            };
            return Ok(OAuthClient { id: id.clone(), secret, proof, redirect: None });
        }
        if let Some(document) =
            self.settings.client_metadata_url.as_ref().filter(|_| authorization.takes_documents)
        {
            let (id, proof) = (document.clone(), ClientAuthMethod::None);
            return Ok(OAuthClient { id, secret: None, proof, redirect: None });
        }
        // The redirect URL is a part of the registration.
        let same = before.map(|grant| &grant.client);
        if let Some(client) = same.filter(|client| client.redirect.as_deref() == Some(redirect)) {
            return Ok(client.clone());
        }
        let Some(registration) = &authorization.registration else {
            return Err(
                "its authorization server does not accept new clients; set `oauth.clientId`"
                    .to_owned(),
            );
        };
        let asked = ClientAuthMethod::to_register(proofs);
        let body = json!({
            "client_name": "forgeline",
            "redirect_uris": [redirect],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": asked.name(),
            "application_type": "native",
        });
        let answer = self.exchange.post(registration, &body).await?;
        if !answer.is_success() {
            let words = answer.words(&self.secrets);
            return Err(format!("its authorization server does not register a client: {words}"));
        }
        let mut registered: ClientRegistration = answer.json("the registration of a client")?;
        registered.client_secret.take_if(|secret| secret.is_empty());
        let proof = match registered.token_endpoint_auth_method.as_deref() {
            Some(name) => {
                ClientAuthMethod::parse(name).ok_or("it asks for a proof that is not supported")?
            }
            None if registered.client_secret.is_some() => ClientAuthMethod::with_secret(proofs),
            None => ClientAuthMethod::None,
        };
        Ok(OAuthClient {
            id: registered.client_id,
            secret: registered.client_secret,
            proof,
            redirect: Some(redirect.to_owned()),
        })
    }

    /// Returns the scopes to request: those of the challenge, or else of the resource, together
    /// with those of the settings and of the previous login.
    fn scopes(
        &self,
        authorization: &AuthorizationServer,
        challenge: &BearerChallenge,
        before: Option<&TokenGrant>,
    ) -> Vec<String> {
        let mut scopes: Vec<String> = Vec::new();
        let mut add = |scope: &str| {
            if !scope.is_empty() && !scopes.iter().any(|known| known == scope) {
                scopes.push(scope.to_owned());
            }
        };
        before
            .filter(|_| challenge.is_step_up())
            .into_iter()
            .flat_map(|grant| &grant.scopes)
            .for_each(|it| add(it));
        match (&challenge.scope, &authorization.resource_scopes) {
            (Some(scope), _) => scope.split(' ').for_each(&mut add),
            (None, Some(named)) => named.iter().for_each(|it| add(it)),
            (None, None) => {}
        }
        self.settings.scopes.iter().for_each(|it| add(it));
        if authorization.scopes.iter().any(|scope| scope == OFFLINE) {
            add(OFFLINE);
        }
        scopes
    }

    /// Returns the code of an answer that belongs to the question and comes from the server that was asked.
    fn code(
        &self,
        answer: &str,
        question: &LoginQuestion,
        authorization: &AuthorizationServer,
    ) -> Result<String, String> {
        let url: Url =
            answer.parse().map_err(|_| "the answer of the login is not an address".to_owned())?;
        let member = |name: &str| {
            let mut pairs = url.query_pairs();
            pairs.find_map(|(key, value)| (key == name).then(|| value.into_owned()))
        };
        if member("state").as_ref() != Some(&question.state) {
            return Err("the answer of the login belongs to another question".to_owned());
        }
        match member("iss") {
            Some(issuer) if issuer != authorization.issuer => {
                return Err(format!(
                    "the answer of the login comes from another authorization server, `{issuer}`"
                ));
            }
            None if authorization.names_issuer => {
                return Err(
                    "the answer of the login does not say from which authorization server it comes"
                        .to_owned(),
                );
            }
            _ => {}
        }
        if let Some(error) = member("error") {
            let description = member("error_description").unwrap_or_default();
            let words = server_message(0, &error, &description, &self.secrets);
            return Err(format!("the login was refused: {words}"));
        }
        member("code").ok_or_else(|| "the answer of the login has no code".to_owned())
    }

    /// Exchanges a code for tokens.
    async fn exchanged(
        &self,
        code: &str,
        question: LoginQuestion,
        authorization: &AuthorizationServer,
        client: OAuthClient,
    ) -> Result<TokenGrant, String> {
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", question.redirect.as_str()),
            ("code_verifier", question.verifier.as_str()),
            ("resource", authorization.resource.as_str()),
        ];
        let secrets = [code, &question.verifier];
        let issued = self.issued(authorization, &client, &mut form, &secrets).await?;
        Ok(TokenGrant::new(issued, authorization, client, question.scopes))
    }

    /// Returns `true` for an authorization server that may receive the secret in the settings: the one named
    /// there, or one on the host of the MCP server. The metadata of a server has no influence on this.
    fn may_have_secret(&self, authorization: &AuthorizationServer) -> bool {
        let host = |text: &str| Url::parse(text).ok()?.host_str().map(str::to_owned);
        match &self.settings.issuer {
            Some(own) => own.trim_end_matches('/') == authorization.issuer.trim_end_matches('/'),
            None => host(&authorization.issuer)
                .is_some_and(|issuer| self.url.host_str() == Some(&*issuer)),
        }
    }

    /// Requests tokens for the client itself.
    async fn for_itself(
        &self,
        authorization: &AuthorizationServer,
        challenge: &BearerChallenge,
        before: Option<&TokenGrant>,
    ) -> Result<TokenGrant, String> {
        let client = self.client(authorization, "", before).await?;
        let scopes = self.scopes(authorization, challenge, before);
        let scope = scopes.join(" ");
        let mut form = vec![
            ("grant_type", "client_credentials"),
            ("resource", authorization.resource.as_str()),
        ];
        if !scope.is_empty() {
            form.push(("scope", &scope));
        }
        let issued = self.issued(authorization, &client, &mut form, &[]).await?;
        Ok(TokenGrant::new(issued, authorization, client, scopes))
    }

    /// Requests tokens with a form that contains these secrets.
    async fn issued<'f>(
        &self,
        authorization: &AuthorizationServer,
        client: &'f OAuthClient,
        form: &mut Vec<(&'static str, &'f str)>,
        secrets: &[&str],
    ) -> Result<TokenResponse, String> {
        let proof = client.prove(form);
        let answer = self.exchange.post_form(&authorization.token, form, proof).await?;
        if !answer.is_success() {
            let mut redactor = self.secrets.clone();
            for secret in secrets {
                redactor.add(secret);
            }
            client.hide(&mut redactor);
            let words = answer.words(&redactor);
            return Err(format!("its authorization server issued no token: {words}"));
        }
        let issued: TokenResponse = answer.json("a token")?;
        if !issued.is_bearer() {
            return Err("its authorization server issued a token of an unknown type".to_owned());
        }
        Ok(issued)
    }
}
