//! Rewriting of calls made through `call_found_tool` into calls of the tools that they name, as they arrive.

use std::{collections::BTreeMap, mem};

use crate::tools::CALL_FOUND_TOOL;
use forgeline_json::{Kind, Strictness, Token, Tokenizer, slice};
use forgeline_llm::{StreamChunk, ToolCallDelta};
use forgeline_types::Text;

/// Maximum bytes of one call's arguments held until the name of its tool is known; a call that needs more stays unchanged.
const MAX_HELD_BYTES: usize = 4 << 20;
/// Maximum bytes of a call's arguments held while the call has no name of its own.
const MAX_NAME_WAIT_BYTES: usize = 512;

/// A reader of one answer's native calls that turns those made through `call_found_tool` into calls of the tools that they name.
///
/// Names and arguments are passed on as they arrive. The last byte of the arguments is held until
/// the end of the whole call, so that a call truncated after them counts as incomplete.
#[derive(Debug, Default)]
pub(crate) struct CallUnwrapper(BTreeMap<u32, UnwrapPhase>);

#[derive(Debug)]
enum UnwrapPhase {
    /// The call has no name yet, only these arguments.
    Unnamed(String),
    /// Everything passes unchanged.
    Direct,
    /// The call is complete: whitespace after it is not part of its arguments.
    Whole,
    Wrapped(Box<UnwrappedCall>),
}

/// A call made through `call_found_tool`.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
struct UnwrappedCall {
    tokenizer: Tokenizer,
    place: ObjectPosition,
    /// The JSON text of the key or the name being read.
    word: String,
    /// The name of the tool, until it has been passed on.
    name: Option<Text>,
    is_named: bool,
    /// Everything that arrived, until the name is known.
    raw: String,
    /// The text of the arguments not yet passed on.
    held: String,
    /// `true` when the arguments are written as a string.
    is_string: bool,
    has_arguments: bool,
    /// `true` once text of the arguments has been passed on.
    is_begun: bool,
    is_whole: bool,
}

/// The part of the object being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ObjectPosition {
    Between,
    Key,
    Name,
    Arguments,
}

impl CallUnwrapper {
    /// Rewrites the deltas of a chunk; nothing is held after the last chunk.
    pub(crate) fn chunk(&mut self, chunk: &mut StreamChunk) {
        for delta in &mut chunk.tool_calls {
            self.delta(delta);
        }
        if chunk.finished && !self.0.is_empty() {
            self.finish(chunk);
        }
    }

    /// Adds everything held to the last chunk of an answer.
    pub(crate) fn finish(&mut self, chunk: &mut StreamChunk) {
        for (index, state) in mem::take(&mut self.0) {
            let mut delta = ToolCallDelta::new(index);
            match state {
                UnwrapPhase::Unnamed(held) => delta.arguments = held.into(),
                UnwrapPhase::Direct | UnwrapPhase::Whole => continue,
                UnwrapPhase::Wrapped(mut wrapped) => wrapped.end(&mut delta),
            }
            if delta != ToolCallDelta::new(index) {
                chunk.tool_calls.push(delta);
            }
        }
    }

    /// Returns `true` when something is held.
    pub(crate) fn is_waiting(&self) -> bool {
        self.0.values().any(|state| !matches!(state, UnwrapPhase::Direct | UnwrapPhase::Whole))
    }

