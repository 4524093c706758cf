//! The caller that the claims of a token describe.

use serde_json::{Map, Value};

use super::options::OidcOptions;
use forgeline_agent::Caller;

/// The claims of a token.
pub(super) type Claims = Map<String, Value>;

/// Maximum length of an id and of a scope, in bytes, as in a tokens file.
const MAX_NAME_BYTES: usize = 200;

/// The beginning of the scopes that callers without one have.
const OWN_SCOPE: &str = "caller:";

/// Returns the caller, or the reason why there is none.
pub(super) fn caller_of(claims: &Claims, options: &OidcOptions) -> Result<Caller, String> {
    let id = name(claims, &options.caller_claim)?;
    let mut caller = Caller::new(format!("{}{id}", options.caller_prefix));
    if let Some(claim) = &options.scope_claim {
        let scope = name(claims, claim)?;
        if scope.starts_with(OWN_SCOPE) {
            return Err(format!("its claim `{claim}` begins with `{OWN_SCOPE}`"));
        }
        caller = caller.scope(scope);
    }
    let Some(claim) = &options.permission_claim else { return Ok(caller) };
    let roles = roles(claims.get(&**claim));
    let given = options.permissions.iter().filter(|(role, _)| roles.contains(&&***role));
    Ok(given.flat_map(|(_, permissions)| permissions).cloned().fold(caller, Caller::permission))
}

/// Returns a claim that is a word.
fn name<'c>(claims: &'c Claims, claim: &str) -> Result<&'c str, String> {
    let text = claims.get(claim).and_then(Value::as_str);
    let text = text.ok_or_else(|| format!("it has no text in the claim `{claim}`"))?;
    let is_word = !text.is_empty()
        && text.len() <= MAX_NAME_BYTES
        && !text.chars().any(|sign| sign.is_whitespace() || sign.is_control());
    let refused = || format!("its claim `{claim}` is not a word of up to {MAX_NAME_BYTES} bytes");
    is_word.then_some(text).ok_or_else(refused)
}

fn roles(claim: Option<&Value>) -> Vec<&str> {
    match claim {
        Some(Value::String(words)) => words.split_ascii_whitespace().collect(),
        Some(Value::Array(roles)) => roles.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}
