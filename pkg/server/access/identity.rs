//! The caller of a request.

use std::fmt;

use axum::http::{StatusCode, header, request::Parts};
use futures_core::future::BoxFuture;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::Problem;
use forgeline_agent::Caller;

/// Identifies the sender of a request. Everything that a caller may see and do follows from the result: its runs belong to its scope, and nothing in a
/// request changes that.
///
/// Functions implement it: the host's own login can be one.
///
/// # Examples
///
/// ```
/// use axum::http::{StatusCode, request::Parts};
/// use forgeline::{agent::Caller, server::{Identify, Problem}};
///
/// fn of_proxy(parts: &Parts) -> Result<Caller, Problem> {
///     let user = parts.headers.get("x-user").and_then(|value| value.to_str().ok());
///     let user = user.ok_or_else(|| Problem::new(StatusCode::UNAUTHORIZED, "no_user", "log in first"))?;
///     Ok(Caller::new(user).scope("team-a"))
/// }
/// let _: Box<dyn Identify> = Box::new(of_proxy);
/// ```
pub trait Identify: Send + Sync + 'static {
    /// Returns the caller.
    ///
    /// # Errors
    ///
    /// The response to a request whose caller is not known.
    fn identify(&self, parts: &Parts) -> Result<Caller, Problem>;

    /// Waits for whatever [`identify`](Self::identify) needs, such as keys that a login server has changed. It is awaited first. Default: nothing.
    fn prepare<'a>(&'a self, parts: &'a Parts) -> Option<BoxFuture<'a, ()>> {
        let _ = parts;
        None
    }
}

impl<F: Fn(&Parts) -> Result<Caller, Problem> + Send + Sync + 'static> Identify for F {
    fn identify(&self, parts: &Parts) -> Result<Caller, Problem> {
        self(parts)
    }
}

/// Returns the token of a request.
pub(crate) fn bearer(parts: &Parts) -> Option<&str> {
    let (scheme, token) =
        parts.headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    // The scheme is case-insensitive.
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// Callers by bearer token. Only the SHA-256 of a token is stored.
///
/// # Examples
///
/// ```
/// use forgeline::{agent::Caller, server::Tokens};
///
/// let tokens = Tokens::new().token("s3cret", Caller::new("ann").scope("team-a"));
/// assert!(!format!("{tokens:?}").contains("s3cret"));
/// ```
#[derive(Clone, Default)]
pub struct Tokens(Vec<([u8; 32], Caller)>);

impl Tokens {
    /// Returns an empty set of tokens.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a token and its caller.
    #[must_use]
    pub fn token(self, token: &str, caller: Caller) -> Self {
        self.digest(Sha256::digest(token).into(), caller)
    }

    /// Adds the SHA-256 of a token and its caller.
    #[must_use]
    pub fn digest(mut self, digest: [u8; 32], caller: Caller) -> Self {
        self.0.retain(|(known, _)| *known != digest);
        self.0.push((digest, caller));
        self
    }

    /// Returns the number of tokens.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if there are no tokens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the caller of a token. Compares with every known token, each in constant time.
    fn find(&self, token: &str) -> Option<&Caller> {
        let digest: [u8; 32] = Sha256::digest(token).into();
        self.0.iter().fold(None, |found, (known, caller)| {
            if bool::from(known.ct_eq(&digest)) { Some(caller) } else { found }
        })
    }
}

impl Identify for Tokens {
    fn identify(&self, parts: &Parts) -> Result<Caller, Problem> {
        let caller = bearer(parts).and_then(|token| self.find(token));
        caller.cloned().ok_or_else(|| {
            let detail = "this needs a valid token: `Authorization: Bearer TOKEN`";
            Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
        })
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tokens").field("count", &self.0.len()).finish()
    }
}

/// The permission to read the metrics and latencies of the service.
pub(crate) const OBSERVE: &str = "service.observe";

/// The permission to send notifications to the whole scope.
pub(crate) const NOTIFY: &str = "service.notify";

/// The permission to read the audit rows of the scope.
pub(crate) const AUDIT: &str = "service.audit";

/// The permission to list the runs of everyone in the scope.
pub(crate) const RUNS: &str = "service.runs";

const ALL: [&str; 4] = [OBSERVE, NOTIFY, AUDIT, RUNS];

/// Refuses a caller without this permission.
pub(crate) fn check_permission(caller: &Caller, permission: &str) -> Result<(), Problem> {
    if caller.has_permission(permission) {
        return Ok(());
    }
    let detail = format!("this needs the permission `{permission}`");
    Err(Problem::new(StatusCode::FORBIDDEN, "not_permitted", detail))
}

/// All programs of this machine, as one caller.
#[derive(Debug)]
pub(crate) struct LocalCallers;

impl Identify for LocalCallers {
    fn identify(&self, parts: &Parts) -> Result<Caller, Problem> {
        super::loopback::check(parts)?;
        let caller = Caller::new("local").scope("local");
        // Callers of this machine have every permission.
        Ok(ALL.into_iter().fold(caller, Caller::permission))
    }
}
