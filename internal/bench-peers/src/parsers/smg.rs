//! `reasoning-parser` and `tool-parser`.

use std::{fmt, hint::black_box};

use futures::FutureExt as _;
use openai_protocol::common::{Function, Tool};
use reasoning_parser::{ParserFactory as ReasoningFactory, ParserResult};
use serde_json::Map;
use tool_parser::{ParserFactory, StreamingParseResult, ToolParser};

use super::{Result, Watch};
use crate::{
    answer::Sink,
    corpus::{self, Call},
};

pub(crate) struct Smg {
    thinking: Option<&'static str>,
    calls: Option<&'static str>,
    reasoning_factory: ReasoningFactory,
    factory: ParserFactory,
    tools: Vec<Tool>,
}

impl fmt::Debug for Smg {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Smg").field(&self.name()).finish()
    }
}

impl Smg {
    pub(super) fn new(
        (thinking, calls): (Option<&'static str>, Option<&'static str>),
    ) -> Option<Self> {
        (thinking.is_some() || calls.is_some()).then(|| Self {
            thinking,
            calls,
            reasoning_factory: ReasoningFactory::new(),
            factory: ParserFactory::new(),
            tools: vec![Tool {
                tool_type: "function".to_owned(),
                function: Function {
                    name: Call::NAME.to_owned(),
                    description: None,
                    parameters: corpus::schema(),
                    strict: None,
                    extra: Map::new(),
                },
            }],
        })
    }

    pub(super) fn name(&self) -> String {
        match (self.thinking, self.calls) {
            (Some(thinking), None) => super::title("reasoning-parser", Some(thinking), None),
            (None, calls) => super::title("tool-parser", None, calls),
            both => super::title("reasoning- and tool-parser", both.0, both.1),
        }
    }

    pub(super) fn read(&self, chunks: &[&str], watch: &Watch, sink: &mut impl Sink) -> Result {
        let mut thinking = match self.thinking {
            Some(name) => Some(
                self.reasoning_factory.registry().create_parser(name).ok_or("no such parser")?,
            ),
            None => None,
        };
        let mut calls = match self.calls {
            Some(name) => {
                Some(self.factory.registry().create_parser(name).ok_or("no such parser")?)
            }
            None => None,
        };
        for chunk in watch.groups(chunks).flatten() {
            let chunk = black_box(*chunk);
            match &mut thinking {
                Some(parser) => {
                    let result = parser.parse_reasoning_streaming_incremental(chunk)?;
                    self.reasoned(&result, calls.as_deref_mut(), sink)?;
                }
                None => self.message(chunk, calls.as_deref_mut(), sink)?,
            }
        }
        if watch.is_over() {
            return Ok(());
        }
        if let Some(parser) = &mut thinking {
            let result = parser.flush()?;
            self.reasoned(&result, calls.as_deref_mut(), sink)?;
        }
        if let Some(parser) = &mut calls {
            for item in parser.get_unstreamed_tool_args().unwrap_or_default() {
                sink.call(item.tool_index, item.name.as_deref(), &item.parameters);
            }
            sink.text(&parser.take_unstreamed_normal_text());
        }
        Ok(())
    }

    fn reasoned(
        &self,
        result: &ParserResult,
        calls: Option<&mut (dyn ToolParser + 'static)>,
        sink: &mut impl Sink,
    ) -> Result {
        if !result.reasoning_text.is_empty() {
            sink.thinking(&result.reasoning_text);
        }
        if !result.normal_text.is_empty() {
            self.message(&result.normal_text, calls, sink)?;
        }
        Ok(())
    }

    fn message(
        &self,
        text: &str,
        calls: Option<&mut (dyn ToolParser + 'static)>,
        sink: &mut impl Sink,
    ) -> Result {
        let Some(parser) = calls else {
            sink.text(text);
            return Ok(());
        };
        let result = parser.parse_incremental(text, &self.tools).now_or_never();
        let StreamingParseResult { normal_text, calls } = result.ok_or("waits")??;
        if !normal_text.is_empty() {
            sink.text(&normal_text);
        }
        for item in &calls {
            sink.call(item.tool_index, item.name.as_deref(), &item.parameters);
        }
        Ok(())
    }
}
