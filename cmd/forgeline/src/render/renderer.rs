//! The event stream as text that grows.

use std::mem::take;

use forgeline::{
    agent::notice::{Notice, SubAgentEvent},
    types::{
        AgentEvent, ApiCallEndEvent, ApiCallStartEvent, CallOutcome, CustomEvent,
        MessageContentEvent, ProviderItem, QuestionEnd, Repair, Text, ThinkingContentEvent,
        ToolCallContentEvent, ToolCallEndEvent, ToolCallStartEvent, ToolOutputEvent,
        ToolQuestionEndEvent, ToolResultEvent,
    },
};
use owo_colors::Style;

use super::{approval, below::WorkingAgents, context, fold::fold, notice, screen::ScreenText};

/// Most bytes of one call's arguments that are shown; the rest is counted.
const MAX_ARGUMENT_BYTES: usize = 600;
/// Most lines of one tool result that are shown; the rest is counted.
const MAX_RESULT_LINES: usize = 4;

/// Turns events into text with ANSI styles, to be appended to what was shown before.
///
/// Thinking is dimmed and indented, calls are shown as they stream, results are folded. Errors are
/// not shown here: the command reports them on stderr, with advice.
#[derive(Debug, Default)]
pub struct EventRenderer {
    open: OpenPart,
    screen: ScreenText,
    calls: Vec<CallView>,
    /// The id of the call whose line was shown last, so that its result needs no name.
    last_call: Text,
    /// Sources of the open message, each once; shown below it.
    sources: Vec<String>,
    /// The agents below that work.
    below: WorkingAgents,
    /// `true` when nothing is left out, and requests are shown.
    is_whole: bool,
    /// The columns of a line.
    width: Option<usize>,
}

/// The part that the end of the shown text belongs to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum OpenPart {
    /// Nothing that can go on.
    #[default]
    Nothing,
    Thinking,
    Message,
    /// The call of this index.
    Call(u32),
    /// The output of a tool that runs.
    Output,
}

/// A call that is being shown.
#[derive(Debug)]
struct CallView {
    index: u32,
    id: Text,
    name: Option<Text>,
    /// Bytes of arguments shown.
    shown: usize,
    /// Bytes of arguments that passed the limit.
    hidden: usize,
}

impl EventRenderer {
    /// Creates a renderer; `is_whole` folds nothing and shows each request.
    #[must_use]
    pub fn new(is_whole: bool) -> Self {
        Self::of_width(is_whole, None)
    }

    /// Creates a renderer for a terminal with n columns: names, arguments, results and notes are folded there.
    #[must_use]
    pub fn of_width(is_whole: bool, width: Option<usize>) -> Self {
        Self { is_whole, width, screen: ScreenText::of_width(width), ..Self::default() }
    }

    /// Returns the text that `event` adds; empty when it shows nothing.
    pub fn event(&mut self, event: &AgentEvent) -> String {
        let mut lines = self.below.ended(event);
        if let Some(below) = SubAgentEvent::read(event) {
            lines = self.below.event(below, (self.is_whole, self.width));
            if lines.is_empty() {
                return lines;
            }
        }
        if !lines.is_empty() {
            self.end();
            lines.insert_str(0, &self.screen.take());
        }
        lines + &self.shown(event)
    }

