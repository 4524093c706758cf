//! Brackets: writes sections and calls as events, each start with exactly one end.

use std::mem;

use super::call::OpenCall;
use crate::{
    llm::parser::LeadingWhitespace,
    types::{AgentEvent, Completion, Text, ToolCall},
};

/// Which section is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Thinking,
    /// The answer; with `refusal` the part that the provider marked so.
    Message {
        refusal: bool,
    },
}

impl Section {
    fn is_same_as(self, other: Self) -> bool {
        mem::discriminant(&self) == mem::discriminant(&other)
    }
}

/// Writes events; joins adjacent text of one chunk; keeps what the completion is to hold.
#[derive(Debug)]
pub(super) struct EventWriter {
    /// The open section.
    section: Option<Section>,
    /// Whose leading blanks are held; bounded by [`LeadingWhitespace`].
    blanks_of: Option<Section>,
    /// `None` when blanks are content like any other text.
    blanks: Option<LeadingWhitespace>,
    /// Text of the open section that was not yet emitted.
    pending: Text,
    next_index: u32,
    /// Sections begun.
    sections: u32,
    keeps_content: bool,
    pub(super) completion: Completion,
}

impl EventWriter {
    pub(super) fn new(drops_blanks: bool, keeps_content: bool) -> Self {
        Self {
            section: None,
            blanks_of: None,
            blanks: drops_blanks.then(LeadingWhitespace::default),
            pending: Text::new(),
            next_index: 0,
            sections: 0,
            keeps_content,
            completion: Completion::default(),
        }
    }

    /// Whether any content was delivered.
    pub(super) fn has_content(&self) -> bool {
        self.sections > 0 || self.next_index > 0
    }

    pub(super) fn keeps_content(&self) -> bool {
        self.keeps_content
    }

    /// Writes text of a section; opens and closes sections as needed.
    pub(super) fn text(&mut self, section: Section, text: &str, emit: &mut impl FnMut(AgentEvent)) {
        if text.is_empty() {
            return;
        }
        if self.section != Some(section) {
            self.switch(section, emit);
        }
        if self.section.is_none() {
            if let Some(blanks) = &mut self.blanks {
                self.blanks_of = Some(section);
                let pending = &mut self.pending;
                if !blanks.take(text, &mut |text| pending.push_str(text)) {
                    return;
                }
            } else {
                self.pending.push_str(text);
            }
            self.section = Some(section);
            self.sections += 1;
            emit(match section {
                Section::Thinking => AgentEvent::ThinkingStart,
                Section::Message { .. } => AgentEvent::MessageStart,
            });
        } else {
            self.pending.push_str(text);
        }
    }

    /// Another kind of text follows: closes what is open, unless only the mark of it changes.
    fn switch(&mut self, section: Section, emit: &mut impl FnMut(AgentEvent)) {
        match self.section {
            Some(open) if open.is_same_as(section) => {
                self.flush(emit);
                self.section = Some(section);
            }
            Some(_) => self.end_section(emit),
            None if self.blanks_of != Some(section) => self.drop_blanks(),
            None => {}
        }
    }

    /// Emits the text that waits for more of its chunk.
    pub(super) fn flush(&mut self, emit: &mut impl FnMut(AgentEvent)) {
        if self.pending.is_empty() {
            return;
        }
        let content = mem::take(&mut self.pending);
        let event = match self.section {
            Some(Section::Thinking) => {
                if self.keeps_content {
                    self.completion.thinking.push_str(&content);
                }
                AgentEvent::ThinkingContent { content }
            }
            Some(Section::Message { refusal }) => {
                if self.keeps_content {
                    let Completion { text, refusal: refused, .. } = &mut self.completion;
                    if refusal { refused } else { text }.push_str(&content);
                }
                AgentEvent::MessageContent { content, refusal }
            }
            None => return,
        };
        emit(event);
    }

    /// Ends the open section; blanks that opened none are dropped.
    pub(super) fn end_section(&mut self, emit: &mut impl FnMut(AgentEvent)) {
        self.flush(emit);
        self.drop_blanks();
        match self.section.take() {
            Some(Section::Thinking) => emit(AgentEvent::ThinkingEnd),
            Some(Section::Message { .. }) => emit(AgentEvent::MessageEnd),
            None => {}
        }
    }

    fn drop_blanks(&mut self) {
        if let Some(blanks) = &mut self.blanks {
            blanks.drop_held();
        }
    }

    /// Begins a call: it closes the open section and takes the next number.
    pub(super) fn begin_call(&mut self, emit: &mut impl FnMut(AgentEvent)) -> OpenCall {
        self.end_section(emit);
        let index = self.next_index;
        self.next_index += 1;
        OpenCall::new(index, self.keeps_content)
    }

    /// A call that takes the next number only if it is kept.
    pub(super) fn draft_call(&self) -> OpenCall {
        OpenCall::new(self.next_index, true)
    }

    /// Keeps a call that was a draft.
    pub(super) fn keep_draft(&mut self, call: ToolCall) {
        self.next_index += 1;
        self.keep_call(call);
    }

    /// Keeps a call that ended, in order of its number.
    pub(super) fn keep_call(&mut self, call: ToolCall) {
        if self.keeps_content {
            let calls = &mut self.completion.tool_calls;
            let at = calls.partition_point(|known| known.index < call.index);
            calls.insert(at, call);
        }
    }
}
