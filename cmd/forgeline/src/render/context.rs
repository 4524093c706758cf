//! Lines about the part of the conversation that a request leaves out, or has a summary of, and about tools that are gone or have come.

use forgeline::agent::notice::{Notice, RefusedKind, ToolSourceNotice};
use serde_json::Value;

/// Returns the line of a notice about the window or about tools that are gone or have come; `None` for another.
pub(super) fn line(notice: &Notice) -> Option<String> {
    let tokens = |before: u64, now: u64| format!("{before} → {now} tokens");
    match notice {
        Notice::ContextTrimmed(notice) => {
            let messages = counted(notice.messages, "message");
            let parts = [messages, counted(notice.results, "result")];
            let what = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
            let tokens = tokens(notice.tokens_before, notice.tokens);
            Some(format!("left out to make room: {what} ({tokens})"))
        }
        Notice::ContentRefused(notice) => {
            let what = match notice.content {
                RefusedKind::Context => "asking again with a shorter conversation",
                RefusedKind::Media => "asking again without the refused pictures and files",
                RefusedKind::Signatures | _ => {
                    "asking again without the refused signatures of reasoning"
                }
            };
            Some(format!("{what}: {}", notice.reason))
        }
        Notice::ContextSummarized(notice) => {
            let what = counted(notice.messages, "message").unwrap_or_default();
            let tokens = tokens(notice.tokens_before, notice.tokens);
            Some(format!("summarized: {what} ({tokens})"))
        }
        Notice::ContextSummaryFailed(notice) => Some(format!("no summary: {}", notice.error)),
        Notice::ToolSource(notice) => tool_source(notice),
        Notice::CallModeFallback(_)
        | Notice::CallsInText(_)
        | Notice::AnswerAskedAgain(_)
        | Notice::AnswerRestarted(_)
        | Notice::AnswerKept(_)
        | Notice::AnswerTyped(_)
        | Notice::AnswerContinued(_)
        | Notice::RunTakenOver(_)
        | Notice::Steered(_)
        | Notice::Undelivered(_)
        | Notice::BudgetUnmeasured(_)
        | Notice::SubAgent(_)
        | Notice::Degraded(_)
        | Notice::IgnoredChoices(_)
        | _ => None,
    }
}

/// Returns the line of a notice about the tools of an MCP server.
fn tool_source(notice: &ToolSourceNotice) -> Option<String> {
    let count = notice.fields.get("count").and_then(Value::as_u64).unwrap_or_default();
    let tools = counted(count.try_into().unwrap_or(usize::MAX), "tool");
    if notice.kind == "mcp_server_joined" {
        let tools = tools.unwrap_or_else(|| "no tools".to_owned());
        return Some(format!("the MCP server `{}` is there now: {tools}", notice.text("server")?));
    }
    let reason = notice.text("reason")?;
    if notice.kind == "mcp_server_late" {
        return Some(format!("continuing without: {reason}"));
    }
    let gone = if count == 1 { "is gone" } else { "are gone" };
    Some(format!("{} {gone}: {reason}", tools?))
}

/// Returns a number of things in words; `None` for none.
fn counted(count: usize, one: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {one}s")),
    }
}

#[cfg(test)]
mod tests {
    use forgeline::{
        agent::notice::{CONTEXT_SUMMARIZED, CONTEXT_SUMMARY_FAILED, CONTEXT_TRIMMED, TOOL_SOURCE},
        types::{AgentEvent, CustomEvent},
    };
    use serde_json::json;

    use super::*;

    fn line(name: &str, data: &Value) -> Option<String> {
        let event = AgentEvent::Custom(CustomEvent::new(name, data.clone()));
        Notice::read(&event).as_ref().and_then(super::line)
    }

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
