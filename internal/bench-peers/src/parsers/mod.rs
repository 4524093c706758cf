//! The parsers, driven as their documentation says: a new one for each answer, one call for each
//! chunk, and what they do at the end.

mod dynamo;
mod dynamo_v2;
mod forgeline;
mod smg;

use std::cell::Cell;
use std::time::{Duration, Instant};

pub(crate) use self::{dynamo::Dynamo, dynamo_v2::DynamoV2, forgeline::Forgeline, smg::Smg};
use crate::answer::Sink;

/// How long one run over all answers of a workload may take.
pub(crate) const LONGEST_RUN: Duration = Duration::from_secs(30);

/// How many chunks pass between two looks at the clock.
const LOOK: usize = 64;

/// What may go wrong besides wrong answers.
type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The names by which a workload asks for parsers; `None` where a crate has none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names {
    /// Our dialects of reasoning and of calls.
    pub(crate) ours: (Option<&'static str>, Option<&'static str>),
    /// `reasoning-parser` and `tool-parser`, one behind the other where both are named.
    pub(crate) smg: (Option<&'static str>, Option<&'static str>),
    /// Reasoning and calls of `dynamo-parsers`, likewise.
    pub(crate) dynamo: (Option<&'static str>, Option<&'static str>),
    /// Of `dynamo-parsers-v2`: the parser of calls alone, and the one of everything.
    pub(crate) dynamo_v2: (Option<&'static str>, Option<&'static str>),
}

/// One parser, or a chain of two.
#[derive(Debug)]
pub(crate) enum Parser {
    Ours(Forgeline),
    Smg(Smg),
    Dynamo(Dynamo),
    DynamoV2(DynamoV2),
}

/// One answer, as the parser takes it.
#[derive(Debug)]
pub(crate) enum Input<'a> {
    Chunks(&'a [&'a str]),
    /// Events of a stream, which `dynamo-parsers` takes by value.
    Events(Vec<dynamo::Event>),
}

/// Stops a run that takes too long.
#[derive(Debug)]
pub(crate) struct Watch {
    end: Instant,
    is_over: Cell<bool>,
}

impl Watch {
    pub(crate) fn start() -> Self {
        Self { end: Instant::now() + LONGEST_RUN, is_over: Cell::new(false) }
    }

    /// Whether the run was stopped.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.get()
    }

    /// The chunks in groups, until the time is over.
    fn groups<'a>(&self, chunks: &'a [&'a str]) -> impl Iterator<Item = &'a [&'a str]> {
        chunks.chunks(LOOK).take_while(|_| {
            self.is_over.set(self.is_over() || Instant::now() > self.end);
            !self.is_over()
        })
    }
}

impl Parser {
    /// Every parser for a workload, ours first; the names of those that are missing.
    pub(crate) fn all(names: &Names) -> (Vec<Self>, Vec<String>) {
        let (mut parsers, mut absent) = (Vec::new(), Vec::new());
        match Forgeline::new(names.ours) {
            Some(parser) => parsers.push(Self::Ours(parser)),
            None => absent.push("forgeline".to_owned()),
        }
        let peers = [
            Smg::new(names.smg).map(Self::Smg),
            Dynamo::new(names.dynamo).map(Self::Dynamo),
            DynamoV2::calls(names.dynamo_v2.0).map(Self::DynamoV2),
            DynamoV2::everything(names.dynamo_v2.1).map(Self::DynamoV2),
        ];
        parsers.extend(peers.into_iter().flatten());
        for (is_named, name) in [
            (names.smg != (None, None), "tool-parser"),
            (names.dynamo != (None, None), "dynamo-parsers"),
            (names.dynamo_v2 != (None, None), "dynamo-parsers-v2"),
        ] {
            if !is_named {
                absent.push(name.to_owned());
            }
        }
        (parsers, absent)
    }

    pub(crate) fn is_ours(&self) -> bool {
        matches!(self, Self::Ours(_))
    }

    /// The crate and the name of the parser in it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Ours(parser) => parser.name(),
            Self::Smg(parser) => parser.name(),
            Self::Dynamo(parser) => parser.name(),
            Self::DynamoV2(parser) => parser.name(),
        }
    }

    /// The answers as the parser takes them; not part of what is timed.
    pub(crate) fn prepare<'a>(&self, answers: &'a [Vec<&'a str>]) -> Vec<Input<'a>> {
        let of = |chunks: &'a Vec<&'a str>| match self {
            Self::Dynamo(parser) if parser.takes_events() => Input::Events(dynamo::events(chunks)),
            Self::Ours(_) | Self::Smg(_) | Self::Dynamo(_) | Self::DynamoV2(_) => {
                Input::Chunks(chunks)
            }
        };
        answers.iter().map(of).collect()
    }

    /// Reads one answer with a new parser.
    pub(crate) fn read(&self, input: Input<'_>, watch: &Watch, sink: &mut impl Sink) {
        let outcome = match (self, input) {
            (Self::Ours(parser), Input::Chunks(chunks)) => {
                parser.read(chunks, watch, sink);
                Ok(())
            }
            (Self::Smg(parser), Input::Chunks(chunks)) => parser.read(chunks, watch, sink),
            (Self::Dynamo(parser), Input::Chunks(chunks)) => {
                parser.read(chunks, watch, sink);
                Ok(())
            }
            (Self::Dynamo(parser), Input::Events(events)) => {
                parser.read_events(events, watch, sink);
                Ok(())
            }
            (Self::DynamoV2(parser), Input::Chunks(chunks)) => parser.read(chunks, watch, sink),
            (Self::Ours(_) | Self::Smg(_) | Self::DynamoV2(_), Input::Events(_)) => {
                Err("takes no events".into())
            }
        };
        if let Err(error) = outcome {
            sink.failed(&error.to_string());
        }
    }
}

/// A crate and the parsers that are used of it.
fn title(name: &str, thinking: Option<&str>, calls: Option<&str>) -> String {
    let parsers: Vec<_> = thinking.into_iter().chain(calls).collect();
    format!("{name}: {}", parsers.join(" + "))
}