    fn delta(&mut self, delta: &mut ToolCallDelta) {
        let state = self.0.entry(delta.index).or_insert(UnwrapPhase::Unnamed(String::new()));
        if let UnwrapPhase::Unnamed(held) = state {
            let mut all = mem::take(held);
            all.push_str(&delta.arguments);
            delta.arguments = Text::new();
            match delta.name.as_deref().map(str::trim).filter(|name| !name.is_empty()) {
                Some(CALL_FOUND_TOOL) => {
                    *state = UnwrapPhase::Wrapped(Box::default());
                    delta.arguments = all.into();
                }
                None if all.len() < MAX_NAME_WAIT_BYTES && !delta.ended => {
                    *state = UnwrapPhase::Unnamed(all);
                }
                Some(_) | None => {
                    *state = UnwrapPhase::Direct;
                    delta.arguments = all.into();
                }
            }
        }
        if let UnwrapPhase::Wrapped(wrapped) = state {
            delta.name = None;
            let piece = mem::take(&mut delta.arguments);
            let is_open = wrapped.push(&piece, delta);
            if is_open && delta.ended {
                wrapped.end(delta);
            }
            if !is_open || delta.ended {
                let is_whole = wrapped.is_whole && !wrapped.tokenizer.has_failed();
                *state = if is_whole { UnwrapPhase::Whole } else { UnwrapPhase::Direct };
            }
        } else if matches!(state, UnwrapPhase::Whole) {
            delta.name = None;
            if delta.arguments.trim().is_empty() {
                delta.arguments = Text::new();
            }
        }
    }
}

impl Default for UnwrappedCall {
    fn default() -> Self {
        Self {
            tokenizer: Tokenizer::new(Strictness::Strict),
            place: ObjectPosition::Between,
            word: String::new(),
            name: None,
            is_named: false,
            raw: String::new(),
            held: String::new(),
            is_string: false,
            has_arguments: false,
            is_begun: false,
            is_whole: false,
        }
    }
}

impl UnwrappedCall {
    /// Takes a piece, and puts what is known into the delta; returns `false` once the rest passes unchanged.
    fn push(&mut self, piece: &str, delta: &mut ToolCallDelta) -> bool {
        if !self.is_named {
            self.raw.push_str(piece);
        }
        let before = self.tokenizer.taken();
        let mut tokenizer = mem::replace(&mut self.tokenizer, Tokenizer::new(Strictness::Strict));
        tokenizer.feed(piece, &mut |token| self.token(token));
        self.tokenizer = tokenizer;
        if self.tokenizer.has_failed() {
            let (_, at) = self.tokenizer.expected();
            let at = piece.floor_char_boundary(at.saturating_sub(before));
            self.held.push_str(slice(piece, at..));
            self.give_up(delta);
            return false;
        }
        if self.is_whole {
            self.end(delta);
            return false;
        }
        let waiting = [&self.raw, &self.held, &self.word];
        if waiting.into_iter().any(|text| text.len() > MAX_HELD_BYTES) {
            self.give_up(delta);
            return false;
        }
        if self.is_named {
            self.tell(delta);
            let end = self.held.floor_char_boundary(self.held.len().saturating_sub(1));
            if !self.is_string && end > 0 {
                self.is_begun = true;
                delta.arguments.push_str(slice(&self.held, ..end));
                self.held.drain(..end);
            }
        }
        true
    }

    /// Puts the name into the delta, once.
    fn tell(&mut self, delta: &mut ToolCallDelta) {
        if let Some(name) = self.name.take() {
            (delta.name, delta.indirect) = (Some(name), true);
            self.raw = String::new();
        }
    }

    /// Lets the call pass unchanged, from the point where that is possible.
    fn give_up(&mut self, delta: &mut ToolCallDelta) {
        self.tell(delta);
        let rest = if self.is_named { &mut self.held } else { &mut self.raw };
        if !self.is_named {
            delta.name = Some(CALL_FOUND_TOOL.into());
        }
        delta.arguments.push_str(&mem::take(rest));
    }

    /// Puts everything held into the last delta.
    fn end(&mut self, delta: &mut ToolCallDelta) {
        if !self.is_named {
            return self.give_up(delta);
        }
        self.tell(delta);
        if self.is_whole && !self.has_arguments {
            delta.arguments.push_str("{}");
        } else if self.is_whole || self.place == ObjectPosition::Arguments && !self.is_string {
            delta.arguments.push_str(&mem::take(&mut self.held));
        }
        if !self.is_begun && delta.arguments.is_empty() {
            // The arguments of a truncated call are incomplete, which differs from a call without arguments.
            delta.arguments.push_str("{");
        }
    }

