//! Advice for every kind of failure.

use forgeline::types::{AgentError, ErrorCode};

/// Returns advice for a failure of this kind; empty when the message says it.
#[must_use]
pub fn hint(error: &AgentError) -> &'static str {
    match error.code {
        ErrorCode::Connect => "name another server with --base-url; --provider demo needs none",
        ErrorCode::Timeout => "try again; if it stays so, ask a smaller question or another model",
        ErrorCode::Status => "check --base-url and --model; the server's words are above",
        ErrorCode::RateLimited | ErrorCode::Overloaded => "wait a little and try again",
        ErrorCode::QuotaExhausted => "look at the account's billing page, or choose another key",
        ErrorCode::ContextExceeded => "make the prompt shorter, or choose a larger model",
        ErrorCode::ContentFiltered => "put the question in other words",
        ErrorCode::Auth => "check the key in the environment, or name another with --api-key-env",
        ErrorCode::InvalidRequest => "check --model and the flags; the server's words are above",
        ErrorCode::Decode => "check that this is a response body, and its --protocol",
        ErrorCode::EndedEarly => "check that the recording is whole; for a live server, try again",
        ErrorCode::InStream => "the server's words are above; try again, or another model",
        ErrorCode::Unsupported => "choose another provider with --provider",
        ErrorCode::MaxTurns => "raise --max-turns, or ask for less at once",
        ErrorCode::Budget => {
            "raise the budget (--budget-tokens, -time, -cost), or ask for less at once"
        }
        ErrorCode::CircuitBreaker => "see the failed calls above; put the task in other words",
        ErrorCode::Internal => "this is a fault of the program; please report it",
        ErrorCode::Cancelled | ErrorCode::Shutdown | _ => "",
    }
}

/// Reports a failure on stderr, with advice.
pub fn tell(error: &AgentError) {
    let message = crate::render::escape_controls(&error.message).into_owned();
    crate::exit::complain(&message);
    let hint = hint(error);
    if !hint.is_empty() {
        crate::exit::note(&format!("hint: {hint}"));
    }
}
