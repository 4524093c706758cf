//! The stages that read a text, and what they gave.

use std::{
    hint::black_box,
    ops::AddAssign,
    sync::{Arc, LazyLock},
};

use forgeline::{
    llm::parser::{
        ParseOutcome, ParsedContent, ResponseParser, ResponsePiece, ThinkingDialect,
        ThinkingParser, ThinkingPiece, ToolCallParser, ToolDialect, ToolSchemas,
    },
    types::Text,
};

use crate::{Result, corpus};

/// The stages that read the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stages {
    Thinking,
    Calls,
    Both,
    /// Both, in `auto`.
    Auto,
    /// The same of which each looks for itself, as where chunks go from one to the other.
    Apart,
    /// The calls alone, in `auto`.
    AutoCalls,
    /// The calls alone, in this dialect.
    Dialect(&'static str),
}

impl Stages {
    /// Returns whether the stage of thinking reads the text, and that of calls.
    pub(crate) fn parts(self) -> (bool, bool) {
        match self {
            Self::Thinking => (true, false),
            Self::Calls | Self::AutoCalls | Self::Dialect(_) => (false, true),
            Self::Both | Self::Auto | Self::Apart => (true, true),
        }
    }

    /// Returns `true` when both stages are one parser, which gives the answer once.
    pub(crate) fn are_one(self) -> bool {
        matches!(self, Self::Both | Self::Auto)
    }
}

/// The tools' schemas, which an agent has once for all of its streams.
static SCHEMAS: LazyLock<ToolSchemas> =
    LazyLock::new(|| Arc::from([(Text::from("write_file"), corpus::write_file_schema().into())]));

/// The parser of the calls in `dialect`; an unknown one must not pass for none.
pub(crate) fn parser_of(dialect: &str) -> Result<ToolCallParser> {
    let known = ToolDialect::by_name(dialect);
    let known = known.ok_or_else(|| format!("no dialect is named {dialect:?}"))?;
    Ok(ToolCallParser::new(&known).schemas(Arc::clone(&SCHEMAS)))
}

/// What came out of the stages, counted while they are measured.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Bytes of each stage.
    pub(crate) bytes: usize,
    /// Complete calls.
    pub(crate) calls: usize,
}

