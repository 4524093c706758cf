//! The answer alone, for a pipe.

use forgeline::{
    agent::notice::Notice,
    types::{AgentEvent, MessageContentEvent},
};

use super::escape_controls;

/// Longest text that is held back until its turn shows whether it is a remark or the answer, in bytes.
const HELD_BYTES: usize = 1 << 10;

/// Tells the answer from what a model says before a call.
///
/// A text that a call follows is a remark. Whether a call follows shows at the end of the turn, so the
/// first KiB of a text is held until then, or until [`let_go`](Self::let_go).
#[derive(Debug, Default)]
pub struct AnswerText {
    held: String,
    flow: TextFlow,
    /// `true` when the line of a text that has ended is still open: the rest of a truncated answer continues it.
    owes_end: bool,
}

/// What becomes of the text of a turn.
#[derive(Debug, Default, PartialEq, Eq)]
enum TextFlow {
    /// It is held.
    #[default]
    Held,
    /// It is passed on as it comes; the last of it ended a line.
    AtLineStart,
    /// It is passed on as it comes; a line was begun.
    InLine,
}

/// The text that an event adds.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct AddedText {
    /// What belongs to the answer, its control characters escaped.
    pub answer: String,
    /// What turned out to be a remark before a call.
    pub remark: String,
}

impl AnswerText {
    /// Returns what `event` adds.
    pub fn event(&mut self, event: &AgentEvent) -> AddedText {
        let mut added = AddedText::default();
        if std::mem::take(&mut self.owes_end) {
            if let Some(Notice::AnswerContinued(_)) = Notice::read(event) {
                self.flow = TextFlow::InLine;
                return added;
            }
            added.answer.push('\n');
        }
        if let AgentEvent::MessageContent(MessageContentEvent { content, .. }) = event {
            self.held.push_str(content);
            if self.flow != TextFlow::Held || self.held.len() > HELD_BYTES {
                added.answer.push_str(&self.let_go());
            }
        } else if let AgentEvent::ToolCallStart(_) = event {
            added.remark = std::mem::take(&mut self.held);
            added.answer.push_str(self.end_line());
        } else if let AgentEvent::ApiCallEnd(_) = event {
            added.answer.push_str(&self.let_go());
            self.owes_end = !self.end_line().is_empty();
        }
        added
    }

    /// Returns what is held; what follows of this turn is not held any more.
    pub fn let_go(&mut self) -> String {
        let text = escape_controls(&std::mem::take(&mut self.held)).into_owned();
        if let Some(last) = text.chars().last() {
            self.flow = if last == '\n' { TextFlow::AtLineStart } else { TextFlow::InLine };
        }
        text
    }

    fn end_line(&mut self) -> &'static str {
        let is_in_line = std::mem::take(&mut self.flow) == TextFlow::InLine;
        if is_in_line { "\n" } else { "" }
    }
}

#[cfg(test)]
mod tests {
    use forgeline::types::{ApiCallEndEvent, CustomEvent, ToolCallStartEvent};

    use super::*;

    fn shown(events: &[AgentEvent]) -> (String, String) {
        let mut text = AnswerText::default();
        let all = events.iter().chain([&AgentEvent::TurnEnd]);
        let added: Vec<_> = all.map(|event| text.event(event)).collect();
        let answer = added.iter().map(|added| added.answer.as_str()).collect();
        (answer, added.iter().map(|added| added.remark.as_str()).collect())
    }

    fn says(content: &str) -> AgentEvent {
        AgentEvent::MessageContent(MessageContentEvent::new(content))
    }

    fn call() -> AgentEvent {
        AgentEvent::ToolCallStart(ToolCallStartEvent::new(0, "a"))
    }

    fn end() -> AgentEvent {
        AgentEvent::ApiCallEnd(ApiCallEndEvent::new(1))
    }

    fn goes_on() -> AgentEvent {
        AgentEvent::Custom(CustomEvent::new(
            "answer_continued",
            serde_json::json!({ "turn": 1, "times": 1 }),
        ))
    }

    // Found: F13
    #[test]
    fn a_remark_before_a_call_is_not_the_answer() {
        let long = "x".repeat(HELD_BYTES + 1);
        #[rustfmt::skip]
        let cases = [
            ("an answer",      vec![says("Hi"), says(" there"), end()],       "Hi there\n",   ""),
            ("a whole line",   vec![says("Hi\n"), end()],                     "Hi\n",         ""),
            ("a remark",       vec![says("Wait."), call(), end(), says("42"), end()], "42\n", "Wait."),
            ("controls",       vec![says("\u{1b}c"), end()],                  "\\x1bc\n",     ""),
            ("nothing",        vec![call(), end()],                           "",             ""),
            ("continued",      vec![says("One, "), end(), goes_on(), says("two."), end()], "One, two.\n", ""),
            ("two answers",    vec![says("One."), end(), says("Two."), end()], "One.\nTwo.\n", ""),
        ];
        for (name, events, answer, remark) in cases {
            assert_eq!(shown(&events), (answer.to_owned(), remark.to_owned()), "{name}");
        }
        let events = [says(&long), call(), end(), says("42"), end()];
        assert_eq!(shown(&events).0, format!("{long}\n42\n"), "a long one is not held");
    }
}
