//! No byte of a text is lost or invented: what the parsers give, and the markers between, are the
//! text.

#![expect(
    clippy::string_slice,
    clippy::wildcard_enum_match_arm,
    reason = "a test may panic, and names only what it looks at"
)]

use forgeline::llm::parser::{ParsedContent, ThinkingParser, ThinkingPiece, ToolCallParser};
use forgeline_cli::pipeline::ReadOptions;

/// The longest marker, its attributes and the blanks around it included, in bytes.
const LONGEST_MARKER: usize = 512;

/// Runs each parser alone over the text and checks its pieces.
pub(super) fn check(reading: &ReadOptions, text: &str) -> Result<(), String> {
    for pieces in [vec![text], text.split_inclusive(|_| true).collect()] {
        let mut calls = Pieces::default();
        let schemas = reading.schemas.iter().cloned();
        let schemas = schemas.map(|(name, schema)| (name, schema.into())).collect();
        let mut parser = ToolCallParser::new(&reading.tools).schemas(schemas);
        let mut out = |content: ParsedContent<'_>| calls.content(content);
        for piece in &pieces {
            parser.parse(piece, &mut out);
        }
        parser.flush(true, &mut out);
        calls.are(text).map_err(|error| format!("the tool-call parser: {error}"))?;

        let mut sections = Pieces::default();
        let mut parser = ThinkingParser::new(&reading.thinking, &reading.tools)
            .after_prompt(reading.prompt_tail.as_deref().unwrap_or_default());
        let mut out = |piece: ThinkingPiece<'_>| match piece {
            ThinkingPiece::Message(text) | ThinkingPiece::Thinking(text) => sections.push(text),
            ThinkingPiece::SectionEnd | ThinkingPiece::Inline => sections.marker(),
            _ => {}
        };
        for piece in &pieces {
            parser.parse(piece, &mut out);
        }
        parser.flush(&mut out);
        sections.are(text).map_err(|error| format!("the thinking parser: {error}"))?;
    }
    Ok(())
}

/// What a parser gave, in order: runs of text, and between two runs a marker.
#[derive(Debug, Default)]
struct Pieces {
    /// Each with whether a marker is before it.
    runs: Vec<(bool, String)>,
    may_skip: bool,
}

impl Pieces {
    /// A piece of the tool-call parser: its markers are pieces too, nothing is between them.
    fn content(&mut self, content: ParsedContent<'_>) {
        match content {
            ParsedContent::Text(text)
            | ParsedContent::Marker(text)
            | ParsedContent::Inline(text)
            | ParsedContent::CallBody(text)
            | ParsedContent::CallVerbatim(text) => self.push(text),
            _ => {}
        }
    }

    fn push(&mut self, text: &str) {
        match self.runs.last_mut() {
            Some((_, last)) if !self.may_skip => last.push_str(text),
            _ => self.runs.push((self.may_skip, text.to_owned())),
        }
        self.may_skip = false;
    }

    fn marker(&mut self) {
        self.may_skip = true;
    }

    /// Whether the runs are the text, but for markers between them.
    fn are(&self, text: &str) -> Result<(), String> {
        let mut rest = text;
        for (is_behind_marker, run) in &self.runs {
            let at = rest.find(run.as_str()).ok_or_else(|| format!("{run:?} is not in order"))?;
            no_loss(&rest[..at], *is_behind_marker)?;
            rest = &rest[at + run.len()..];
        }
        no_loss(rest, self.may_skip)
    }
}

/// Between runs there is a marker, or else separating blanks.
fn no_loss(skipped: &str, is_marker: bool) -> Result<(), String> {
    let is_allowed = skipped.trim().is_empty() || is_marker && skipped.len() <= LONGEST_MARKER;
    if is_allowed { Ok(()) } else { Err(format!("{skipped:?} was lost")) }
}