    /// Returns the text that an event of the run itself adds.
    fn shown(&mut self, event: &AgentEvent) -> String {
        match event {
            AgentEvent::ThinkingContent(ThinkingContentEvent { content, .. }) => self.thinking(content),
            AgentEvent::MessageContent(MessageContentEvent { content, refusal, .. }) => {
                let style = if *refusal { Style::new().yellow() } else { Style::new() };
                self.switch(OpenPart::Message);
                self.screen.text(content, "", style);
            }
            AgentEvent::ThinkingEnd | AgentEvent::MessageEnd => {
                if matches!(self.open, OpenPart::Thinking | OpenPart::Message) {
                    self.end();
                }
            }
            AgentEvent::ToolCallStart(ToolCallStartEvent { index, call_id: id, tool_name, .. }) => {
                let (id, name) = (id.clone(), tool_name.clone());
                self.calls.retain(|call| call.index != *index);
                self.calls.push(CallView { index: *index, id, name, shown: 0, hidden: 0 });
                self.switch(OpenPart::Call(*index));
            }
            AgentEvent::ToolCallContent(ToolCallContentEvent { index, arguments, .. }) => {
                self.arguments(*index, arguments);
            }
            AgentEvent::ToolCallEnd(ToolCallEndEvent { index, tool_name, outcome, repairs, .. }) => {
                self.call_end(*index, tool_name.as_ref(), outcome, repairs);
            }
            AgentEvent::ToolResult(ToolResultEvent { call_id: id, tool_name, content, duration_ms, .. }) => {
                self.result(id, tool_name, content, *duration_ms, Style::new().dimmed());
            }
            AgentEvent::ToolResultError(ToolResultEvent { call_id: id, tool_name, content, duration_ms, .. }) => {
                self.result(id, tool_name, content, *duration_ms, Style::new().yellow());
            }
            AgentEvent::ToolApprovalRequest(request) => {
                self.end();
                for (line, style) in request.preview.iter().flat_map(approval::preview) {
                    self.screen.folded(&format!("{line}\n"), "    ", style);
                }
            }
            AgentEvent::ToolApprovalRejected(_)
            | AgentEvent::ToolApprovalTimeout(_)
            | AgentEvent::ToolApprovalCancelled(_) => {
                self.note(&approval::refusal(event).unwrap_or_default());
            }
            AgentEvent::ToolQuestion(question) => {
                self.end();
                // The remark that asks may cut it.
                if let Some(url) = &question.url {
                    self.screen.text(&format!("    {url}\n"), "", Style::new());
                }
            }
            AgentEvent::ToolQuestionEnd(ToolQuestionEndEvent { tool_name, end: QuestionEnd::Timeout, .. }) => {
                self.note(&format!("{tool_name} got no answer in time"));
            }
            AgentEvent::NoToolCall => self.note("no tool was called; asking again"),
            AgentEvent::ToolOutput(ToolOutputEvent { content, .. }) => {
                if self.open != OpenPart::Output {
                    self.switch(OpenPart::Output);
                }
                self.screen.folded(content, "    ", Style::new().dimmed());
            }
            AgentEvent::Custom(custom) => self.custom(event, custom),
            AgentEvent::Retry(_) | AgentEvent::Failover(_) => {
                self.note(&notice::attempt(event).unwrap_or_default());
            }
            AgentEvent::ProviderItem(item) => self.item(item),
            AgentEvent::ApiCallStart(ApiCallStartEvent { provider, model, .. }) if self.is_whole => {
                self.note(&format!("asking {provider}, {model}"));
            }
            AgentEvent::ApiCallEnd(ApiCallEndEvent { duration_ms, .. }) if self.is_whole => {
                self.note(&format!("answered in {duration_ms} ms"));
            }
            AgentEvent::Error(_) | AgentEvent::TurnEnd => self.end(),
            // Sections open with their first content; the rest shows nothing of its own.
            AgentEvent::ThinkingStart
            | AgentEvent::MessageStart
            | AgentEvent::ApiCallStart(_)
            | AgentEvent::ApiCallEnd(_)
            | AgentEvent::TokenUsage(_)
            | AgentEvent::ToolCall(_)
            | AgentEvent::ToolApprovalGranted(_)
            | AgentEvent::UpdateBusy(_)
            // The command reports it on stderr.
            | AgentEvent::Unknown(_)
            | _ => {}
        }
        self.screen.take()
    }

    /// Returns a remark on lines of its own.
    pub fn remark(&mut self, text: &str) -> String {
        self.note(text);
        self.screen.take()
    }

    /// Returns a line of its own, as it is.
    pub fn line(&mut self, line: &str) -> String {
        self.end();
        self.screen.take() + line + "\n"
    }

    /// Returns `true` when the next text starts a line, so that a spinner may use it.
    #[must_use]
    pub fn is_at_line_start(&self) -> bool {
        self.screen.is_at_line_start()
    }

