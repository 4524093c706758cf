//! The check that all of an answer arrived, and nothing else.

use forgeline::{
    llm::{ContentType, StreamChunk},
    types::{AgentEvent, MessageContentEvent, ThinkingContentEvent, ToolCallContentEvent},
};

use crate::{Result, corpus};

/// Compares what arrives with a text that repeats.
#[derive(Debug)]
pub(crate) struct Reading {
    text: String,
    /// The place in `text` of what comes next.
    at: usize,
    /// The bytes that are still to come.
    left: usize,
    is_right: bool,
}

impl Reading {
    /// Expects `text`, again and again, up to `left` bytes.
    pub(crate) const fn new(text: String, left: usize) -> Self {
        Self { text, at: 0, left, is_right: true }
    }

    /// Takes the next piece.
    pub(crate) fn add(&mut self, mut piece: &str) {
        while !piece.is_empty() && self.is_right {
            let expected = self.text.get(self.at..).unwrap_or_default();
            let (head, rest) = piece.split_at(piece.floor_char_boundary(expected.len()));
            self.is_right =
                !head.is_empty() && expected.starts_with(head) && self.left >= head.len();
            self.left = self.left.saturating_sub(head.len());
            self.at = (self.at + head.len()) % self.text.len();
            piece = rest;
        }
    }

    /// Fails unless the whole answer came, and nothing else.
    pub(crate) fn finish(self) -> Result<()> {
        match self {
            Self { is_right: false, .. } => Err("the answer differs".into()),
            Self { left: 0, .. } => Ok(()),
            Self { left, .. } => Err(format!("{left} bytes of the answer are missing").into()),
        }
    }
}

/// What a protocol makes of the tags of reasoning in its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tags {
    /// Reasoning: it has no place of its own for it.
    Read,
    Text,
}

/// Compares what arrives with the answer that [`corpus::events`] are.
#[derive(Debug)]
pub(crate) struct Answer {
    thinking: Reading,
    message: Reading,
    arguments: Reading,
}

impl Answer {
    /// Expects the chunks of `count` events, a multiple of [`corpus::EVENTS`].
    pub(crate) fn of_chunks(count: usize, tags: Tags) -> Self {
        let corpus::Parts { before, call, after, .. } = corpus::parts();
        Self::new(count, tags, before + &call + &after, String::new())
    }

    /// Expects the agent's events of `count` events, a multiple of [`corpus::EVENTS`].
    pub(crate) fn of_events(count: usize, tags: Tags) -> Self {
        let corpus::Parts { before, arguments, after, .. } = corpus::parts();
        Self::new(count, tags, before + &after, arguments)
    }

    fn new(count: usize, tags: Tags, message: String, arguments: String) -> Self {
        let rounds = count / corpus::EVENTS;
        let thinking = corpus::parts().thinking;
        let tagged = format!("<thinking>{thinking}</thinking>");
        // Tags inside of the answer are text: only those of the first round, which begin it, are none.
        let (reasoning, first, message) = match tags {
            Tags::Read => (thinking.len(), tagged.len(), message + &tagged),
            Tags::Text => (0, 0, tagged + &message),
        };
        let left = message.len() * rounds - first;
        Self {
            thinking: Reading::new(thinking, reasoning),
            message: Reading::new(message, left),
            arguments: Reading { left: arguments.len() * rounds, ..Reading::new(arguments, 0) },
        }
    }

    #[inline]
    pub(crate) fn chunk(&mut self, chunk: &StreamChunk) {
        let is_thinking = chunk.content_type == ContentType::Thinking;
        let reading = if is_thinking { &mut self.thinking } else { &mut self.message };
        reading.add(&chunk.content);
    }

    #[inline]
    pub(crate) fn event(&mut self, event: &AgentEvent) {
        if let AgentEvent::MessageContent(MessageContentEvent { content, .. }) = event {
            self.message.add(content);
        } else if let AgentEvent::ThinkingContent(ThinkingContentEvent { content, .. }) = event {
            self.thinking.add(content);
        } else if let AgentEvent::ToolCallContent(ToolCallContentEvent { arguments, .. }) = event {
            self.arguments.add(arguments);
        }
    }

    /// Fails unless all three are whole.
    pub(crate) fn finish(self) -> Result<()> {
        for (what, reading) in
            [("reasoning", self.thinking), ("text", self.message), ("arguments", self.arguments)]
        {
            reading.finish().map_err(|wrong| format!("{what}: {wrong}"))?;
        }
        Ok(())
    }
}