    fn token(&mut self, token: Token<'_>) -> bool {
        match token {
            Token::Text(text) => match self.place {
                ObjectPosition::Between => {}
                ObjectPosition::Key | ObjectPosition::Name => self.word.push_str(text),
                ObjectPosition::Arguments => self.held.push_str(text),
            },
            Token::KeyStart { depth: 1, .. } => self.read_next(ObjectPosition::Key),
            Token::ValueStart { depth: 1, kind, .. } => self.begin(kind),
            Token::ValueEnd { depth: 1, .. } => self.ended(),
            Token::ValueEnd { depth: 0, .. } => self.is_whole = true,
            Token::ValueStart { depth: 0, kind, .. } => return kind == Kind::Object,
            Token::KeyStart { .. }
            | Token::KeyEnd { .. }
            | Token::ValueStart { .. }
            | Token::ValueEnd { .. }
            | Token::Next { .. } => {}
        }
        false
    }

    fn read_next(&mut self, place: ObjectPosition) {
        self.word.clear();
        self.place = place;
    }

    /// Starts reading the value after a key.
    fn begin(&mut self, kind: Kind) {
        // The key's text ends with the colon and the whitespace around it.
        let key = self.word.trim_end().trim_end_matches(':').trim();
        let key = serde_json::from_str::<String>(key).unwrap_or_default();
        match (key.as_str(), kind) {
            ("name", Kind::String) if !self.is_named => self.read_next(ObjectPosition::Name),
            ("arguments", _) if !self.has_arguments => {
                self.read_next(ObjectPosition::Arguments);
                (self.has_arguments, self.is_string) = (true, kind == Kind::String);
            }
            _ => self.read_next(ObjectPosition::Between),
        }
    }

