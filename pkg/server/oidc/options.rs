//! The login server, and the claims that make a caller.

use std::{collections::BTreeMap, time::Duration};

use forgeline_types::{Text, setters};

/// The login server whose tokens are accepted, and the claims of a token that make a caller.
///
/// # Examples
///
/// ```
/// use forgeline::server::oidc::OidcOptions;
///
/// let options = OidcOptions::new("https://login.example", "forgeline")
///     .scope_claim("org_id")
///     .permission_claim("roles")
///     .permission("operator", "service.observe");
/// assert_eq!(options.caller_claim, "sub");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OidcOptions {
    /// Required. The issuer: the URL of the login server, exactly as its tokens have it in `iss`.
    pub issuer: Text,
    /// Required. The audience: the name under which the login server knows this service, which the tokens have in `aud`.
    pub audience: Text,
    /// The claim with the id of the person or program. It must never be given to another one. Default: `sub`.
    pub caller_claim: Text,
    /// The text before each id, which keeps these callers apart from those of a tokens file. Default: `oidc:`.
    pub caller_prefix: Text,
    /// The claim with the scope of the caller, without which a token is refused. Default: none; each caller has a scope of its own.
    pub scope_claim: Option<Text>,
    /// The claim with the groups or roles of the caller: an array of strings, or a string of words. Default: none.
    pub permission_claim: Option<Text>,
    /// The permissions of each group or role. Default: none.
    pub permissions: BTreeMap<Text, Vec<Text>>,
    /// The difference between the clocks of the login server and of this machine that is accepted. Default: 60 s.
    pub leeway: Duration,
}

impl OidcOptions {
    /// Returns the options for an issuer and an audience.
    #[must_use]
    pub fn new(issuer: impl Into<Text>, audience: impl Into<Text>) -> Self {
        Self {
            issuer: issuer.into(),
            audience: audience.into(),
            caller_claim: "sub".into(),
            caller_prefix: "oidc:".into(),
            scope_claim: None,
            permission_claim: None,
            permissions: BTreeMap::new(),
            leeway: Duration::from_mins(1),
        }
    }

    setters! {
        OidcOptions:
        caller_claim(into Text),
        caller_prefix(into Text),
        scope_claim(some into Text),
        permission_claim(some into Text),
        leeway(Duration),
    }

    /// Gives a permission to all callers of a group or role.
    #[must_use]
    pub fn permission(mut self, role: impl Into<Text>, permission: impl Into<Text>) -> Self {
        self.permissions.entry(role.into()).or_default().push(permission.into());
        self
    }
}