    /// Ends a line that was begun, and lists the sources of its section.
    pub fn end(&mut self) {
        self.screen.end_line();
        self.open = OpenPart::Nothing;
        for source in take(&mut self.sources) {
            self.dimmed_line(&source);
        }
    }

    /// Returns the last line, dimmed, after an empty one; nothing but the end where it is empty.
    pub fn footer(&mut self, line: &str) -> String {
        self.end();
        if !line.is_empty() {
            self.screen.empty_line();
            self.dimmed(line);
        }
        self.open = OpenPart::Nothing;
        self.screen.take()
    }

    fn thinking(&mut self, content: &str) {
        let style = Style::new().dimmed();
        if self.switch(OpenPart::Thinking) {
            self.screen.text("Thinking\n", "", style.italic());
        }
        self.screen.text(content, "  ", style);
    }

    /// Switches to `next`; returns `true` if another part was shown before.
    fn switch(&mut self, next: OpenPart) -> bool {
        if self.open == next {
            return false;
        }
        if !self.sources.is_empty() {
            self.end();
        }
        self.screen.empty_line();
        self.open = next;
        if let OpenPart::Call(index) = next {
            self.call_header(index);
        }
        true
    }

    fn call_header(&mut self, index: u32) {
        let Some(call) = self.calls.iter().find(|call| call.index == index) else { return };
        let name = call.name.clone().unwrap_or_default();
        let resumed = if call.shown > 0 { " (continued)" } else { "" };
        self.last_call = call.id.clone();
        self.screen.text("● ", "", Style::new().cyan());
        self.screen.folded(&format!("{name}{resumed}"), "  ", Style::new().cyan().bold());
        self.screen.text(" ", "", Style::new());
    }

    fn arguments(&mut self, index: u32, arguments: &str) {
        let Some(call) = self.calls.iter_mut().find(|call| call.index == index) else { return };
        let most = if self.is_whole { usize::MAX } else { MAX_ARGUMENT_BYTES };
        let mut room = most.saturating_sub(call.shown).min(arguments.len());
        while !arguments.is_char_boundary(room) {
            room -= 1;
        }
        let (shown, _) = arguments.split_at(room);
        // Once something was left out, nothing that follows may look as if it came next.
        let shown = if call.hidden > 0 { "" } else { shown };
        call.hidden += arguments.len() - shown.len();
        if !shown.is_empty() {
            self.switch(OpenPart::Call(index));
            if let Some(call) = self.calls.iter_mut().find(|call| call.index == index) {
                call.shown += shown.len();
            }
            self.screen.folded(shown, "  ", Style::new());
        }
    }

    fn call_end(
        &mut self,
        index: u32,
        name: Option<&Text>,
        outcome: &CallOutcome,
        repairs: &[Repair],
    ) {
        let Some(at) = self.calls.iter().position(|call| call.index == index) else { return };
        if let Some(call) = self.calls.get(at)
            && (call.hidden > 0 || *outcome != CallOutcome::Complete || !repairs.is_empty())
        {
            // Notes about the call belong under its own line.
            self.switch(OpenPart::Call(index));
        }
        let call = self.calls.remove(at);
        let trouble = match outcome {
            CallOutcome::Incomplete => Some("cut off, so it was not run".to_owned()),
            CallOutcome::Malformed { reason, offset, .. } => {
                Some(format!("cannot be parsed at byte {offset} of the call: {reason}"))
            }
            CallOutcome::Complete | _ => None,
        };
        let late_name = name.filter(|_| call.name.is_none());
        let notes = [
            late_name.map(|name| (format!("name: {name}"), Style::new().dimmed())),
            (call.hidden > 0)
                .then(|| (format!("… (+{} bytes)", call.hidden), Style::new().dimmed())),
            trouble.map(|trouble| (format!("✗ {trouble}"), Style::new().yellow())),
            (!repairs.is_empty()).then(|| (repaired(repairs), Style::new().dimmed())),
        ];
        for (note, style) in notes.into_iter().flatten() {
            self.screen.end_line();
            self.screen.folded(&note, "  ", style);
        }
        self.end();
    }

