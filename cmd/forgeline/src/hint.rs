//! Advice for every kind of failure.

use forgeline::types::{AgentError, ErrorCode};

/// Returns advice for a failure of this kind; empty when the message says it.
#[must_use]
pub fn hint(error: &AgentError) -> &'static str {
    match error.code {
        ErrorCode::Connect => "name another server with --base-url; --provider demo needs none",
        ErrorCode::Timeout => {
            "try again; if it keeps timing out, ask a smaller question or use another model"
        }
        ErrorCode::Status => "check --base-url and --model; the server's message is above",
        ErrorCode::RateLimited | ErrorCode::Overloaded => "wait a moment and try again",
        ErrorCode::QuotaExhausted => "check the account's billing page, or use another key",
        ErrorCode::ContextExceeded => {
            "shorten the prompt, set --context to the window of the server, shorten a chat with /compact or /clear, or choose a model with a larger window"
        }
        ErrorCode::ContentFiltered | ErrorCode::Refused => "rephrase the question",
        ErrorCode::MalformedAnswer | ErrorCode::InvalidAnswer => "try again, or use another model",
        ErrorCode::CutAnswer => "raise --max-tokens, or ask for less at once",
        ErrorCode::Auth => "check the key in the environment, or name another with --api-key-env",
        ErrorCode::InvalidRequest => "check --model and the flags; the server's message is above",
        ErrorCode::Decode => "check that this is a response body, and that --protocol fits it",
        ErrorCode::EndedEarly => {
            "check that the recording is complete; for a live server, try again"
        }
        ErrorCode::InStream => "the server's message is above; try again, or use another model",
        ErrorCode::Unsupported => "choose another provider with --provider",
        ErrorCode::MaxTurns => "raise --max-turns, or ask for less at once",
        ErrorCode::Budget => {
            "raise the budget (--budget-tokens, -time, -cost), or ask for less at once"
        }
        ErrorCode::CircuitBreaker => "see the failed calls above; rephrase the task",
        ErrorCode::Internal => "this is a bug in forgeline; please report it",
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
