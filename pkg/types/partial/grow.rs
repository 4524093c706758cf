//! A JSON value that can be looked at while its text arrives.

use std::mem;

use super::{
    error::PartialJsonError,
    escape::Escape,
    number::Number,
    tree::{Inside, Node, Tree},
    value::PartialValue,
};
use crate::types::{Text, slice};

/// Longest text of one [`PartialJson`], in bytes, where the caller sets no other limit: 8 MiB.
pub const DEFAULT_MAX_JSON_BYTES: u64 = 8 << 20;

/// How many arrays and objects may be open at once.
const MAX_DEPTH: usize = 128;

/// A JSON value that grows in place while its text arrives in pieces.
///
/// After every piece [`value`](Self::value) is the value so far, without copying anything; pushing
/// costs time linear in the piece, however long the value is. However the text is cut, the value
/// after the same text is the same. What is shown:
///
/// * a string as far as it has come, cut between characters, never inside an escape or a pair of
///   surrogates; a lone surrogate is U+FFFD;
/// * arrays and objects with the members that can be shown; a key only once its value can be;
/// * `true`, `false` and `null` once they are whole;
/// * a number, exactly as spelled, once the character behind it has come: `12` may still become `123`,
///   which is another number and not the rest of this one. A text that is a number alone needs
///   [`finish`](Self::finish).
///
/// What was once shown stays, and only grows, but for a key that is written twice: the last counts.
///
/// # Examples
///
/// ```
/// use forgeline::types::PartialJson;
///
/// let mut json = PartialJson::new();
/// json.push(r#"{"path": "a.rs", "content": "fn main() {\n  pri"#)?;
/// let content = json.pointer("/content").unwrap();
/// assert_eq!(content.as_str(), Some("fn main() {\n  pri"));
/// assert!(content.is_open() && !json.pointer("/path").unwrap().is_open());
///
/// json.push(r#"ntln!();\n}", "line": 1"#)?;
/// assert_eq!(json.pointer("/content").unwrap().as_str(), Some("fn main() {\n  println!();\n}"));
/// assert!(json.pointer("/line").is_none());
///
/// json.push("2}")?;
/// assert_eq!(json.pointer("/line").unwrap().as_number(), Some("12"));
/// assert!(json.is_whole());
/// # Ok::<(), forgeline::types::PartialJsonError>(())
/// ```
///
/// Typed, with every field optional; strings can be borrowed, and are then not copied:
///
/// ```
/// # use forgeline::types::PartialJson;
/// #[derive(serde::Deserialize)]
/// struct Draft<'a> {
///     title: Option<&'a str>,
///     score: Option<u32>,
/// }
///
/// let mut json = PartialJson::new();
/// json.push(r#"{"title": "Unwrit"#)?;
/// let draft: Draft<'_> = json.value().unwrap().read()?;
/// assert_eq!((draft.title, draft.score), (Some("Unwrit"), None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct PartialJson {
    tree: Tree,
    state: State,
    /// The key that was read or is being read.
    key: String,
    /// The number that is being read.
    number: Text,
    /// Bytes of the text so far.
    taken: u64,
    max_bytes: u64,
    /// Steps of the state machine, to show that their number is linear.
    #[cfg(test)]
    pub(super) steps: u64,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// A value must begin; in an array that has none yet, its end may stand instead.
    Value { may_end: bool },
    /// A key must begin; in an object that has none yet, its end may stand instead.
    Key { may_end: bool },
    /// A key ended: a colon follows.
    Colon,
    /// A value ended: a comma follows, or the end of what is open. After the root only blanks.
    After,
    /// In a string or key, up to its quote.
    String { is_key: bool, escape: Escape },
    /// In a number, up to what does not belong to it.
    Number(Number),
    /// In `true`, `false` or `null`; the rest of it.
    Word { rest: &'static str, value: Option<bool> },
    /// Nothing more is taken.
    Failed(PartialJsonError),
}

/// What may stand at this byte of the piece at hand, and does not.
enum Fault {
    Expected(&'static str, usize),
    TooDeep,
    TooLong,
}

type Step = Result<usize, Fault>;

impl Default for PartialJson {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialJson {
    /// A value of which nothing has come.
    #[must_use]
    pub fn new() -> Self {
        Self {
            tree: Tree::default(),
            state: State::Value { may_end: false },
            key: String::new(),
            number: Text::default(),
            taken: 0,
            max_bytes: DEFAULT_MAX_JSON_BYTES,
            #[cfg(test)]
            steps: 0,
        }
    }

