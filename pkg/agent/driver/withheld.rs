//! Answers of which no call may run: refused, filtered, or not readable.

use forgeline_types::{AgentError, Completion, Ending, ErrorCode, FinishReason, ModelInfo, Text};

/// Returns the error of an answer that was refused or filtered, or that the provider or this library cannot read, with the
/// vendor's own words; `None` for every other answer.
pub(super) fn withheld(completion: &Completion, info: &ModelInfo) -> Option<AgentError> {
    let model = || named(completion.model.as_ref().unwrap_or(&info.model), info);
    let (code, what) = match completion.ending() {
        _ if completion.error.is_some() => return None,
        Ending::Refused => (ErrorCode::Refused, format!("{} refused to answer", model())),
        Ending::Filtered => {
            let (provider, model) = (provider(info), model());
            let what = format!("the content filter of {provider} stopped the answer of {model}");
            (ErrorCode::ContentFiltered, what)
        }
        Ending::Malformed if completion.finish_reason == Some(FinishReason::ToolCalls) => {
            let model = model();
            let what = format!("the answer of {model} says that it calls a tool, but has no call");
            (ErrorCode::MalformedAnswer, what)
        }
        Ending::Malformed => {
            let what = format!("{} could not read the answer of {}", provider(info), model());
            (ErrorCode::MalformedAnswer, what)
        }
        Ending::Answered
        | Ending::Limit
        | Ending::Empty
        | Ending::Invalid
        | Ending::Cut
        | Ending::Cancelled
        | Ending::Failed
        | _ => return None,
    };
    let words = completion.vendor_words();
    let message = words.map_or_else(|| what.clone(), |words| format!("{what}: {words}"));
    Some(AgentError::new(code, message))
}

fn provider(info: &ModelInfo) -> &str {
    if info.provider.is_empty() { "the provider" } else { &info.provider }
}

fn named(model: &Text, info: &ModelInfo) -> String {
    if model.is_empty() { format!("the model of {}", provider(info)) } else { model.to_string() }
}
