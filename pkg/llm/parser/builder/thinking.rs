//! Reasoning as you describe it.

use super::{
    check::{MAX_FRAMING, Markers},
    error::DialectError,
};
use crate::llm::parser::{
    description::{Framing, Thinking, ThinkingForm},
    dialect::ThinkingDialect,
    marker::Marker,
};

impl ThinkingDialect {
    /// Begins the description of a dialect that the library does not know.
    ///
    /// `name` is what [`name`](Self::name) gives; [`by_name`](Self::by_name) does not find it. Where
    /// only the name of a tag differs, [`tags`](Self::tags) is shorter.
    ///
    /// # Examples
    ///
    /// ```
    /// use forgeline::llm::parser::{ThinkingDialect, ThinkingParser, ThinkingPiece, ToolDialect};
    ///
    /// let dialect = ThinkingDialect::builder("notes")
    ///     .section("[[note]]", "[[/note]]")
    ///     .framing(1, 1, 1)
    ///     .build()?;
    ///
    /// let mut parser = ThinkingParser::new(&dialect, &ToolDialect::NONE);
    /// let (mut thinking, mut message) = (String::new(), String::new());
    /// let out = &mut |piece: ThinkingPiece<'_>| match piece {
    ///     ThinkingPiece::Thinking(part) => thinking.push_str(part),
    ///     ThinkingPiece::Message(part) => message.push_str(part),
    ///     _ => {}
    /// };
    /// for piece in ["[[no", "te]]\nSix times", " seven.\n[[/note]]\nIt is 42."] {
    ///     parser.parse(piece, out);
    /// }
    /// parser.flush(out);
    /// assert_eq!((thinking.as_str(), message.as_str()), ("Six times seven.", "It is 42."));
    /// # Ok::<(), forgeline::llm::parser::DialectError>(())
    /// ```
    pub fn builder(name: &'static str) -> ThinkingDialectBuilder {
        ThinkingDialectBuilder {
            name,
            sections: Vec::new(),
            framing: Framing::NONE,
            ignored: Vec::new(),
            start: Start::Message,
            recovers_calls: false,
            place: Place::Anywhere,
        }
    }
}

/// Describes a thinking dialect: the markers around reasoning, and the line ends that belong to them.
///
/// A marker is spelled as the model writes it. One that is spelled `<name>` or `</name>` is a tag: it
/// counts in any ASCII case and with blanks before its `>`. All others count exactly as they are. In
/// code spans and fences openers are text.
#[derive(Debug, Clone)]
#[must_use = "a builder describes nothing until it is built"]
pub struct ThinkingDialectBuilder {
    name: &'static str,
    sections: Vec<(String, Vec<String>)>,
    framing: Framing,
    ignored: Vec<String>,
    start: Start,
    recovers_calls: bool,
    place: Place,
}

/// Where openers count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Anywhere,
    Start,
}

/// Where a response begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    Message,
    Thinking,
}

impl ThinkingDialectBuilder {
    /// Adds a form of reasoning.
    pub fn section(self, opener: &str, closer: &str) -> Self {
        self.section_with_closers(opener, &[closer])
    }

    /// Adds a form of reasoning that any of several markers closes.
    pub fn section_with_closers(mut self, opener: &str, closers: &[&str]) -> Self {
        let closers = closers.iter().map(|closer| (*closer).to_owned()).collect();
        self.sections.push((opener.to_owned(), closers));
        self
    }

    /// Sets how many line ends, at most, belong to the markers of all sections and are dropped: behind
    /// the opener, before the closer, and behind the closer or an ignored marker. Default: none; at most 8 each.
    pub fn framing(mut self, after_opener: u8, before_closer: u8, after_closer: u8) -> Self {
        self.framing = Framing { after_opener, before_closer, after_closer };
        self
    }

    /// Adds a marker in the answer that belongs to nothing and is passed over.
    pub fn ignored(mut self, marker: &str) -> Self {
        self.ignored.push(marker.to_owned());
        self
    }

    /// Says that the openers are plain words, which count at the start of a response only. Default:
    /// they count anywhere.
    pub fn only_at_start(mut self) -> Self {
        self.place = Place::Start;
        self
    }

    /// Says that the prompt's template opens the reasoning: a response begins inside it. Default: it
    /// begins with the message.
    pub fn starts_inside(mut self) -> Self {
        self.start = Start::Thinking;
        self
    }

    /// Says that models of this family call tools in reasoning that they never close: such calls are
    /// calls when the response ends. Default: they are reasoning.
    pub fn recovers_calls(mut self) -> Self {
        self.recovers_calls = true;
        self
    }

    /// The dialect.
    ///
    /// # Errors
    ///
    /// [`DialectError`], when the markers cannot be told apart or looked for.
    pub fn build(self) -> Result<ThinkingDialect, DialectError> {
        self.check()?;
        let sections = self.sections.iter().map(|(opener, closers)| ThinkingForm {
            opener: Marker::own(opener),
            closers: closers.iter().map(|closer| Marker::own(closer)).collect(),
            framing: self.framing,
        });
        Ok(ThinkingDialect::own(Thinking {
            name: self.name,
            example: "",
            sections: sections.collect(),
            ignored: self.ignored.iter().map(|marker| Marker::own(marker)).collect(),
            after_ignored: self.framing.after_closer,
            only_at_start: self.place == Place::Start,
            finds_late_closer: false,
            starts_inside: self.start == Start::Thinking,
            recovers_calls: self.recovers_calls,
        }))
    }

    fn check(&self) -> Result<(), DialectError> {
        if self.sections.is_empty() {
            return Err(DialectError::Empty);
        }
        let Framing { after_opener, before_closer, after_closer } = self.framing;
        let count = after_opener.max(before_closer).max(after_closer);
        if count > MAX_FRAMING {
            return Err(DialectError::Framing { count });
        }
        let mut markers = Markers::default();
        for (opener, closers) in &self.sections {
            if closers.is_empty() {
                return Err(DialectError::NoCloser { opener: opener.clone() });
            }
            markers.in_text.push(opener);
            markers.others.extend(closers.iter().map(String::as_str));
        }
        markers.in_text.extend(self.ignored.iter().map(String::as_str));
        markers.check()
    }
}
