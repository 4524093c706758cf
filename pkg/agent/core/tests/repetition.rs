//! Text that says the same over and over ends the answer, at the same byte however it is cut.

use super::harness::{Run, Setup};
use crate::StreamOptions;
use forgeline_parser::{ThinkingDialect, ToolDialect};
use forgeline_types::FinishReason;

const CALL: &str = r#"<tool>{"tool_name": "clock", "arguments": {}}</tool>"#;
const LINE: &str = "Let me look at the file again, to be sure.\n";

fn run_text(text: &str, stops: bool) -> Run {
    let options = StreamOptions::default().tools(ToolDialect::FORGE).stop_repetition(stops);
    let thinking = ThinkingDialect::FORGE;
    Setup { thinking, options, ..Setup::default() }.run_at_every_cut("repetition", text)
}

#[test]
fn the_answer_ends_where_it_repeats_itself_at_every_cut() {
    let many = LINE.repeat(40);
    let rows: [(&str, String, bool, usize); 6] = [
        ("in the answer", format!("First:\n{many}{CALL}"), false, 0),
        ("behind a call", format!("{CALL}{many}"), false, 1),
        ("before a call in the same piece", format!("{many}{CALL}and more"), false, 0),
        ("in reasoning", format!("<thinking>{many}</thinking>42{CALL}"), true, 0),
        (
            "a paragraph",
            format!(
                "<thinking>{}</thinking>42",
                "Nine lines of it.\nAll the same, again: ".repeat(60)
            ),
            true,
            0,
        ),
        ("letters of two bytes", "Schöne Grüße aus Österreich, ".repeat(30), false, 0),
    ];
    for (name, text, is_thinking, calls) in rows {
        let Run { completion, .. } = run_text(&text, true);
        assert_eq!(completion.finish_reason, Some(FinishReason::Repetition), "{name}");
        assert_eq!((completion.tool_calls.len(), completion.error), (calls, None), "{name}");
        let said = if is_thinking { &completion.thinking } else { &completion.text };
        assert!(!said.is_empty() && said.len() < 800 && text.contains(said.as_str()), "{name}");
        assert!(!is_thinking || completion.text.is_empty(), "{name}: {}", completion.text);
    }
}

#[test]
fn what_does_not_repeat_itself_passes_whole() {
    let table =
        format!("| Day | Plan |\n|---|---|\n{}", "| __________ | __________ |\n".repeat(20));
    let list = ["One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten"]
        .map(|word| format!("{word} costs more than the line before it.\n"))
        .concat();
    let often = LINE.repeat(7);
    for text in [table, list, often, format!("{}{CALL}", "=".repeat(300))] {
        let Run { completion, .. } = run_text(&text, true);
        assert_eq!((completion.finish_reason, completion.complete), (None, true), "{text}");
    }
}

#[test]
fn text_may_repeat_itself_where_nobody_asked_for_a_stop() {
    let text = LINE.repeat(40);
    assert_eq!(run_text(&text, false).completion.text, text);
    let facts = StreamOptions::default().stop_repetition(true).keep_content(false);
    let run = Setup { options: facts, ..Setup::default() }.run([text.as_str()]);
    assert_eq!(run.completion.finish_reason, None);
}
