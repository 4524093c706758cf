//! Checks of a request against the model's capabilities, before anything is sent.

use crate::{ProviderError, Request, Thinking, ToolChoice, media::document_text};
use forgeline_types::{Capabilities, Part, Text};

/// Checks that the model supports what the request needs, and that there are tools if a call is
/// required.
pub(super) fn check(
    request: &Request,
    model: Capabilities,
    provider: &str,
) -> Result<(), ProviderError> {
    let lacks = |feature: &str| Err(ProviderError::unsupported(provider, feature));
    if !model.tools && !request.tools.is_empty() {
        return lacks("native tools; write the tools into the prompt instead");
    }
    let is_off = |effort: &Text| effort == "none";
    let thinks = !matches!(request.thinking, None | Some(Thinking::Off))
        || request.reasoning_effort.as_ref().is_some_and(|effort| !is_off(effort));
    if !model.thinking && thinks {
        return lacks("reasoning; leave `thinking` and `reasoning_effort` unset");
    }
    if !model.parallel_tools && request.parallel_tool_calls == Some(true) {
        return lacks("several calls in one response; leave `parallel_tool_calls` unset");
    }
    let is_forced = matches!(request.tool_choice, Some(ToolChoice::Required | ToolChoice::Tool(_)));
    if is_forced && request.tools.is_empty() && !request.extra.contains_key("tools") {
        return Err(ProviderError::config(
            "`tool_choice` asks for a call, but the request has no tools",
        ));
    }
    if !model.structured_output && request.response_format.is_some() {
        return lacks("a response format");
    }
    if model.vision && model.documents {
        return Ok(());
    }
    let parts = || {
        let parts = request.messages.iter().flat_map(|message| &message.parts);
        parts.flat_map(|part| {
            let within = part.as_tool_result().map(|result| &result.parts);
            std::iter::once(part).chain(within.into_iter().flatten())
        })
    };
    if !model.vision && parts().any(|part| matches!(part, Part::Image { .. })) {
        return lacks("images");
    }
    let is_document =
        |part: &Part| matches!(part, Part::Document { .. }) && document_text(part).is_none();
    if !model.documents && parts().any(is_document) {
        return lacks("documents");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        Thinking::{Budget, Off, On},
        ToolSpec,
    };
    use forgeline_types::ErrorCode;

    #[test]
    fn what_a_model_lacks_fails_and_what_asks_for_nothing_passes() {
        let ask = || Request::prompt("x");
        let tools = || ask().tools(vec![ToolSpec::new("t", "T.", json!({}))]);
        let named = ToolChoice::Tool("t".into());
        let lacks = Some(ErrorCode::Unsupported);
        let wrong = Some(ErrorCode::InvalidRequest);
        let nothing = Capabilities::default();
        let all = Capabilities::default().tools(true).parallel_tools(true).thinking(true);
        #[rustfmt::skip]
        let cases = [
            (ask(),                                     None,  None),
            (ask().thinking(Off),                       None,  None),
            (ask().thinking(On),                        lacks, None),
            (ask().thinking(Budget(9)),                 lacks, None),
            (ask().reasoning_effort("low"),             lacks, None),
            (ask().reasoning_effort("none"),            None,  None),
            (ask().parallel_tool_calls(true),           lacks, None),
            (ask().parallel_tool_calls(false),          None,  None),
            (tools(),                                   lacks, None),
            (ask().tool_choice(ToolChoice::Auto),       None,  None),
            (ask().tool_choice(ToolChoice::None),       None,  None),
            (ask().tool_choice(ToolChoice::Required),   wrong, wrong),
            (ask().tool_choice(named.clone()),          wrong, wrong),
            (tools().tool_choice(named),                lacks, None),
            (ask().tool_choice(ToolChoice::Required).extra("tools", json!([{}])), None, None),
        ];
        for (request, able_to_nothing, able_to_all) in cases {
            for (model, want) in [(nothing, able_to_nothing), (all, able_to_all)] {
                let found = check(&request, model, "p").err().map(|error| error.code());
                assert_eq!(found, want, "{request:?} {model:?}");
            }
        }
    }
}
