//! A login: the page that a person sees, its answer, and the resulting tokens.

use std::time::Duration;

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use reqwest::Url;
use ring::{
    digest::{SHA256, digest},
    rand::{SecureRandom as _, SystemRandom},
};
use secrecy::ExposeSecret as _;
use serde::Deserialize;
use serde_json::json;
use tokio::time::timeout;

use super::{
    Access, NO_PERSON,
    challenge::Challenge,
    discovery::Guard,
    exchange::{encode_form, said_of},
    grant::{Client, Grant, Issued, Proof},
};

/// Maximum wait for a person to log in.
const LOGIN_TIMEOUT: Duration = Duration::from_mins(5);

/// The scope for tokens that can be renewed, if a server supports it.
const OFFLINE: &str = "offline_access";

/// The response to a registration.
#[derive(Deserialize)]
struct Registered {
    client_id: String,
    client_secret: Option<String>,
    token_endpoint_auth_method: Option<String>,
}

/// The values of one login, which are used for no other.
struct Question {
    state: String,
    verifier: String,
    redirect: String,
    scopes: Vec<String>,
}

impl Access {
    /// Asks a person to log in.
    ///
    /// # Errors
    ///
    /// Returns the reason why no grant was obtained.
    pub(super) async fn login(
        &self,
        guard: &Guard,
        challenge: &Challenge,
        before: Option<&Grant>,
    ) -> Result<Grant, String> {
        if self.settings.is_for_itself {
            return self.for_itself(guard, challenge, before).await;
        }
        let page = guard.page.as_ref().map_err(String::clone)?;
        let Some(logins) = &self.logins else {
            return Err(NO_PERSON.to_owned());
        };
        let late = |_| format!("no person logged in within {LOGIN_TIMEOUT:?}");
        let person = timeout(LOGIN_TIMEOUT, logins.begin(&self.server)).await.map_err(late)?;
        let person = person.map_err(|error| error.to_string())?;
        let redirect = person.redirect_uri();
        let client = self.client(guard, &redirect, before).await?;
        let scopes = self.scopes(guard, challenge, before);
        let question = Question { state: random()?, verifier: random()?, redirect, scopes };
        let page = question.page(page.clone(), &guard.resource, &client);
        let answer = timeout(LOGIN_TIMEOUT, person.answer(page.as_str())).await;
        let answer = answer.map_err(late)?;
        let answer = answer.map_err(|error| error.to_string())?;
        let code = self.code(&answer, &question, guard)?;
        self.exchanged(&code, question, guard, client).await
    }

    /// Returns the client for the login: the one in the settings, the one of the previous login, or a new one.
    async fn client(
        &self,
        guard: &Guard,
        redirect: &str,
        before: Option<&Grant>,
    ) -> Result<Client, String> {
        let proofs = guard.proofs.as_deref();
        if let Some(id) = &self.settings.client_id {
            let secret = self.settings.client_secret.as_ref();
            if secret.is_some() && !self.may_have_secret(guard) {
                let issuer = &guard.issuer;
                return Err(format!(
                    "it names the authorization server {issuer}, which may not get `oauth.clientSecret`; \
                     if it is yours, give it as `oauth.issuer`"
                ));
            }
            let secret = secret.map(|secret| secret.expose_secret().to_owned());
            let proof = if secret.is_some() { Proof::with_secret(proofs) } else { Proof::None };
            return Ok(Client { id: id.clone(), secret, proof, redirect: None });
        }
        if let Some(document) =
            self.settings.client_metadata_url.as_ref().filter(|_| guard.takes_documents)
        {
            let (id, proof) = (document.clone(), Proof::None);
            return Ok(Client { id, secret: None, proof, redirect: None });
        }
        // The redirect URL is a part of the registration.
        let same = before.map(|grant| &grant.client);
        if let Some(client) = same.filter(|client| client.redirect.as_deref() == Some(redirect)) {
            return Ok(client.clone());
        }
        let Some(registration) = &guard.registration else {
            return Err("its authorization server takes no new clients; give it `oauth.clientId`"
                .to_owned());
        };
        let asked = Proof::to_register(proofs);
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
        let registered: Registered = answer.json("the registration of a client")?;
        let proof = match registered.token_endpoint_auth_method.as_deref() {
            Some(name) => Proof::named(name).ok_or("it asks for a proof that is not supported")?,
            None if registered.client_secret.is_some() => Proof::with_secret(proofs),
            None => Proof::None,
        };
        Ok(Client {
            id: registered.client_id,
            secret: registered.client_secret,
            proof,
            redirect: Some(redirect.to_owned()),
        })
    }