    /// Sets the longest text, in bytes. Default: [`DEFAULT_MAX_JSON_BYTES`]. What goes beyond is
    /// [`PartialJsonError::TooLong`]. A value of many short members takes
    /// about 40 times the memory of its text.
    #[must_use]
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Takes the next piece of the text: strict JSON, as
    /// [`ToolCallContent`](crate::types::AgentEvent::ToolCallContent) carries it in `arguments`.
    ///
    /// # Errors
    ///
    /// When the text is no JSON, or passes a limit. The value stays what it was before the fault,
    /// and every later piece is refused with the same error.
    pub fn push(&mut self, delta: &str) -> Result<(), PartialJsonError> {
        if let State::Failed(error) = self.state {
            return Err(error);
        }
        let room = usize::try_from(self.max_bytes.saturating_sub(self.taken)).unwrap_or(usize::MAX);
        let (mut rest, beyond) = delta.split_at(delta.floor_char_boundary(room));
        while !rest.is_empty() {
            let taken = self.step(rest).map_err(|fault| self.fail(&fault))?;
            self.taken += taken as u64;
            rest = slice(rest, taken..);
        }
        if beyond.is_empty() { Ok(()) } else { Err(self.fail(&Fault::TooLong)) }
    }

    /// Ends the text. A number that is the whole value is shown from here on.
    ///
    /// # Errors
    ///
    /// The fault that was met, or [`PartialJsonError::Incomplete`]; the value stays as it is.
    pub fn finish(&mut self) -> Result<(), PartialJsonError> {
        if let State::Failed(error) = self.state {
            return Err(error);
        }
        if let State::Number(number) = self.state
            && number.is_whole()
            && self.tree.depth() == 0
        {
            self.end_number();
        }
        let incomplete = PartialJsonError::Incomplete { offset: self.taken };
        self.is_whole().then_some(()).ok_or(incomplete)
    }

    /// The value so far; `None` before anything can be shown.
    #[must_use]
    pub fn value(&self) -> Option<PartialValue<'_>> {
        PartialValue::root(&self.tree)
    }

    /// The value at a JSON pointer (RFC 6901) such as `/content` or `/files/0/path`; the empty one
    /// is the whole value. `None` as long as there is none.
    #[must_use]
    pub fn pointer(&self, pointer: &str) -> Option<PartialValue<'_>> {
        self.value()?.pointer(pointer)
    }