    /// Ends the value of a member.
    fn ended(&mut self) {
        match self.place {
            ObjectPosition::Name => {
                let name = serde_json::from_str::<String>(&self.word).unwrap_or_default();
                let name = name.trim();
                if !name.is_empty() {
                    (self.name, self.is_named) = (Some(name.into()), true);
                }
            }
            ObjectPosition::Arguments if self.is_string => {
                if let Ok(text) = serde_json::from_str::<String>(&self.held) {
                    self.held = text;
                }
                self.is_string = false;
            }
            ObjectPosition::Arguments | ObjectPosition::Between | ObjectPosition::Key => {}
        }
        self.place = ObjectPosition::Between;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forgeline_core::{StreamEnd, StreamMachine, StreamOptions};
    use forgeline_types::{
        AgentEvent, CallOutcome, FinishReason, ToolCall, ToolCallContentEvent, ToolCallStartEvent,
    };

    fn name(name: &str, arguments: &str) -> StreamChunk {
        StreamChunk::calls([ToolCallDelta::new(0).id("a").name(name).arguments(arguments)])
    }

    fn more(arguments: &str) -> StreamChunk {
        StreamChunk::calls([ToolCallDelta::new(0).arguments(arguments)])
    }

    /// Reads an answer with these arguments of one call, cut at a place; returns the call, and its events.
    fn read_call(
        called: &str,
        arguments: (&str, &str),
        finish: FinishReason,
    ) -> (ToolCall, Vec<AgentEvent>) {
        let mut unwrapping = CallUnwrapper::default();
        let mut machine = StreamMachine::new(&StreamOptions::default());
        let mut events = Vec::new();
        for mut chunk in [name(called, arguments.0), more(arguments.1), StreamChunk::end(finish)] {
            unwrapping.chunk(&mut chunk);
            assert!(machine.chunk(chunk, &mut |event| events.push(event)).is_continue());
        }
        let completion = machine.finish(StreamEnd::Done, &mut |event| events.push(event));
        assert_eq!(completion.tool_calls.len(), 1);
        (completion.tool_calls[0].clone(), events)
    }

    /// The name in the start, and the arguments of all deltas.
    fn reported(events: &[AgentEvent]) -> (Option<&str>, String) {
        let start = events.iter().find_map(|event| {
            let AgentEvent::ToolCallStart(ToolCallStartEvent { tool_name, .. }) = event else {
                return None;
            };
            Some(tool_name.as_deref())
        });
        let deltas = events.iter().filter_map(|event| {
            let AgentEvent::ToolCallContent(ToolCallContentEvent { arguments, .. }) = event else {
                return None;
            };
            Some(arguments.as_str())
        });
        (start.expect("a start"), deltas.collect())
    }

    /// Calls through the tool, and the calls that they are.
    const CALLS: [(&str, &str, &str); 11] = [
        (r#"{"name":"a.b","arguments":{"x":1}}"#, "a.b", r#"{"x":1}"#),
        (r#"{"arguments":{"x":{"y":[1,"}"]}},"name":"a.b"}"#, "a.b", r#"{"x":{"y":[1,"}"]}}"#),
        (" { \"name\" : \" a\\u002eb \" , \"arguments\" : { } } ", "a.b", "{ }"),
        (r#"{"name":"a.b"}"#, "a.b", "{}"),
        (r#"{"name":"a.b","arguments":null}"#, "a.b", "null"),
        (r#"{"name":"a.b","arguments":"{\"x\":\"é\"}"}"#, "a.b", r#"{"x":"é"}"#),
        (
            r#"{"why":"{","name":"a.b","arguments":{"x":"\\\""},"arguments":{}}"#,
            "a.b",
            r#"{"x":"\\\""}"#,
        ),
        (
            r#"{"name":"a.b","arguments":{"name":"c","arguments":{}}}"#,
            "a.b",
            r#"{"name":"c","arguments":{}}"#,
        ),
        (r#"{"name":"","arguments":{}}"#, CALL_FOUND_TOOL, r#"{"name":"","arguments":{}}"#),
        (r#"{"tool":"a.b"}"#, CALL_FOUND_TOOL, r#"{"tool":"a.b"}"#),
        ("{}", CALL_FOUND_TOOL, "{}"),
    ];

    #[test]
    fn a_call_through_the_tool_is_that_of_the_tool_it_names_however_it_is_cut() {
        for (written, tool, arguments) in CALLS {
            for cut in (0..=written.len()).filter(|at| written.is_char_boundary(*at)) {
                let parts = written.split_at(cut);
                let (call, events) = read_call(CALL_FOUND_TOOL, parts, FinishReason::ToolCalls);
                assert_eq!(call.name, tool, "{written} at {cut}");
                assert_eq!(call.outcome, CallOutcome::Complete, "{written} at {cut}");
                assert_eq!(call.indirect, tool != CALL_FOUND_TOOL);
                assert_eq!(
                    reported(&events),
                    (Some(tool), arguments.to_owned()),
                    "{written} at {cut}"
                );
            }
        }
    }

    #[test]
    fn arguments_are_passed_on_as_they_arrive() {
        let (mut unwrapping, mut machine) =
            (CallUnwrapper::default(), StreamMachine::new(&StreamOptions::default()));
        let mut reported = String::new();
        let pieces = [r#"{"name":"a.b","arguments":{"text":"Once"#, " upon", " a time"];
        for (at, piece) in pieces.into_iter().enumerate() {
            let mut chunk = if at == 0 { name(CALL_FOUND_TOOL, piece) } else { more(piece) };
            unwrapping.chunk(&mut chunk);
            let flow = machine.chunk(chunk, &mut |event| {
                if let AgentEvent::ToolCallContent(ToolCallContentEvent { arguments, .. }) = event {
                    reported.push_str(&arguments);
                }
            });
            assert!(flow.is_continue());
            let last = piece.split('"').next_back().unwrap();
            let (known, _) = last.split_at(last.len() - 1);
            assert!(reported.ends_with(known), "{reported} has {piece}");
        }
        assert!(unwrapping.is_waiting());
    }

    /// A call that is cut anywhere is not whole, behind its arguments too.
    #[test]
    fn a_call_that_is_cut_anywhere_never_runs() {
        for (written, ..) in CALLS {
            let written = written.trim_end();
            for cut in (0..written.len()).filter(|at| written.is_char_boundary(*at)) {
                for finish in [FinishReason::Length, FinishReason::ToolCalls] {
                    let (cut, _) = written.split_at(cut);
                    let (call, _) = read_call(CALL_FOUND_TOOL, (cut, ""), finish.clone());
                    let is_empty = cut.trim().is_empty() && finish == FinishReason::ToolCalls;
                    assert_eq!(call.is_complete(), is_empty, "{cut} {finish:?}");
                    assert!(!is_empty || call.name == CALL_FOUND_TOOL);
                }
            }
        }
    }

    #[test]
    fn non_json_arguments_are_malformed_and_other_calls_unchanged() {
        for (written, tool) in [
            (r#"{"name":"a.b","arguments":{"x":1,}}"#, "a.b"),
            (r#"{"name":"a.b","arguments":{"x":1}]"#, "a.b"),
            (r#"{"name":"a.b","arguments":{"x":1}} x"#, "a.b"),
            (r#"{"name":"a.b","arguments":[]}"#, "a.b"),
            (r#"{'name':"a.b"}"#, CALL_FOUND_TOOL),
            ("[]", CALL_FOUND_TOOL),
        ] {
            for cut in 0..=written.len() {
                let parts = written.split_at(cut);
                let (call, events) = read_call(CALL_FOUND_TOOL, parts, FinishReason::ToolCalls);
                assert_eq!(
                    (call.name.as_str(), reported(&events).0),
                    (tool, Some(tool)),
                    "{written} {cut}"
                );
                assert!(matches!(call.outcome, CallOutcome::Malformed { .. }), "{written} {cut}");
            }
        }
        let direct = (r#"{"name":"#, r#""a.b"}"#);
        let (call, events) = read_call("look", direct, FinishReason::ToolCalls);
        assert_eq!((call.name.as_str(), call.indirect), ("look", false));
        assert_eq!(reported(&events), (Some("look"), r#"{"name":"a.b"}"#.to_owned()));
    }

    #[test]
    fn a_name_that_comes_late_is_waited_for_and_calls_side_by_side_are_told_apart() {
        let mut unwrapping = CallUnwrapper::default();
        let mut all = vec![String::new(); 3];
        let mut names = vec![None; 3];
        let long = format!("\"{}", "x".repeat(MAX_NAME_WAIT_BYTES));
        let delta = |index| ToolCallDelta::new(index);
        for mut chunk in [
            StreamChunk::calls([
                delta(0).arguments(r#"{"name":"#),
                delta(1).name("look").arguments("{"),
            ]),
            StreamChunk::calls([delta(2).arguments(long.as_str()), delta(1).arguments("}")]),
            StreamChunk::calls([delta(0)
                .name(CALL_FOUND_TOOL)
                .arguments(r#""a.b","arguments":{"#)]),
            StreamChunk::calls([delta(0).name(CALL_FOUND_TOOL).arguments("}}")]),
            StreamChunk::end(FinishReason::ToolCalls),
        ] {
            unwrapping.chunk(&mut chunk);
            for delta in chunk.tool_calls {
                all[delta.index as usize].push_str(&delta.arguments);
                names[delta.index as usize] = delta.name.or(names[delta.index as usize].take());
            }
        }
        assert_eq!(all, ["{}".to_owned(), "{}".to_owned(), long]);
        assert_eq!(names, [Some("a.b".into()), Some("look".into()), None]);
    }

    #[test]
    fn text_held_for_a_tool_name_is_bounded() {
        let mut unwrapping = CallUnwrapper::default();
        let mut chunk = name(CALL_FOUND_TOOL, r#"{"arguments":{"x":""#);
        unwrapping.chunk(&mut chunk);
        let piece = "x".repeat(1 << 20);
        let mut passed = 0;
        for _ in 0..6 {
            let mut chunk = more(&piece);
            unwrapping.chunk(&mut chunk);
            passed += chunk.tool_calls[0].arguments.len();
        }
        assert!(passed > 5 << 20, "it passes as it is: {passed}");
        assert!(!unwrapping.is_waiting());
    }
}
