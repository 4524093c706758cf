//! Lines about the part of the conversation that a request leaves out, or has a summary of, and about tools that are gone or have come.

use forgeline::agent::{
    CONTENT_REFUSED, CONTEXT_SUMMARIZED, CONTEXT_SUMMARY_FAILED, CONTEXT_TRIMMED, TOOL_SOURCE,
};
use serde_json::Value;

/// Returns the line of an event about the window or about tools that are gone or have come; `None` for another.
pub(super) fn line(name: &str, data: &Value) -> Option<String> {
    let number = |key: &str| data.get(key).and_then(Value::as_u64).unwrap_or_default();
    let counted = |key: &str, one: &str| match number(key) {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {one}s")),
    };
    let tokens = || format!("{} → {} tokens", number("tokens_before"), number("tokens"));
    match name {
        CONTEXT_TRIMMED => {
            let parts = [counted("messages", "message"), counted("results", "result")];
            let what = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
            Some(format!("left out to make room: {what} ({})", tokens()))
        }
        CONTENT_REFUSED => {
            let text = |key: &str| data.get(key).and_then(Value::as_str).unwrap_or_default();
            let what = match text("content") {
                "context" => "asking again with a shorter conversation",
                "media" => "asking again without the refused pictures and files",
                _ => "asking again without the refused signatures of reasoning",
            };
            Some(format!("{what}: {}", text("reason")))
        }
        CONTEXT_SUMMARIZED => {
            let what = counted("messages", "message").unwrap_or_default();
            Some(format!("summarized: {what} ({})", tokens()))
        }
        CONTEXT_SUMMARY_FAILED => {
            let why = data.get("error").and_then(Value::as_str).unwrap_or_default();
            Some(format!("no summary: {why}"))
        }
        TOOL_SOURCE => {
            let text = |key: &str| data.get(key).and_then(Value::as_str);
            if text("kind") == Some("mcp_server_joined") {
                let tools = counted("count", "tool").unwrap_or_else(|| "no tools".to_owned());
                return Some(format!("the MCP server `{}` is there now: {tools}", text("server")?));
            }
            let reason = text("reason")?;
            if text("kind") == Some("mcp_server_late") {
                return Some(format!("continuing without: {reason}"));
            }
            let gone = if number("count") == 1 { "is gone" } else { "are gone" };
            Some(format!("{} {gone}: {reason}", counted("count", "tool")?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_event_about_the_window_is_one_line_that_fits() {
        let trimmed = json!({ "messages": 123_456, "results": 1, "tokens": 100_000, "tokens_before": 200_000 });
        let results = json!({ "messages": 0, "results": 2, "tokens": 5, "tokens_before": 9 });
        let summed =
            json!({ "messages": 40, "requests": 2, "tokens": 3_100, "tokens_before": 6_010 });
        #[rustfmt::skip]
        let cases = [
            (CONTEXT_TRIMMED, trimmed, "left out to make room: 123456 messages, 1 result (200000 → 100000 tokens)"),
            (CONTEXT_TRIMMED, results, "left out to make room: 2 results (9 → 5 tokens)"),
            (CONTEXT_SUMMARIZED, summed, "summarized: 40 messages (6010 → 3100 tokens)"),
            (CONTEXT_SUMMARY_FAILED, json!({ "requests": 1, "error": "busy" }), "no summary: busy"),
        ];
        for (name, data, want) in cases {
            let line = line(name, &data).unwrap();
            assert_eq!(line, want);
            assert!(line.chars().count() <= 78, "two columns are its indent");
        }
        assert_eq!(line("other", &json!({})), None);
        let gone = json!({ "kind": "mcp_server_gone", "count": 2, "reason": "it has ended" });
        assert_eq!(line(TOOL_SOURCE, &gone).unwrap(), "2 tools are gone: it has ended");
        let late = json!({ "kind": "mcp_server_late", "reason": "no answer" });
        assert_eq!(line(TOOL_SOURCE, &late).unwrap(), "continuing without: no answer");
        #[rustfmt::skip]
        let joined = [(0, "no tools"), (1, "1 tool"), (3, "3 tools")];
        for (count, said) in joined {
            let data = json!({ "kind": "mcp_server_joined", "server": "notes", "count": count });
            let want = format!("the MCP server `notes` is there now: {said}");
            assert_eq!(line(TOOL_SOURCE, &data).unwrap(), want);
        }
        assert_eq!(line(TOOL_SOURCE, &json!({ "kind": "other" })), None, "the data is shown");
    }
}
