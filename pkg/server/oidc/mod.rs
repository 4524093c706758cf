//! Callers by the tokens of a login server.

mod claims;
mod error;
mod keys;
mod options;
mod pages;
mod ring_provider;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use axum::http::{StatusCode, request::Parts};
use futures_util::{FutureExt as _, future::BoxFuture};
use jsonwebtoken::{Header, Validation, decode, decode_header, errors::ErrorKind};
use tokio::{sync::Mutex, time::Instant};

use self::{
    claims::{Claims, caller_of},
    keys::KeySet,
    pages::read_keys,
};
pub use self::{error::OidcError, options::OidcOptions};
use crate::{
    Problem,
    access::identity::{Identify, bearer},
};
use forgeline_agent::Caller;
use forgeline_llm::transport::Transport;

/// Maximum length of a token, in bytes.
const MAX_TOKEN_BYTES: usize = 16 << 10;

/// Least time between two looks at the keys of the login server, whatever tokens say.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// Age at which keys are read again, so that one that was withdrawn is no longer accepted.
const KEYS_AGE: Duration = Duration::from_mins(15);

/// Callers by the tokens of an `OpenID Connect` login server: JSON Web Tokens, signed with a key that the server publishes. A token must have the
/// issuer and the audience of the [options](OidcOptions), and be valid now. Clones share the keys.
///
/// The keys are read at the start, every 15 minutes, and when a token has a key that is not known, at most each 10 s: a login server may change its
/// keys at any time. If it cannot be reached, the keys that were read last stay.
///
/// # Examples
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
///
/// use forgeline::{llm::transport::HttpTransport, server::{Service, oidc::{OidcCallers, OidcOptions}}};
///
/// let options = OidcOptions::new("https://login.example", "forgeline").scope_claim("org_id");
/// let callers = OidcCallers::connect(options, Arc::new(HttpTransport::new()?)).await?;
/// let service = Service::builder().identify(callers);
/// # drop(service);
/// # Ok(())
/// # }
/// # drop(example());
/// ```
#[derive(Clone)]
pub struct OidcCallers(Arc<OidcCallersInner>);

struct OidcCallersInner {
    options: OidcOptions,
    transport: Arc<dyn Transport>,
    keys: RwLock<KeySet>,
    /// The time of the last look at the login server, which one request makes at a time.
    looked: Mutex<Instant>,
    /// The time of the last look that found keys.
    read: RwLock<Instant>,
}

impl OidcCallers {
    /// Reads the keys of the login server.
    ///
    /// # Errors
    ///
    /// Returns an error if the server cannot be reached within 10 s, has another name, or has no key.
    ///
    /// # Cancel safety
    ///
    /// A dropped future has only read.
    pub async fn connect(
        options: OidcOptions,
        transport: Arc<dyn Transport>,
    ) -> Result<Self, OidcError> {
        ring_provider::install();
        let keys = read_keys(&*transport, &options.issuer).await?;
        let now = Instant::now();
        Ok(Self(Arc::new(OidcCallersInner {
            options,
            transport,
            keys: RwLock::new(keys),
            looked: Mutex::new(now),
            read: RwLock::new(now),
        })))
    }

    /// Returns `true` if the request has a token of this kind, right or wrong; false for one of a tokens file, which has no dots.
    #[must_use]
    pub fn is_for(parts: &Parts) -> bool {
        bearer(parts).is_some_and(|token| token.split('.').count() == 3)
    }

    /// Returns the caller of a token, or the reason why there is none.
    fn caller(&self, token: &str) -> Result<Caller, String> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(format!("it has more than {MAX_TOKEN_BYTES} bytes"));
        }
        let Header { alg, kid, .. } =
            decode_header(token).map_err(|_| "it is not a JSON Web Token".to_owned())?;
        let options = &self.0.options;
        let mut validation = Validation::new(alg);
        validation.set_issuer(&[&options.issuer]);
        validation.set_audience(&[&options.audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        (validation.leeway, validation.validate_nbf) = (options.leeway.as_secs(), true);
        let keys = self.0.keys.read().unwrap_or_else(PoisonError::into_inner);
        let key = keys.find(kid.as_deref()).filter(|key| key.allows(alg));
        let key = key.ok_or("it is signed with a key that the login server does not have")?;
        let claims = decode::<Claims>(token, &key.key, &validation);
        let claims = claims.map_err(|error| self.reason(error.kind()))?.claims;
        caller_of(&claims, options)
    }

    /// Returns the reason for which a token is refused. No part of the token is in it.
    fn reason(&self, kind: &ErrorKind) -> String {
        let OidcOptions { issuer, audience, leeway, .. } = &self.0.options;
        let leeway = leeway.as_secs();
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "all others are of the signature or the form"
        )]
        match kind {
            ErrorKind::ExpiredSignature => "it has expired; log in again".to_owned(),
            ErrorKind::ImmatureSignature => format!(
                "it is not valid yet; the clocks of the login server and of this service differ by more than {leeway} s"
            ),
            ErrorKind::InvalidIssuer => format!("its issuer is not `{issuer}`"),
            ErrorKind::InvalidAudience => format!("it is not for `{audience}`"),
            ErrorKind::MissingRequiredClaim(claim) => format!("it has no usable claim `{claim}`"),
            ErrorKind::InvalidClaimFormat(claim) => format!("its claim `{claim}` cannot be read"),
            _ => "its signature is wrong".to_owned(),
        }
    }

    /// Reads the keys again where this token, or the time, asks for it.
    async fn look(&self, token: &str) {
        let Ok(header) = decode_header(token) else { return };
        let is_known = || {
            let keys = self.0.keys.read().unwrap_or_else(PoisonError::into_inner);
            keys.find(header.kid.as_deref()).is_some()
        };
        let age = self.0.read.read().unwrap_or_else(PoisonError::into_inner).elapsed();
        let mut looked = match (is_known(), age > KEYS_AGE) {
            (true, false) => return,
            // Another request is looking, and the known key serves meanwhile.
            (true, true) => match self.0.looked.try_lock() {
                Ok(looked) => looked,
                Err(_) => return,
            },
            (false, _) => self.0.looked.lock().await,
        };
        if looked.elapsed() < LOOK_AGAIN {
            return;
        }
        *looked = Instant::now();
        match read_keys(&*self.0.transport, &self.0.options.issuer).await {
            Ok(keys) => {
                *self.0.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
                *self.0.read.write().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            }
            Err(error) => tracing::warn!(%error, "the keys that were read before stay"),
        }
    }
}

impl Identify for OidcCallers {
    fn identify(&self, parts: &Parts) -> Result<Caller, Problem> {
        let token = bearer(parts).ok_or_else(|| {
            let detail = "this needs a token of the login server: `Authorization: Bearer TOKEN`";
            Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
        })?;
        self.caller(token).map_err(|reason| {
            let detail = format!("the token is not accepted: {reason}");
            Problem::new(StatusCode::UNAUTHORIZED, "invalid_token", detail)
        })
    }

    fn prepare<'a>(&'a self, parts: &'a Parts) -> Option<BoxFuture<'a, ()>> {
        let token = bearer(parts).filter(|token| token.len() <= MAX_TOKEN_BYTES)?;
        Some(self.look(token).boxed())
    }
}

impl fmt::Debug for OidcCallers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("OidcCallers")
            .field("options", &self.0.options)
            .finish_non_exhaustive()
    }
}
