//! Checks of a request against the model's capabilities, before anything is sent.

use crate::{
    ProviderError, Request, Thinking, ToolChoice,
    media::{AcceptedMedia, document_text},
};
use forgeline_types::{Capabilities, MediaRules, Part, PictureKinds, Text, private::PartKinds};

/// Checks that the model supports what the request needs, and that there are tools if a call is
/// required.
pub(super) fn check(
    request: &Request,
    model: Capabilities,
    rules: MediaRules,
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
    let is_picky = rules.max_picture_letters.is_some() || rules.pictures != PictureKinds::Any;
    let is_any = model.vision && model.documents && !is_picky;
    if is_any || !request.messages.may_have(PartKinds::MEDIA) {
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
    let takes = AcceptedMedia::from((model, rules));
    // The words of a refusal that follow the name of a model, without their verb.
    let fault = parts().find_map(|part| takes.picture_fault(part));
    fault.map_or(Ok(()), |why| lacks(why.trim_start_matches("does not accept ")))
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
    use forgeline_types::{Message, MessageRole, ToolResult};

    // Rows: N-24
    #[test]
    fn a_picture_of_a_kind_or_size_that_no_model_of_the_vendor_takes_is_not_sent() {
        use crate::{
            RefusedContent, anthropic::Messages, gemini::GenerateContent, http::WireFormat,
            ollama::OllamaChat, openai::ChatCompletions, responses::Responses,
        };
        let rules = |base: &str, of: fn(&str) -> MediaRules| of(base);
        let openai: fn(&str) -> MediaRules = |base| {
            let mut config = ChatCompletions::defaults();
            config.base_url = base.into();
            ChatCompletions.media_rules(&config)
        };
        let anthropic = || Messages::default().media_rules(&Messages::defaults());
        let vendors = [
            ("openai", rules("https://api.openai.com/v1", openai)),
            ("mistral", rules("https://api.mistral.ai/v1", openai)),
            ("anthropic", anthropic()),
            ("gemini", GenerateContent::default().media_rules(&GenerateContent::defaults())),
            ("ollama", OllamaChat.media_rules(&OllamaChat::defaults())),
            ("responses", Responses::default().media_rules(&Responses::defaults())),
            ("llama.cpp", rules("http://127.0.0.1:8080", openai)),
        ];
        let all = ["openai", "mistral", "anthropic", "gemini", "ollama", "responses", "llama.cpp"];
        #[rustfmt::skip]
        let rows: [(&str, &str, &[&str]); 10] = [
            ("image/png",  "iVBORw0KGgo=",             &all),
            ("image/jpeg", "/9j/",                     &all),
            ("image/webp", "UklGRgECAwRXRUJQ",         &all),
            ("image/gif",  "R0lGODlh",                 &["openai", "mistral", "anthropic", "ollama", "responses", "llama.cpp"]),
            ("image/heic", "AAAAGGZ0eXBoZWlj",         &["gemini", "llama.cpp"]),
            ("image/heif", "AAAAGGZ0eXBtaWYx",         &["gemini", "llama.cpp"]),
            // The bytes tell more than the type.
            ("image/png",  "AAAAGGZ0eXBoZWlj",         &["gemini", "llama.cpp"]),
            ("image/tiff", "SUkqAAgAAAA=",             &["llama.cpp"]),
            ("image/bmp",  "Qk02AAAAAAA=",             &["llama.cpp"]),
            ("image/heic", "https://example.com/a",    &all),
        ];
        for (media_type, data, takers) in rows {
            let part = || Part::image(media_type.to_owned(), data.to_owned());
            let mut result = ToolResult::new("c", "look", "A page.");
            result.parts = vec![part()];
            let messages = [
                Message::new(MessageRole::User, vec![part()]),
                Message::new(MessageRole::Tool, vec![Part::ToolResult(result)]),
            ];
            for message in messages {
                let request = Request::new(vec![message].into());
                for (vendor, rules) in vendors {
                    let checked = check(&request, Capabilities::ALL, rules, vendor);
                    assert_eq!(checked.is_ok(), takers.contains(&vendor), "{vendor} {media_type}");
                    let Err(error) = checked else { continue };
                    assert_eq!(error.code(), ErrorCode::Unsupported, "{vendor} {media_type}");
                    assert_eq!(error.refused_content(), Some(RefusedContent::Media), "{error}");
                }
            }
        }
        // The vendor's limit, and one letter more.
        for (more, is_small) in [(0, true), (1, false)] {
            let data = format!("iVBORw0KGgo{}", "A".repeat((10 << 20) - 11 + more));
            let part = Part::image("image/png", data);
            let request = Request::new(vec![Message::new(MessageRole::User, vec![part])].into());
            let checked = check(&request, Capabilities::ALL, anthropic(), "anthropic");
            assert_eq!(checked.is_ok(), is_small, "{checked:?}");
        }
    }

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
                let found = check(&request, model, MediaRules::default(), "p")
                    .err()
                    .map(|error| error.code());
                assert_eq!(found, want, "{request:?} {model:?}");
            }
        }
    }
}