impl Counts {
    #[inline(always)]
    fn take(&mut self, read: &Read<'_>) {
        match read {
            Read::Thinking(text) | Read::Message(text) => self.bytes += text.len(),
            Read::Content(
                ParsedContent::Text(text)
                | ParsedContent::Marker(text)
                | ParsedContent::Inline(text)
                | ParsedContent::CallBody(text)
                | ParsedContent::CallVerbatim(text),
            ) => self.bytes += text.len(),
            Read::Content(ParsedContent::CallEnd { outcome: ParseOutcome::Complete, .. }) => {
                self.calls += 1;
            }
            Read::Content(_) => {}
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.calls += other.calls;
    }
}

/// A piece of what the stages give.
pub(crate) enum Read<'a> {
    Thinking(&'a str),
    Message(&'a str),
    Content(ParsedContent<'a>),
}

/// The stages of one row.
pub(crate) struct Reader {
    dialects: (ThinkingDialect, ToolDialect),
    parsers: Parsers,
}

/// The parsers that read.
enum Parsers {
    Thinking(Box<ThinkingParser>),
    Calls(Box<ToolCallParser>),
    Both(Box<ResponseParser>),
    Apart(Box<(ThinkingParser, ToolCallParser)>),
}

impl Reader {
    pub(crate) fn new(stages: Stages) -> Result<Self> {
        let (reasoning, tools) = match stages {
            Stages::Auto | Stages::Apart | Stages::AutoCalls => (ThinkingDialect::AUTO, "auto"),
            Stages::Thinking | Stages::Calls | Stages::Both => (ThinkingDialect::FORGE, "forge"),
            Stages::Dialect(dialect) => (ThinkingDialect::FORGE, dialect),
        };
        let calls = parser_of(tools)?;
        let dialects = (reasoning, ToolDialect::by_name(tools).unwrap_or(ToolDialect::NONE));
        let thinking = ThinkingParser::new(&dialects.0, &dialects.1);
        let parsers = match stages {
            Stages::Thinking => Parsers::Thinking(Box::new(thinking)),
            Stages::Calls | Stages::AutoCalls | Stages::Dialect(_) => {
                Parsers::Calls(Box::new(calls))
            }
            Stages::Both | Stages::Auto => {
                Parsers::Both(Box::new(ResponseParser::new(thinking, calls)))
            }
            Stages::Apart => Parsers::Apart(Box::new((thinking, calls))),
        };
        Ok(Self { dialects, parsers })
    }

    /// The same for another text.
    fn fresh(&self) -> Self {
        let dialects = self.dialects.clone();
        let thinking = || ThinkingParser::new(&dialects.0, &dialects.1);
        let parsers = match &self.parsers {
            Parsers::Thinking(_) => Parsers::Thinking(Box::new(thinking())),
            Parsers::Calls(calls) => Parsers::Calls(Box::new(calls.fresh())),
            Parsers::Both(both) => {
                let calls = both.calls().fresh();
                Parsers::Both(Box::new(ResponseParser::new(thinking(), calls)))
            }
            Parsers::Apart(apart) => Parsers::Apart(Box::new((thinking(), apart.1.fresh()))),
        };
        Self { dialects, parsers }
    }

    #[inline(always)]
    pub(crate) fn read(&mut self, text: &str, out: &mut impl FnMut(Read<'_>)) {
        match &mut self.parsers {
            Parsers::Thinking(thinking) => thinking.parse(text, &mut |piece| out(of(piece))),
            Parsers::Calls(calls) => {
                calls.parse(text, &mut |content| out(Read::Content(content)));
            }
            Parsers::Both(both) => both.parse(text, &mut |piece| out(of_both(piece))),
            Parsers::Apart(apart) => {
                let (thinking, calls) = &mut **apart;
                thinking.parse(text, &mut |piece| {
                    if let ThinkingPiece::Message(text) = piece {
                        calls.parse(text, &mut |content| out(Read::Content(content)));
                    }
                    out(of(piece));
                });
            }
        }
    }

    pub(crate) fn finish(mut self, out: &mut impl FnMut(Read<'_>)) {
        match &mut self.parsers {
            Parsers::Thinking(thinking) => thinking.flush(&mut |piece| out(of(piece))),
            Parsers::Calls(calls) => {
                calls.flush(true, &mut |content| out(Read::Content(content)));
            }
            Parsers::Both(both) => both.flush(true, &mut |piece| out(of_both(piece))),
            Parsers::Apart(apart) => {
                let (thinking, calls) = &mut **apart;
                thinking.flush(&mut |piece| {
                    if let ThinkingPiece::Message(text) = piece {
                        calls.parse(text, &mut |content| out(Read::Content(content)));
                    }
                    out(of(piece));
                });
                calls.flush(true, &mut |content| out(Read::Content(content)));
            }
        }
    }
}

fn of_both(piece: ResponsePiece<'_>) -> Read<'_> {
    match piece {
        ResponsePiece::Thinking(text) => Read::Thinking(text),
        ResponsePiece::Answer(content) => Read::Content(content),
        ResponsePiece::SectionEnd | ResponsePiece::CallOpener | _ => Read::Message(""),
    }
}

fn of(piece: ThinkingPiece<'_>) -> Read<'_> {
    match piece {
        ThinkingPiece::Thinking(text) => Read::Thinking(text),
        ThinkingPiece::Message(text) => Read::Message(text),
        ThinkingPiece::SectionEnd
        | ThinkingPiece::Inline
        | ThinkingPiece::CallOpener
        | ThinkingPiece::Prose
        | _ => Read::Message(""),
    }
}

/// Reads every text as a stream of its own.
pub(crate) fn read_all(texts: &[Vec<&str>], stages: Stages) -> Result<Counts> {
    let first = Reader::new(stages)?;
    let mut counts = Counts::default();
    for pieces in texts {
        let mut reader = first.fresh();
        let out = &mut |read: Read<'_>| {
            counts.take(&read);
            match read {
                Read::Thinking(text) | Read::Message(text) => _ = black_box(text),
                Read::Content(content) => _ = black_box(content),
            }
        };
        for piece in pieces {
            reader.read(black_box(*piece), out);
        }
        reader.finish(out);
    }
    Ok(counts)
}
