//! Notices beside the answer, one line each: failed attempts and items of the provider.

use forgeline::types::{AgentEvent, Citation, FailoverEvent, ItemKind, ProviderItem, RetryEvent};

/// Returns the notice of a failed attempt; `None` for every other event.
pub(super) fn attempt(event: &AgentEvent) -> Option<String> {
    if let AgentEvent::Retry(RetryEvent { attempt, max_attempts, delay_ms, error, .. }) = event {
        let (next, wait) = (attempt + 1, seconds(*delay_ms));
        let what = &error.message;
        // The next step comes first: a long line is cut.
        return Some(format!(
            "attempt {next} of {max_attempts} in {wait} s, the last failed: {what}"
        ));
    }
    let AgentEvent::Failover(FailoverEvent {
        from_provider,
        to_provider,
        to_model,
        position,
        reason,
        ..
    }) = event
    else {
        return None;
    };
    let verb = if *position == 0 { "asking" } else { "continuing with" };
    let next = match (to_provider.as_str(), to_model.as_str()) {
        ("", _) => "skipping one that cannot be built".to_owned(),
        (name, "") => format!("{verb} {name}"),
        (name, model) => format!("{verb} {name}, {model}"),
    };
    if *position == 0 {
        return Some(format!("{next} again: {reason}"));
    }
    Some(format!("{next}; {from_provider} failed: {reason}"))
}

/// Returns the source that an item names.
pub(super) fn source(item: &ProviderItem) -> Option<String> {
    let ItemKind::Citation(citation) = &item.kind else { return None };
    let Citation { url, title, cited_text, document_index, .. } = citation;
    let parts = match (title, url) {
        (Some(title), Some(url)) => format!("{title}, {url}"),
        (Some(name), None) | (None, Some(name)) => name.to_string(),
        (None, None) => match (cited_text, document_index) {
            (Some(text), _) => format!("\u{201c}{}\u{201d}", text.trim()),
            (None, Some(index)) => format!("document {}", index + 1),
            (None, None) => return None,
        },
    };
    Some(format!("source: {parts}"))
}

/// Returns the notice of any other item; `None` for one that only the provider can read.
pub(super) fn item(item: &ProviderItem) -> Option<String> {
    match &item.kind {
        ItemKind::ServerToolCall { tool_name, arguments, .. } => {
            Some(format!("{tool_name} (run by {}) {arguments}", item.protocol))
        }
        ItemKind::ServerToolResult { tool_name, is_error, .. } => {
            let how = if *is_error { "failed" } else { "answered" };
            Some(format!("{tool_name} {how}"))
        }
        ItemKind::Media { media_type, .. } => Some(format!("made by the model: {media_type}")),
        ItemKind::Other { name, .. } => Some(format!("from {}: {name}", item.protocol)),
        ItemKind::Citation(_) | ItemKind::Reasoning | _ => None,
    }
}

/// Milliseconds as seconds with one decimal, rounded up.
fn seconds(ms: u64) -> String {
    let tenths = ms.div_ceil(100);
    format!("{}.{}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use forgeline::types::{AgentError, ErrorCode, Json};

    use super::*;

    #[test]
    fn failed_attempts_say_why_and_what_comes_next() {
        let retry = |delay_ms| {
            AgentEvent::Retry(
                RetryEvent::new(
                    1,
                    3,
                    AgentError::new(ErrorCode::Overloaded, "the server answered 529"),
                )
                .delay_ms(delay_ms),
            )
        };
        let failover = |position, to_provider: &str, to_model: &str| {
            AgentEvent::Failover(
                FailoverEvent::new("one", to_provider, to_model)
                    .position(position)
                    .length(2)
                    .reason("overloaded"),
            )
        };
        #[rustfmt::skip]
        let cases = [
            (retry(500),           "attempt 2 of 3 in 0.5 s, the last failed: the server answered 529"),
            (retry(12_345),        "attempt 2 of 3 in 12.4 s, the last failed: the server answered 529"),
            (failover(1, "two", "m"), "continuing with two, m; one failed: overloaded"),
            (failover(1, "two", ""),  "continuing with two; one failed: overloaded"),
            (failover(1, "", ""),     "skipping one that cannot be built; one failed: overloaded"),
            (failover(0, "two", "m"), "asking two, m again: overloaded"),
        ];
        for (event, want) in cases {
            assert_eq!(attempt(&event).as_deref(), Some(want));
        }
        assert_eq!(attempt(&AgentEvent::TurnEnd), None);
    }

    #[test]
    fn each_kind_of_item_has_its_words() {
        let some = |kind| ProviderItem::new("p", kind, Json::default());
        let cite = |url: &str, title: &str, text: &str, document_index| {
            let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            let mut citation = Citation::default();
            citation.url = known(url).map(Into::into);
            citation.title = known(title).map(Into::into);
            citation.cited_text = known(text);
            citation.document_index = document_index;
            some(ItemKind::Citation(citation))
        };
        let call =
            ItemKind::server_tool_call("1", "web_search", Json::parse(r#"{"query":"x"}"#).unwrap());
        let result = |is_error| ItemKind::server_tool_result("1", "web_search", is_error);
        #[rustfmt::skip]
        let cases = [
            (cite("http://x", "T", "c", Some(0)),                 Some("source: T, http://x")),
            (cite("http://x", "", "c", None),                     Some("source: http://x")),
            (cite("", "", " c ", None),                           Some("source: “c”")),
            (cite("", "", "", Some(1)),                           Some("source: document 2")),
            (cite("", "", "", None),                              None),
            (some(call),                                          Some(r#"web_search (run by p) {"query":"x"}"#)),
            (some(result(false)),                                 Some("web_search answered")),
            (some(result(true)),                                  Some("web_search failed")),
            (some(ItemKind::media("image/png")), Some("made by the model: image/png")),
            (some(ItemKind::other("compaction")), Some("from p: compaction")),
            (some(ItemKind::Reasoning),                           None),
        ];
        for (one, want) in cases {
            assert_eq!(source(&one).or_else(|| item(&one)).as_deref(), want);
        }
    }
}
