//! The tags of a dialect whose calls are named parameters.

use std::{borrow::Cow, mem};

/// Text of a tag.
type Tag = Cow<'static, str>;

const NO_TAGS: [Tag; 2] = [Cow::Borrowed(""), Cow::Borrowed("")];

/// The tags in which a family of models writes the functions and parameters of its calls.
///
/// A function or parameter tag carries a name, as `=NAME` or as an attribute `name="NAME"` (also
/// `tool` and `key`), and ends with [`tag_end`](Self::tag_end). Two more attributes type the value of
/// a parameter: `string="true"` or `"false"`, and `type="number"` and the like.
///
/// # Examples
///
/// ```
/// use forgeline::llm::parser::Tags;
///
/// // <run task="…"><with name="…">…</with></run>, with line breaks around each value.
/// let tags = Tags::new(["<run", "</run>"], ["<with", "</with>"], ">").framing();
/// assert_eq!(tags.tag_end, ">");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub struct Tags {
    /// Opens a function, up to its name, such as `<function`. Empty: the name is the plain text
    /// before the first parameter, a line end or [`tag_end`](Self::tag_end).
    pub function: Tag,
    /// Ends a function, such as `</function>`. Empty: whatever ends the call does.
    pub function_end: Tag,
    /// Opens a parameter, up to its name, such as `<parameter`; whole, such as `<arg_key>`, where
    /// the key is text that [`key_end`](Self::key_end) ends.
    pub parameter: Tag,
    /// Ends a key that is text, such as `</arg_key>`. Default: empty, keys stand in the tag.
    pub key_end: Tag,
    /// Begins the value behind a key that is text, such as `<arg_value>`. Default: empty, the value
    /// begins at once.
    pub value_start: Tag,
    /// Around the type of a value between a key that is text and its value, such as `<arg_type>`
    /// and `</arg_type>`; what stands there is read like an attribute `type`. Default: empty.
    pub kind: [Tag; 2],
    /// Around one JSON object that holds all arguments in place of parameters: the opening tag up
    /// to its attributes, such as `<json`, and `</json>`. Default: empty. A bare object that stands
    /// where the first parameter could is read in any case.
    pub object: [Tag; 2],
    /// Ends a value, such as `</parameter>`.
    pub parameter_end: Tag,
    /// Ends a tag that carries a name, mostly `>`; ends a name that is plain text.
    pub tag_end: Tag,
    /// What around a value is no part of it. Default: nothing.
    pub framing: ValueFraming,
    /// Whether the end of a function ends the call. Default: no, another function may follow in the
    /// same call.
    pub ends_itself: bool,
    /// Whether a tag that ends with `>` may carry a suffix of at most 64 bytes before it, as in
    /// `<arg_key:x>`. Default: no.
    pub suffixes: bool,
}

/// What stands around a value and is no part of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueFraming {
    /// Nothing: the value is what stands between its tags.
    #[default]
    None,
    /// One line end right behind the start and one right before the end, where they are there.
    LineEnds,
    /// The marks of a CDATA section, where the value is one.
    Cdata,
}

impl Tags {
    /// Tags that carry the names: the opening and the end of a function, those of a parameter, and
    /// what ends an opening tag.
    #[must_use]
    pub const fn new(
        function: [&'static str; 2],
        parameter: [&'static str; 2],
        tag_end: &'static str,
    ) -> Self {
        Self {
            function: Cow::Borrowed(function[0]),
            function_end: Cow::Borrowed(function[1]),
            parameter: Cow::Borrowed(parameter[0]),
            key_end: Cow::Borrowed(""),
            value_start: Cow::Borrowed(""),
            parameter_end: Cow::Borrowed(parameter[1]),
            tag_end: Cow::Borrowed(tag_end),
            kind: NO_TAGS,
            object: NO_TAGS,
            framing: ValueFraming::None,
            ends_itself: false,
            suffixes: false,
        }
    }

    /// Pairs of a key and a value behind a plain name: what is around a key, what is around a value,
    /// and what ends the name besides a line end and the first key; it may be empty.
    #[must_use]
    pub const fn pairs(
        key: [&'static str; 2],
        value: [&'static str; 2],
        tag_end: &'static str,
    ) -> Self {
        Self {
            function: Cow::Borrowed(""),
            function_end: Cow::Borrowed(""),
            parameter: Cow::Borrowed(key[0]),
            key_end: Cow::Borrowed(key[1]),
            value_start: Cow::Borrowed(value[0]),
            parameter_end: Cow::Borrowed(value[1]),
            tag_end: Cow::Borrowed(tag_end),
            kind: NO_TAGS,
            object: NO_TAGS,
            framing: ValueFraming::None,
            ends_itself: false,
            suffixes: false,
        }
    }

    /// Lets [`framing`](Self::framing) be line ends.
    #[must_use]
    pub const fn framing(mut self) -> Self {
        self.framing = ValueFraming::LineEnds;
        self
    }

    /// Lets [`framing`](Self::framing) be the marks of CDATA sections.
    #[must_use]
    pub const fn cdata(mut self) -> Self {
        self.framing = ValueFraming::Cdata;
        self
    }

    /// Sets [`kind`](Self::kind).
    #[must_use]
    pub const fn kind(mut self, kind: [&'static str; 2]) -> Self {
        set(&mut self.kind[0], kind[0]);
        set(&mut self.kind[1], kind[1]);
        self
    }

    /// Sets [`object`](Self::object).
    #[must_use]
    pub const fn object(mut self, object: [&'static str; 2]) -> Self {
        set(&mut self.object[0], object[0]);
        set(&mut self.object[1], object[1]);
        self
    }

    /// Sets [`ends_itself`](Self::ends_itself).
    #[must_use]
    pub const fn ends_itself(mut self) -> Self {
        self.ends_itself = true;
        self
    }

    /// Sets [`suffixes`](Self::suffixes).
    #[must_use]
    pub const fn suffixes(mut self) -> Self {
        self.suffixes = true;
        self
    }

    /// Whether a payload that begins with this byte may begin with a function's tag.
    pub(crate) fn function_begins_with(&self, first: u8) -> bool {
        self.function.bytes().next() == Some(first)
    }

    /// Everything that may structure a payload.
    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        let name_end = self.function.is_empty().then_some(&self.tag_end);
        [
            &self.function,
            &self.function_end,
            &self.parameter,
            &self.key_end,
            &self.value_start,
            &self.parameter_end,
            &self.kind[0],
            &self.kind[1],
            &self.object[0],
            &self.object[1],
        ]
        .into_iter()
        .chain(name_end)
        .map(|tag| &**tag)
        .filter(|tag| !tag.is_empty())
    }
}

const fn set(place: &mut Tag, tag: &'static str) {
    // A constant function can drop nothing; what is replaced here was borrowed text.
    mem::forget(mem::replace(place, Cow::Borrowed(tag)));
}