    /// Returns the scopes to request: those of the challenge, or else of the resource, together
    /// with those of the settings and of the previous login.
    fn scopes(&self, guard: &Guard, challenge: &Challenge, before: Option<&Grant>) -> Vec<String> {
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
        match (&challenge.scope, &guard.resource_scopes) {
            (Some(scope), _) => scope.split(' ').for_each(&mut add),
            (None, Some(named)) => named.iter().for_each(|it| add(it)),
            (None, None) => {}
        }
        self.settings.scopes.iter().for_each(|it| add(it));
        if guard.scopes.iter().any(|scope| scope == OFFLINE) {
            add(OFFLINE);
        }
        scopes
    }

    /// Returns the code of an answer that belongs to the question and comes from the server that was asked.
    fn code(&self, answer: &str, question: &Question, guard: &Guard) -> Result<String, String> {
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
            Some(issuer) if issuer != guard.issuer => {
                return Err(format!(
                    "the answer of the login comes from another authorization server, `{issuer}`"
                ));
            }
            None if guard.names_issuer => {
                return Err(
                    "the answer of the login does not say from which authorization server it comes"
                        .to_owned(),
                );
            }
            _ => {}
        }
        if let Some(error) = member("error") {
            let description = member("error_description").unwrap_or_default();
            let words = said_of(0, &error, &description, &self.secrets);
            return Err(format!("the login was refused: {words}"));
        }
        member("code").ok_or_else(|| "the answer of the login has no code".to_owned())
    }

    /// Exchanges a code for tokens.
    async fn exchanged(
        &self,
        code: &str,
        question: Question,
        guard: &Guard,
        client: Client,
    ) -> Result<Grant, String> {
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", question.redirect.as_str()),
            ("code_verifier", question.verifier.as_str()),
            ("resource", guard.resource.as_str()),
        ];
        let secrets = [code, &question.verifier];
        let issued = self.issued(guard, &client, &mut form, &secrets).await?;
        Ok(Grant::new(issued, guard, client, question.scopes))
    }

    /// Returns `true` for an authorization server that may receive the secret in the settings: the one named
    /// there, or one on the host of the MCP server. The metadata of a server has no influence on this.
    fn may_have_secret(&self, guard: &Guard) -> bool {
        let host = |text: &str| Url::parse(text).ok()?.host_str().map(str::to_owned);
        match &self.settings.issuer {
            Some(own) => own.trim_end_matches('/') == guard.issuer.trim_end_matches('/'),
            None => host(&guard.issuer).is_some_and(|issuer| self.url.host_str() == Some(&*issuer)),
        }
    }

    /// Requests tokens for the client itself.
    async fn for_itself(
        &self,
        guard: &Guard,
        challenge: &Challenge,
        before: Option<&Grant>,
    ) -> Result<Grant, String> {
        let client = self.client(guard, "", before).await?;
        let scopes = self.scopes(guard, challenge, before);
        let scope = scopes.join(" ");
        let mut form =
            vec![("grant_type", "client_credentials"), ("resource", guard.resource.as_str())];
        if !scope.is_empty() {
            form.push(("scope", &scope));
        }
        let issued = self.issued(guard, &client, &mut form, &[]).await?;
        Ok(Grant::new(issued, guard, client, scopes))
    }

    /// Requests tokens with a form that contains these secrets.
    async fn issued<'f>(
        &self,
        guard: &Guard,
        client: &'f Client,
        form: &mut Vec<(&'static str, &'f str)>,
        secrets: &[&str],
    ) -> Result<Issued, String> {
        let proof = client.prove(form);
        let answer = self.exchange.post_form(&guard.token, form, proof).await?;
        if !answer.is_success() {
            let mut redactor = self.secrets.clone();
            for secret in secrets {
                redactor.add(secret);
            }
            client.hide(&mut redactor);
            let words = answer.words(&redactor);
            return Err(format!("its authorization server gives no token: {words}"));
        }
        let issued: Issued = answer.json("a token")?;
        if !issued.is_bearer() {
            return Err("its authorization server gives a token of an unknown type".to_owned());
        }
        Ok(issued)
    }
}

impl Question {
    /// Returns the URL of the page.
    fn page(&self, mut page: Url, resource: &str, client: &Client) -> Url {
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
