//! `dynamo-parsers-v2`: a parser of calls alone, and one of reasoning, text and calls.

use std::{fmt, hint::black_box};

use dynamo_parsers_v2::{
    Tool, ToolParseResult, UnifiedParserEvent, UnifiedParserInit, UnifiedParserOutput,
    create_tool_parser_for_family, create_unified_parser_for_family,
};

use super::{Result, Watch};
use crate::{
    answer::Sink,
    corpus::{self, Call},
};

pub(crate) struct DynamoV2 {
    family: &'static str,
    kind: Kind,
    tools: Vec<Tool>,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Calls,
    Everything,
}

impl fmt::Debug for DynamoV2 {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("DynamoV2").field(&self.name()).finish()
    }
}

impl DynamoV2 {
    /// The parser of calls alone.
    pub(super) fn calls(family: Option<&'static str>) -> Option<Self> {
        family.map(|family| Self::new(family, Kind::Calls))
    }

    /// The parser of everything.
    pub(super) fn everything(family: Option<&'static str>) -> Option<Self> {
        family.map(|family| Self::new(family, Kind::Everything))
    }

    fn new(family: &'static str, kind: Kind) -> Self {
        let tool = Tool {
            name: Call::NAME.to_owned(),
            description: None,
            parameters: corpus::schema(),
            strict: None,
        };
        Self { family, kind, tools: vec![tool] }
    }

    pub(super) fn name(&self) -> String {
        match self.kind {
            Kind::Calls => super::title("dynamo-parsers-v2", None, Some(self.family)),
            Kind::Everything => {
                super::title("dynamo-parsers-v2", Some("unified"), Some(self.family))
            }
        }
    }

    pub(super) fn read(&self, chunks: &[&str], watch: &Watch, sink: &mut impl Sink) -> Result {
        match self.kind {
            Kind::Calls => self.read_calls(chunks, watch, sink),
            Kind::Everything => self.read_everything(chunks, watch, sink),
        }
    }

    fn read_calls(&self, chunks: &[&str], watch: &Watch, sink: &mut impl Sink) -> Result {
        let mut parser = create_tool_parser_for_family(self.family, &self.tools)?;
        let mut give = |result: &ToolParseResult| {
            if !result.normal_text.is_empty() {
                sink.text(&result.normal_text);
            }
            for call in &result.calls {
                sink.call(call.tool_index, call.name.as_deref(), &call.arguments);
            }
        };
        for chunk in watch.groups(chunks).flatten() {
            give(&parser.push(black_box(*chunk))?);
        }
        if !watch.is_over() {
            give(&parser.finish()?);
        }
        Ok(())
    }

    fn read_everything(&self, chunks: &[&str], watch: &Watch, sink: &mut impl Sink) -> Result {
        let mut parser = create_unified_parser_for_family(self.family, &self.tools)?;
        parser.initialize_request(UnifiedParserInit::default())?;
        let mut give = |output: &UnifiedParserOutput| {
            for event in &output.events {
                match event {
                    UnifiedParserEvent::Text(text) => sink.text(text),
                    UnifiedParserEvent::Reasoning(text) => sink.thinking(text),
                    UnifiedParserEvent::ToolCall(call) => {
                        sink.call(call.tool_index, call.name.as_deref(), &call.arguments);
                    }
                    UnifiedParserEvent::MessageStart(_) | UnifiedParserEvent::MessageEnd => {}
                }
            }
        };
        for chunk in watch.groups(chunks).flatten() {
            let mut output = UnifiedParserOutput::default();
            parser.parse_into(black_box(*chunk), &mut output)?;
            give(&output);
        }
        if !watch.is_over() {
            give(&parser.finish()?);
        }
        Ok(())
    }
}
