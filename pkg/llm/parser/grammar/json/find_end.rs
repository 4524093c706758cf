//! The search for the end of a payload, for readers that need nothing else of it.

use super::{call::JsonCall, current_call::CurrentCall};
use crate::grammar::{ReadMode, skip::ElementSkip};
use forgeline_json::{Kind, Token};

impl JsonCall {
    /// Sets whether only the end of the payload is searched for, and nothing is emitted.
    #[must_use]
    pub(crate) fn with_mode(mut self, mode: ReadMode) -> Self {
        self.call.mode = mode;
        self
    }

    /// Reads a piece, up to a mistake in an item of an array, when only the end is needed.
    pub(super) fn find_end(&mut self, text: &str) -> usize {
        let Self { lexer, call, .. } = self;
        let before = lexer.taken();
        let read = lexer.feed(text, &mut |token| call.bound(token));
        if !lexer.has_failed() || call.array_calls.is_none() {
            return read;
        }
        lexer.rewind_to_fault();
        self.skip = Some(ElementSkip::json(lexer.depth()));
        lexer.taken() - before
    }
}

impl CurrentCall {
    /// Processes one token when only the end is needed, to recognize an array. Marks inside values are not needed.
    pub(super) fn bound(&mut self, token: Token<'_>) -> bool {
        match token {
            Token::ValueStart { depth: 0, kind: Kind::Array, .. } => self.array_calls = Some(0),
            Token::Next { .. } => self.array_calls = None,
            Token::Text(_)
            | Token::KeyStart { .. }
            | Token::KeyEnd { .. }
            | Token::ValueStart { .. }
            | Token::ValueEnd { .. } => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::{JsonShape, PayloadReader as _};

    #[test]
    fn a_payload_ends_at_the_same_byte_whether_it_is_read_or_only_bounded() {
        let payloads = [
            r#"{"name":"f","arguments":{"x":"a } ] \" <","y":[1,{"z":null}]}} tail"#,
            r#"[{"name":"f","arguments":{}}, {"name":"g","arguments":"{\"a\":1}"}] tail"#,
            r#"[{"name":"f","arguments":{"x":[1 2}}, {"name":"g"}, 7, {"a" 1}] tail"#,
            r#"{"name":"f"} {"name":"g","arguments":null}{"x":[}"#,
            "{'name': 'f', 'args': {'a': True, 'b': (1, None,), /* } */ c: \"x\ny\"}} // tail",
            r#"{"function":{"_name":"f","x":1}}]}"#,
            r#"{"f":{"a":"b"},"id":7}{"name":{"x":"\u00e9\/"}}"#,
            r#"[[{"name":"f"}], {"name":"g","arguments":[]}] x"#,
            r#"[1, "a", {"name":"f","arguments":{}"#,
            r#"{"a":01,"name":"f"}"#,
            "[]  ",
            "7",
        ];
        let shapes =
            [JsonShape::Calls, JsonShape::CallsWithIds, JsonShape::OneCall, JsonShape::Keyed];
        let mut ended = 0;
        for payload in payloads {
            for (shape, ends_itself) in shapes.into_iter().flat_map(|it| [(it, true), (it, false)])
            {
                for size in 1..9 {
                    let new = || JsonCall::new(shape).ending(false, ends_itself);
                    let (mut read, mut bounded) = (new(), new().with_mode(ReadMode::FindEnd));
                    for piece in payload.as_bytes().chunks(size) {
                        let piece = str::from_utf8(piece).unwrap();
                        let ends = [&mut read, &mut bounded].map(|reader| {
                            let taken = reader.feed(piece, &mut |_| {});
                            let facts = (reader.has_ended(), reader.is_whole(), reader.guard());
                            (taken, facts, reader.has_failed(), reader.may_recover())
                        });
                        assert_eq!(ends[0], ends[1], "{payload} in {size}, {shape:?}: {piece}");
                        if ends_itself && ends[0].0 < piece.len() {
                            ended += 1;
                            break;
                        }
                    }
                }
            }
        }
        assert!(ended > 100, "{ended} payloads ended themselves");
    }
}
