//! Separation of reasoning from the message in content that a model writes as text.

use super::{ChunkDetails, ContentType, StreamChunk};
use forgeline_parser::{ThinkingDialect, ThinkingParser, ThinkingPiece, TokenKind, ToolDialect};
use forgeline_types::{AgentEvent, ItemKind, Text};

/// A filter that types the content of chunks: reasoning that the model wrote into its answer becomes thinking.
///
/// Every provider passes its decoded chunks through one before delivering them. Content
/// that the provider already marked as thinking or refusal passes unchanged.
#[derive(Debug)]
pub struct ContentTyper {
    parser: ThinkingParser,
    /// `true` if there is nothing to recognize: chunks pass unchanged.
    is_idle: bool,
}

impl ContentTyper {
    /// Creates a typer that recognizes `thinking`; calls in the dialect `tools` pass unchanged.
    #[must_use]
    pub fn new(thinking: &ThinkingDialect, tools: &ToolDialect) -> Self {
        let parser = ThinkingParser::new(thinking, tools);
        Self { parser, is_idle: thinking.is_none() }
    }

    /// Creates a typer that uses `parser`, which may begin inside reasoning.
    #[must_use]
    pub fn with_parser(parser: ThinkingParser) -> Self {
        Self { parser, is_idle: false }
    }

    /// Processes one decoded chunk and emits the typed chunks in order.
    pub fn push(&mut self, mut chunk: StreamChunk, emit: &mut impl FnMut(StreamChunk)) {
        if self.is_idle {
            return emit(chunk);
        }
        let is_text = chunk.content_type == ContentType::Message;
        if chunk.has_content() {
            let mut run = SectionJoiner::default();
            if is_text {
                let content = std::mem::take(&mut chunk.content);
                run.tokens = chunk.tokens();
                if run.tokens == TokenKind::Unknown {
                    self.parser.parse(&content, &mut |piece| run.piece(piece, emit));
                } else {
                    let tokens = run.tokens;
                    self.parser.parse_token(&content, tokens, &mut |piece| run.piece(piece, emit));
                }
            } else {
                self.parser.end_section(&mut |piece| run.piece(piece, emit));
            }
            run.flush(emit);
        }
        if !chunk.tool_calls.is_empty() || chunk.details.as_deref().is_some_and(stands_apart) {
            let mut run = SectionJoiner::default();
            self.parser.end_section(&mut |piece| run.piece(piece, emit));
            run.flush(emit);
        }
        if !chunk.is_empty() {
            emit(chunk);
        }
    }

    /// Ends the stream, complete or broken, and emits the text that was held back.
    pub fn finish(&mut self, emit: &mut impl FnMut(StreamChunk)) {
        if self.is_idle {
            return;
        }
        let mut run = SectionJoiner::default();
        self.parser.flush(&mut |piece| run.piece(piece, emit));
        run.flush(emit);
        let late = self.parser.late_thinking_bytes();
        if late > 0 {
            let mut chunk = StreamChunk::default();
            chunk.details.get_or_insert_default().late_thinking_bytes = late;
            emit(chunk);
        }
    }

    /// Returns `true` if the text so far ends inside reasoning.
    #[must_use]
    pub fn is_in_thinking(&self) -> bool {
        self.parser.is_in_thinking()
    }
}

/// Returns `true` for details that must follow all text before them: a signature, or an item that is
/// not a source of the text.
fn stands_apart(details: &ChunkDetails) -> bool {
    let is_apart = |event: &AgentEvent| matches!(event, AgentEvent::ProviderItem(item) if !matches!(item.kind, ItemKind::Citation(_)) && !item.is_unknown_event());
    details.signature.is_some() || details.events.iter().any(is_apart)
}

/// Joins pieces of one kind, so that a chunk yields no more chunks than it has sections.
#[derive(Default)]
struct SectionJoiner {
    content: Text,
    content_type: ContentType,
    tokens: TokenKind,
}

impl SectionJoiner {
    fn piece(&mut self, piece: ThinkingPiece<'_>, emit: &mut impl FnMut(StreamChunk)) {
        let (text, content_type) = match piece {
            ThinkingPiece::Message(text) => (text, ContentType::Message),
            ThinkingPiece::Thinking(text) => (text, ContentType::Thinking),
            ThinkingPiece::SectionEnd => return self.flush_as(true, emit),
            ThinkingPiece::Inline => return,
            ThinkingPiece::CallOpener => {
                return self.signal(|details| details.call_in_thinking = true, emit);
            }
            ThinkingPiece::Framing(text) => {
                return self.signal(|details| details.framing = Some(text.into()), emit);
            }
            ThinkingPiece::Prose => return self.signal(|details| details.prose = true, emit),
            _ => return self.signal(|details| details.prose = true, emit),
        };
        if content_type != self.content_type {
            self.flush(emit);
            self.content_type = content_type;
        }
        self.content.push_str(text);
    }

    /// Emits the joined text, then a chunk that only marks what follows.
    fn signal(&mut self, say: impl FnOnce(&mut ChunkDetails), emit: &mut impl FnMut(StreamChunk)) {
        self.flush(emit);
        let mut chunk = StreamChunk::default();
        say(chunk.details.get_or_insert_default());
        emit(chunk);
    }

    fn flush(&mut self, emit: &mut impl FnMut(StreamChunk)) {
        self.flush_as(false, emit);
    }

    fn flush_as(&mut self, ends_section: bool, emit: &mut impl FnMut(StreamChunk)) {
        if self.content.is_empty() && !ends_section {
            return;
        }
        let (content, content_type) = (std::mem::take(&mut self.content), self.content_type);
        let mut chunk =
            StreamChunk { content, content_type, ends_section, ..StreamChunk::default() };
        if self.tokens != TokenKind::Unknown {
            chunk.details.get_or_insert_default().tokens = self.tokens;
        }
        emit(chunk);
    }
}
