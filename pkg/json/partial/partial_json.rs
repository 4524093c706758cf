//! A JSON value that can be read while its text arrives.

use super::{error::PartialJsonError, tree::Tree, value::PartialValue};
use crate::{Strictness, Tokenizer};

/// The default maximum length of the text of one [`PartialJson`], in bytes: 8 MiB.
pub const DEFAULT_MAX_JSON_BYTES: u64 = 8 << 20;

/// A JSON value that grows in place while its text arrives in pieces.
///
/// After every piece, [`value`](Self::value) returns the value so far without copying anything; pushing
/// takes time linear in the length of the piece, however long the value is. The value depends only on the text, not
/// on the way in which it was split into pieces. It contains:
///
/// * a string as far as it has arrived, split between characters, never inside an escape or a surrogate
///   pair; a lone surrogate is U+FFFD;
/// * arrays and objects with the members that are available; a key only once its value is;
/// * `true`, `false` and `null` once they are complete;
/// * a number, exactly as spelled, once the character after it has arrived: `12` may still become
///   `123`, which is a different number and not a continuation. A text that is only a number needs
///   [`finish`](Self::finish).
///
/// Everything that has been returned stays and only grows, except that the last of several members with
/// the same key counts.
///
/// # Examples
///
/// ```
/// use forgeline_json::PartialJson;
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
/// # Ok::<(), forgeline_json::PartialJsonError>(())
/// ```
///
/// Typed, with every field optional; strings can be borrowed, and are then not copied:
///
/// ```
/// # use forgeline_json::PartialJson;
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
    tokenizer: Tokenizer,
    /// The length of the text so far, in bytes.
    taken: u64,
    max_bytes: u64,
    error: Option<PartialJsonError>,
}

impl Default for PartialJson {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialJson {
    /// Creates a value of which nothing has arrived yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            tree: Tree::default(),
            tokenizer: Tokenizer::new(Strictness::Strict).mark_all(),
            taken: 0,
            max_bytes: DEFAULT_MAX_JSON_BYTES,
            error: None,
        }
    }

    /// Sets the maximum length of the text, in bytes. Default: [`DEFAULT_MAX_JSON_BYTES`]. A longer text causes
    /// [`PartialJsonError::TooLong`]. A value of many short members takes about 40 times the memory
    /// of its text.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline_json::PartialJson;
    ///
    /// let mut json = PartialJson::new().max_bytes(4);
    /// assert_eq!(json.push("[1,2]").unwrap_err().offset(), 4);
    /// assert_eq!(json.value().unwrap().to_string(), "[1]");
    /// ```
    #[must_use]
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Adds the next piece of the text: strict JSON, as
    /// `ToolCallContent` contains it in `arguments`.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not JSON, or exceeds a limit. The value stays as it was before the error, and
    /// every later piece is rejected with the same error.
    pub fn push(&mut self, delta: &str) -> Result<(), PartialJsonError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let room = usize::try_from(self.max_bytes.saturating_sub(self.taken)).unwrap_or(usize::MAX);
        let (delta, beyond) = delta.split_at(delta.floor_char_boundary(room));
        let Self { tree, tokenizer, .. } = self;
        tokenizer.feed(delta, &mut |token| {
            tree.take(token);
            true
        });
        self.taken += delta.len() as u64;
        self.error = if tokenizer.has_failed() {
            let (expected, at) = tokenizer.expected();
            let offset = at as u64;
            Some(expected.map_or(PartialJsonError::TooDeep { offset }, |expected| {
                PartialJsonError::Unexpected { expected, offset }
            }))
        } else {
            (!beyond.is_empty()).then_some(PartialJsonError::TooLong { offset: self.taken })
        };
        self.error.map_or(Ok(()), Err)
    }

    /// Ends the text. A number that is the whole value is available from then on.
    ///
    /// # Errors
    ///
    /// The error returned by [`push`](Self::push), or [`PartialJsonError::Incomplete`]; the value stays
    /// as it is.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline_json::PartialJson;
    ///
    /// let mut json = PartialJson::new();
    /// json.push("42")?;
    /// assert!(json.value().is_none(), "more digits may follow");
    /// json.finish()?;
    /// assert_eq!(json.value().unwrap().as_number(), Some("42"));
    /// # Ok::<(), forgeline_json::PartialJsonError>(())
    /// ```
    pub fn finish(&mut self) -> Result<(), PartialJsonError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        if !self.tokenizer.is_whole() {
            return Err(PartialJsonError::Incomplete { offset: self.taken });
        }
        let Self { tree, tokenizer, .. } = self;
        tokenizer.close_at_end(&mut |token| {
            tree.take(token);
            true
        });
        Ok(())
    }

    /// Returns the value so far; `None` before anything is available.
    #[must_use]
    pub fn value(&self) -> Option<PartialValue<'_>> {
        PartialValue::root(&self.tree)
    }

    /// Returns the value at a JSON pointer (RFC 6901) such as `/content` or `/files/0/path`, if it
    /// has arrived; the empty pointer is the whole value.
    #[must_use]
    pub fn pointer(&self, pointer: &str) -> Option<PartialValue<'_>> {
        self.value()?.pointer(pointer)
    }

    /// Returns `true` once exactly one value has arrived, and nothing else.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.error.is_none() && self.tokenizer.is_done()
    }

    /// Returns the error because of which the text is not read any further, if there is one.
    #[must_use]
    pub fn error(&self) -> Option<PartialJsonError> {
        self.error
    }

    /// Parses the complete `text`, for a deserializer that keeps the spelling of numbers.
    pub(super) fn spelled(text: &str) -> Result<Self, PartialJsonError> {
        let mut json = Self::new().max_bytes(u64::MAX);
        json.tree.keep_spelling();
        json.push(text)?;
        json.finish()?;
        Ok(json)
    }

    /// Returns the number of steps that the tokenizer took.
    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        self.tokenizer.steps
    }
}
