//! The table `[oidc]`: the login server whose tokens are accepted.

use std::time::Duration;

use forgeline::server::oidc::OidcOptions;

use super::ConfigValues;

/// The members.
pub(super) const NAMES: [&str; 7] = [
    "issuer",
    "audience",
    "caller_claim",
    "scope_claim",
    "permission_claim",
    "permissions",
    "leeway",
];

/// Reads the login server; `None` without an issuer.
pub(super) fn read_oidc(values: &mut ConfigValues<'_, '_>) -> Option<OidcOptions> {
    let mut text = |name: &str| {
        let text: Option<String> = values.parsed(&format!("oidc.{name}"), "a string in quotes");
        text.filter(|text| !text.is_empty())
    };
    let (issuer, audience) = (text("issuer"), text("audience"));
    let (caller, scope, roles) =
        (text("caller_claim"), text("scope_claim"), text("permission_claim"));
    let leeway: Option<u32> = values.parsed("oidc.leeway", "a number of seconds");
    let permissions = values.texts("oidc.permissions").unwrap_or_default();
    let is_given = NAMES.iter().any(|name| values.is_given(&format!("oidc.{name}"), None));
    let (Some(issuer), Some(audience)) = (issuer, audience) else {
        if is_given {
            let problem = "`[oidc]` needs `issuer`, the URL of the login server, and `audience`, its name for this service";
            values.mistakes.push(problem.to_owned());
        }
        return None;
    };
    let mut options = OidcOptions::new(issuer, audience);
    if let Some(claim) = caller {
        options = options.caller_claim(claim);
    }
    if let Some(claim) = scope {
        options = options.scope_claim(claim);
    }
    if let Some(claim) = roles {
        options = options.permission_claim(claim);
    } else if !permissions.is_empty() {
        let problem = "`oidc.permissions` needs `oidc.permission_claim`, the claim with the roles of a caller";
        values.mistakes.push(problem.to_owned());
    }
    for given in &permissions {
        match given.split_once('=').map(|(role, name)| (role.trim(), name.trim())) {
            Some((role, name)) if !role.is_empty() && !name.is_empty() => {
                options = options.permission(role, name);
            }
            _ => {
                let problem = "expected entries such as \"operator = service.observe\"";
                values.refuse("oidc.permissions", problem);
            }
        }
    }
    Some(match leeway {
        Some(seconds) => options.leeway(Duration::from_secs(seconds.into())),
        None => options,
    })
}