    fn result(&mut self, id: &Text, name: &Text, content: &str, duration_ms: u64, style: Style) {
        self.end();
        if self.last_call != *id {
            self.screen.folded(&format!("● {name}\n"), "", Style::new().cyan());
            self.last_call = id.clone();
        }
        let whole = || content.trim_end().lines().map(str::to_owned).collect();
        let (mut lines, hidden) =
            if self.is_whole { (whole(), 0) } else { fold(content, MAX_RESULT_LINES) };
        if lines.is_empty() {
            lines.push("(empty)".to_owned());
        }
        if hidden > 0 {
            lines.push(format!("… (+{hidden} lines)"));
        }
        if duration_ms >= 1000 {
            lines.push(format!("({}.{} s)", duration_ms / 1000, duration_ms % 1000 / 100));
        }
        for (number, line) in lines.iter().enumerate() {
            let lead = if number == 0 { "  └ " } else { "    " };
            self.screen.text(lead, "", style);
            self.screen.folded(&format!("{line}\n"), "    ", style);
        }
        self.screen.end_line();
    }

    /// Something of the provider's own. Sources of a message wait for its end, so that they do not
    /// appear in the middle of a sentence.
    fn item(&mut self, item: &ProviderItem) {
        if let Some(source) = notice::source(item) {
            if !self.sources.contains(&source) {
                self.sources.push(source);
            }
            if self.open != OpenPart::Message {
                self.end();
            }
        } else if let Some(line) = notice::item(item) {
            self.end();
            self.dimmed_line(&line);
        }
    }

    /// One line, however many the text has.
    fn dimmed_line(&mut self, text: &str) {
        let (lines, _) = fold(&text.replace('\n', " "), 1);
        self.dimmed_at(&lines.concat(), "  ");
    }

    /// A dimmed line; the style ends with it, as what comes next may be another program's.
    fn dimmed(&mut self, line: &str) {
        self.dimmed_at(line, "");
    }

    /// A dimmed line behind an indent.
    fn dimmed_at(&mut self, line: &str, indent: &str) {
        self.screen.folded(&format!("{line}\n"), indent, Style::new().dimmed());
        self.screen.end_line();
    }

    /// A notice of the library, or an event of a tool.
    fn custom(&mut self, event: &AgentEvent, CustomEvent { name, data, .. }: &CustomEvent) {
        match Notice::read(event) {
            // The run's view says these.
            Some(Notice::CallModeFallback(_) | Notice::CallsInText(_) | Notice::SubAgent(_)) => {}
            Some(Notice::AnswerContinued(_)) => {
                self.note("the answer reached its length limit and continues");
            }
            Some(Notice::Steered(notice)) => self.said(&notice.text),
            Some(Notice::Undelivered(notice)) => {
                self.note("the answer ended before this was delivered:");
                notice.texts.iter().for_each(|text| self.said(text));
            }
            notice => {
                let text = || data.as_str().map_or_else(|| data.to_string(), str::to_owned);
                let line = notice.as_ref().and_then(context::line);
                self.note(&line.unwrap_or_else(|| format!("{name}: {}", text())));
            }
        }
    }

    /// What the user said, where the model reads it.
    fn said(&mut self, text: &str) {
        self.note(&format!("› {text}"));
    }

    fn note(&mut self, note: &str) {
        self.end();
        let (lines, hidden) = fold(note, MAX_RESULT_LINES);
        for line in lines {
            self.dimmed_at(&line, "  ");
        }
        if hidden > 0 {
            self.dimmed_at(&format!("… (+{hidden} lines)"), "  ");
        }
    }
}

fn repaired(repairs: &[Repair]) -> String {
    let names: Vec<_> = repairs.iter().map(|repair| repair.as_str()).collect();
    format!("repaired: {}", names.join(", "))
}

#[cfg(test)]
#[path = "renderer_tests.rs"]
mod tests;
