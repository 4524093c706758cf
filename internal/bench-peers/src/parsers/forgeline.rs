//! `forgeline`.

use std::{hint::black_box, sync::Arc};

use forgeline::{
    llm::parser::{
        ParseOutcome, ParsedContent, ThinkingDialect, ThinkingParser, ThinkingPiece,
        ToolCallParser, ToolDialect, ToolSchemas,
    },
    types::Text,
};
use serde_json::Value;

use super::Watch;
use crate::{
    answer::Sink,
    corpus::{self, Call},
};

#[derive(Debug)]
pub(crate) struct Forgeline {
    thinking: Option<ThinkingDialect>,
    calls: Option<ToolDialect>,
    schemas: ToolSchemas,
}

impl Forgeline {
    /// `None` when there is no such dialect (yet).
    pub(super) fn new(
        (thinking, calls): (Option<&'static str>, Option<&'static str>),
    ) -> Option<Self> {
        let schemas = Arc::from([(Text::from(Call::NAME), corpus::schema().into())]);
        let found = Self {
            thinking: thinking.and_then(ThinkingDialect::by_name),
            calls: calls.and_then(ToolDialect::by_name),
            schemas,
        };
        let has_all = found.thinking.is_some() == thinking.is_some()
            && found.calls.is_some() == calls.is_some();
        has_all.then_some(found)
    }

    pub(super) fn name(&self) -> String {
        let thinking = self.thinking.as_ref().map(ThinkingDialect::name);
        let calls = self.calls.as_ref().map(ToolDialect::name);
        super::title("forgeline", thinking, calls)
    }

    pub(super) fn read(&self, chunks: &[&str], watch: &Watch, sink: &mut impl Sink) {
        let none = &ToolDialect::NONE;
        let mut calls = ToolCallParser::new(self.calls.as_ref().unwrap_or(none))
            .schemas(Arc::clone(&self.schemas));
        let mut number = 0;
        let Some(thinking) = &self.thinking else {
            let take = &mut |content: ParsedContent<'_>| give(content, &mut number, sink);
            for chunk in watch.groups(chunks).flatten() {
                calls.parse(black_box(*chunk), take);
            }
            return calls.flush(true, take);
        };
        let mut thinking = ThinkingParser::new(thinking, self.calls.as_ref().unwrap_or(none));
        let has_calls = self.calls.is_some();
        {
            let piece = &mut |piece: ThinkingPiece<'_>| match piece {
                ThinkingPiece::Message(text) if has_calls => {
                    calls.parse(text, &mut |content| give(content, &mut number, sink));
                }
                ThinkingPiece::Message(text) => sink.text(text),
                ThinkingPiece::Thinking(text) => sink.thinking(text),
                ThinkingPiece::SectionEnd | _ => {}
            };
            for chunk in watch.groups(chunks).flatten() {
                thinking.parse(black_box(*chunk), piece);
            }
            thinking.flush(piece);
        }
        if has_calls {
            calls.flush(true, &mut |content| give(content, &mut number, sink));
        }
    }
}

#[inline]
fn give(content: ParsedContent<'_>, number: &mut usize, sink: &mut impl Sink) {
    match content {
        ParsedContent::Text(text) => sink.text(text),
        ParsedContent::CallStart => *number += 1,
        ParsedContent::CallName(name) => sink.call(*number, Some(name), ""),
        ParsedContent::CallVerbatim(text) | ParsedContent::CallArguments(text) => {
            sink.call(*number, None, text);
        }
        ParsedContent::CallEnd { outcome, .. } if *outcome != ParseOutcome::Complete => {
            sink.failed(&format!("{outcome:?}"));
        }
        ParsedContent::CallServer(_)
        | ParsedContent::CallBody(_)
        | ParsedContent::CallSource(_)
        | ParsedContent::CallEnd { .. }
        | _ => {}
    }
}