    /// Whether exactly one value has arrived, and nothing else.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        matches!(self.state, State::After) && self.tree.depth() == 0
    }

    /// Why nothing more is taken, if that is so.
    #[must_use]
    pub fn error(&self) -> Option<PartialJsonError> {
        if let State::Failed(error) = self.state { Some(error) } else { None }
    }

    fn fail(&mut self, fault: &Fault) -> PartialJsonError {
        let error = match *fault {
            Fault::Expected(expected, at) => {
                self.taken += at as u64;
                PartialJsonError::Unexpected { expected, offset: self.taken }
            }
            Fault::TooDeep => PartialJsonError::TooDeep { offset: self.taken },
            Fault::TooLong => PartialJsonError::TooLong { offset: self.taken },
        };
        self.state = State::Failed(error);
        error
    }

    /// Takes some of `rest`, which is not empty; gives how many bytes.
    fn step(&mut self, rest: &str) -> Step {
        #[cfg(test)]
        {
            self.steps += 1;
        }
        let bytes = rest.as_bytes();
        match self.state {
            State::String { is_key, escape } => return self.string(is_key, escape, rest),
            State::Number(number) => return self.number(number, rest),
            State::Word { rest: word, value } => return self.word(word, value, bytes),
            State::Value { .. }
            | State::Key { .. }
            | State::Colon
            | State::After
            | State::Failed(_) => {}
        }
        let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        let blanks = bytes.iter().take_while(is_blank).count();
        let Some(&byte) = bytes.get(blanks) else { return Ok(blanks) };
        if blanks > 0 {
            return Ok(blanks);
        }
        match (self.state, byte) {
            (State::Value { may_end: true }, b']') | (State::Key { may_end: true }, b'}') => {
                self.close();
            }
            (State::Value { .. }, _) => self.begin(byte)?,
            (State::Key { .. }, b'"') => {
                self.key.clear();
                self.state = State::String { is_key: true, escape: Escape::None };
            }
            (State::Key { may_end: true }, _) => return Err(Fault::Expected("a key or `}`", 0)),
            (State::Key { .. }, _) => return Err(Fault::Expected("a key", 0)),
            (State::Colon, b':') => self.state = State::Value { may_end: false },
            (State::Colon, _) => return Err(Fault::Expected("`:`", 0)),
            _ => self.after(byte)?,
        }
        Ok(1)
    }

    /// The first byte of a value.
    fn begin(&mut self, byte: u8) -> Result<(), Fault> {
        if matches!(byte, b'[' | b'{') && self.tree.depth() == MAX_DEPTH {
            return Err(Fault::TooDeep);
        }
        let word = |rest, value| State::Word { rest, value };
        self.state = match byte {
            b'"' => {
                self.add(Node::String(String::new()));
                State::String { is_key: false, escape: Escape::None }
            }
            b'[' => {
                self.add(Node::Array(Vec::new()));
                State::Value { may_end: true }
            }
            b'{' => {
                self.add(Node::Object(Box::default()));
                State::Key { may_end: true }
            }
            b't' => word("rue", Some(true)),
            b'f' => word("alse", Some(false)),
            b'n' => word("ull", None),
            _ => {
                let number = Number::begin(byte).ok_or(Fault::Expected("a value", 0))?;
                self.number = Text::default();
                self.number.push_str(char::from(byte).encode_utf8(&mut [0; 4]));
                State::Number(number)
            }
        };
        Ok(())
    }

    /// What stands behind a value.
    fn after(&mut self, byte: u8) -> Result<(), Fault> {
        let expected = match (self.tree.inside(), byte) {
            (Inside::Array, b']') | (Inside::Object, b'}') => {
                self.close();
                return Ok(());
            }
            (Inside::Array, b',') => {
                self.state = State::Value { may_end: false };
                return Ok(());
            }
            (Inside::Object, b',') => {
                self.state = State::Key { may_end: false };
                return Ok(());
            }
            (Inside::Array, _) => "`,` or `]`",
            (Inside::Object, _) => "`,` or `}`",
            (Inside::Nothing, _) => "the end of the text",
        };
        Err(Fault::Expected(expected, 0))
    }

    fn string(&mut self, is_key: bool, escape: Escape, rest: &str) -> Step {
        let Self { tree, key, state, .. } = self;
        let Some(text) = (if is_key { Some(key) } else { tree.string() }) else { return Ok(1) };
        let bytes = rest.as_bytes();
        let mut taken = 0;
        let next = match (escape, bytes.first()) {
            (Escape::None | Escape::Half(_), Some(b'"')) => {
                escape.end(text);
                self.tree.end_string();
                self.state = if is_key { State::Colon } else { State::After };
                return Ok(1);
            }
            (Escape::None | Escape::Half(_), Some(byte)) if *byte != b'\\' => {
                let end = memchr::memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len());
                let plain = bytes.get(..end).unwrap_or_default();
                let control = plain.iter().position(|byte| *byte < b' ');
                taken = control.unwrap_or(end);
                if taken > 0 {
                    escape.end(text);
                    text.push_str(slice(rest, ..taken));
                }
                if control.is_some() {
                    return Err(Fault::Expected("an escaped control character", taken));
                }
                Escape::None
            }
            (_, Some(&byte)) => {
                let next = escape.take(byte, text).map_err(|what| Fault::Expected(what, 0))?;
                taken += 1;
                next
            }
            (_, None) => escape,
        };
        *state = State::String { is_key, escape: next };
        Ok(taken)
    }

    fn number(&mut self, mut number: Number, rest: &str) -> Step {
        let mut taken = 0;
        for &byte in rest.as_bytes() {
            let Some(next) = number.next(byte) else { break };
            number = next;
            taken += 1;
        }
        self.number.push_str(slice(rest, ..taken));
        if taken == rest.len() {
            self.state = State::Number(number);
        } else if number.is_whole() {
            self.end_number();
        } else {
            return Err(Fault::Expected("a digit", taken));
        }
        Ok(taken)
    }

    fn end_number(&mut self) {
        let number = mem::take(&mut self.number);
        self.add(Node::Number(number));
        self.state = State::After;
    }

    fn word(&mut self, word: &'static str, value: Option<bool>, bytes: &[u8]) -> Step {
        let same = word.bytes().zip(bytes).take_while(|(one, other)| one == *other).count();
        let rest = slice(word, same..);
        if rest.is_empty() {
            self.add(value.map_or(Node::Null, Node::Bool));
            self.state = State::After;
        } else if same < bytes.len() {
            return Err(Fault::Expected("`true`, `false` or `null`", same));
        } else {
            self.state = State::Word { rest, value };
        }
        Ok(same)
    }

    fn add(&mut self, node: Node) {
        self.tree.add(&mut self.key, node);
    }

    fn close(&mut self) {
        self.tree.close();
        self.state = State::After;
    }
}
