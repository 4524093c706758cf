//! The description of a thinking dialect.

use crate::{
    builder::description::{MarkerFraming, Markers, ThinkingRules},
    marker::Marker,
};

/// A description of a thinking dialect: the markers around reasoning, and the line ends that belong
/// to them.
///
/// A marker is spelled as the model writes it. A marker of the form `<name>` or `</name>` is a tag, which
/// matches in any ASCII case and with whitespace before its `>`. All other markers must match exactly.
/// Inside code spans and fences, openers are text.
///
/// The description is plain data, which can be stored in a `const`;
/// [`build`](ThinkingDialectBuilder::build) checks it.
///
/// # Examples
///
/// ```
/// use forgeline::llm::parser::{Section, ThinkingDialectBuilder};
///
/// const NOTES: ThinkingDialectBuilder<'static> = ThinkingDialectBuilder::new("notes")
///     .sections(&[Section::new("[[note]]", "[[/note]]")])
///     .framing(1, 1, 1);
///
/// assert_eq!(NOTES.build()?.name(), "notes");
/// # Ok::<(), forgeline::llm::parser::DialectError>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[must_use = "a description has no effect until it is built"]
pub struct ThinkingDialectBuilder<'a> {
    pub(crate) name: &'static str,
    pub(crate) example: &'static str,
    pub(crate) sections: &'a [Section<'a>],
    pub(crate) framing: MarkerFraming,
    /// Markers in the answer that are not part of it, such as those surrounding it.
    pub(crate) ignored: Markers<'a>,
    /// Markers inside reasoning and answer, surrounding parts of them.
    pub(crate) inline: &'a [Marker<'a>],
    /// Special tokens that begin another section, and thereby end one of reasoning.
    pub(crate) headers: &'a [Marker<'a>],
    pub(crate) rules: ThinkingRules,
}

impl<'a> ThinkingDialectBuilder<'a> {
    /// Creates the description of a dialect without sections.
    pub const fn new(name: &'static str) -> Self {
        let (framing, rules) = (MarkerFraming::NONE, ThinkingRules::NONE);
        let (ignored, inline, headers): (_, &[_], &[_]) = (Markers::NONE, &[], &[]);
        Self { name, example: "", sections: &[], framing, ignored, inline, headers, rules }
    }

    /// Sets an example of text in this dialect. Default: none.
    pub const fn example(mut self, example: &'static str) -> Self {
        self.example = example;
        self
    }

    /// Sets the forms of reasoning.
    pub const fn sections(mut self, sections: &'a [Section<'a>]) -> Self {
        self.sections = sections;
        self
    }

    /// Sets the maximum numbers of line ends that belong to the markers of all sections and are dropped: after
    /// the opener, before the closer, and after the closer or an ignored marker. Default: none; at
    /// most 8 each.
    pub const fn framing(mut self, after_opener: u8, before_closer: u8, after_closer: u8) -> Self {
        self.framing = MarkerFraming { after_opener, before_closer, after_closer };
        self.rules.after_ignored = after_closer;
        self
    }

    /// Sets the markers in the answer that are not part of it and are skipped. Default: none.
    pub const fn ignored(mut self, markers: &'a [&'a str]) -> Self {
        self.ignored = Markers::Spelled(markers);
        self
    }

    /// Treats the openers as plain words, which count only at the start of a response. Default: they
    /// count anywhere.
    pub const fn only_at_start(mut self) -> Self {
        self.rules.only_at_start = true;
        self
    }

    /// Lets responses begin inside reasoning, because the prompt template opens it. Default: they
    /// begin with the message.
    pub const fn starts_inside(mut self) -> Self {
        self.rules.starts_inside = true;
        self
    }

    /// Sets whether complete calls in reasoning that is never closed count as calls when the response ends.
    /// Default: they do.
    pub const fn recovers_calls(mut self, recovers: bool) -> Self {
        self.rules.recovers_calls = recovers;
        self
    }

    /// Sets the markers, in any form, that are not part of the answer.
    pub(crate) const fn ignored_markers(mut self, markers: &'a [Marker<'a>]) -> Self {
        self.ignored = Markers::Many(markers);
        self
    }

    /// Sets the markers inside reasoning and answer, which continue after them.
    pub(crate) const fn inline(mut self, markers: &'a [Marker<'a>]) -> Self {
        self.inline = markers;
        self
    }

    /// Returns this dialect without the parts that may resemble prose, for use together with others.
    pub(crate) fn beside_others(mut self) -> Self {
        self.inline = &[];
        self
    }

    /// Sets the special tokens that begin another section, before which the model may omit the closer.
    pub(crate) const fn headers(mut self, markers: &'a [Marker<'a>]) -> Self {
        self.headers = markers;
        self
    }

    /// Sets the maximum number of line ends that belong to an ignored marker before them.
    pub(crate) const fn after_ignored(mut self, count: u8) -> Self {
        self.rules.after_ignored = count;
        self
    }

    /// Takes the first closer without an opener as a sign that the response began inside thinking, except for
    /// closers that are plain words.
    pub(crate) const fn finds_late_closer(mut self) -> Self {
        self.rules.finds_late_closer = !self.rules.only_at_start;
        self
    }
}

/// One form of reasoning: the marker that opens it, and those that close it.
///
/// # Examples
///
/// ```
/// use forgeline::llm::parser::Section;
///
/// let sections = [
///     Section::new("<plan>", "</plan>"),
///     Section::with_closers("[[note]]", &["[[/note]]", "<eot>"]),
/// ];
/// # assert_eq!(sections.len(), 2);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Section<'a> {
    pub(crate) opener: Marker<'a>,
    pub(crate) closers: Markers<'a>,
}

impl<'a> Section<'a> {
    /// Creates a form of reasoning between an opener and a closer.
    #[must_use]
    pub const fn new(opener: &'a str, closer: &'a str) -> Self {
        Self::from_markers(Marker::spelled(opener), Markers::One(Marker::spelled(closer)))
    }

    /// Creates a form of reasoning that any of several closers ends.
    #[must_use]
    pub const fn with_closers(opener: &'a str, closers: &'a [&'a str]) -> Self {
        Self::from_markers(Marker::spelled(opener), Markers::Spelled(closers))
    }

    pub(crate) const fn from_markers(opener: Marker<'a>, closers: Markers<'a>) -> Self {
        Self { opener, closers }
    }
}
