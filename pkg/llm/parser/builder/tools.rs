//! The description of a tool-call dialect.

use super::payload::PayloadGrammar;
use crate::{
    ahead::name_check::NameCheck,
    builder::description::{BareCall, CallGrammar, Markers},
    grammar::Tags,
    marker::{Marker, lookahead::TagLead},
};

/// A description of a tool-call dialect: markers, and the grammar of the payload between them.
///
/// A marker is spelled as the model writes it. A marker of the form `<name>` or `</name>` is a tag, which
/// matches in any ASCII case and with whitespace before its `>`. All other markers must match exactly.
/// Inside code spans and fences, openers are text.
///
/// Text without any byte that a marker begins with passes fastest, so all markers should begin with the
/// same rare byte.
///
/// The description is plain data, which can be stored in a `const`;
/// [`build`](ToolDialectBuilder::build) checks it.
///
/// # Examples
///
/// ```
/// use forgeline::llm::parser::{CallForm, PayloadGrammar, ToolDialectBuilder};
///
/// const ARROWS: ToolDialectBuilder<'static> = ToolDialectBuilder::new("arrows")
///     .example(r#"-->{"name":"add","arguments":{"a":1}}<--"#)
///     .calls(&[CallForm::new("-->", "<--", PayloadGrammar::Json)]);
///
/// assert_eq!(ARROWS.build()?.name(), "arrows");
/// # Ok::<(), forgeline::llm::parser::DialectError>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[must_use = "a description has no effect until it is built"]
pub struct ToolDialectBuilder<'a> {
    pub(crate) name: &'static str,
    pub(crate) example: &'static str,
    pub(crate) wrappers: &'a [Wrapper<'a>],
    pub(crate) calls: &'a [CallForm<'a>],
    /// Special tokens of the family that begin something else, and thereby end a call.
    pub(crate) headers: &'a [Marker<'a>],
    /// Markers inside the text, surrounding parts of it.
    pub(crate) inline: &'a [Marker<'a>],
    /// The form of a call that begins without a marker, at the start of a message.
    pub(crate) bare: Option<BareCall>,
}

impl<'a> ToolDialectBuilder<'a> {
    /// Creates the description of a dialect without calls.
    pub const fn new(name: &'static str) -> Self {
        let (wrappers, calls, headers, inline) = (&[], &[], &[], &[]);
        Self { name, example: "", wrappers, calls, headers, inline, bare: None }
    }

    /// Sets an example of text in this dialect with at least one call; required. An agent in text mode shows
    /// it to the model and states which call it makes.
    pub const fn example(mut self, example: &'static str) -> Self {
        self.example = example;
        self
    }

    /// Sets the markers around several calls. They are not part of a call and are skipped.
    pub const fn wrappers(mut self, wrappers: &'a [Wrapper<'a>]) -> Self {
        self.wrappers = wrappers;
        self
    }

    /// Sets the forms of a call.
    pub const fn calls(mut self, calls: &'a [CallForm<'a>]) -> Self {
        self.calls = calls;
        self
    }

    /// Sets the special tokens that begin something other than a call, and thereby end one.
    pub(crate) const fn headers(mut self, markers: &'a [Marker<'a>]) -> Self {
        self.headers = markers;
        self
    }

    /// Sets the markers inside the text, which continues after them.
    pub(crate) const fn inline(mut self, markers: &'a [Marker<'a>]) -> Self {
        self.inline = markers;
        self
    }

    /// Sets the form of a call without a marker.
    pub(crate) const fn bare(mut self, bare: BareCall) -> Self {
        self.bare = Some(bare);
        self
    }

    /// Returns the opener of `wrapper` as it is matched in message text: calls, or their wrappers, must follow.
    pub(crate) fn opener_in_text(&self, wrapper: &Wrapper<'a>) -> Marker<'a> {
        if wrapper.holds != WrapperContent::Calls || self.calls.is_empty() {
            return wrapper.opener;
        }
        let calls = self.calls.iter().map(|call| call.opener);
        wrapper.opener.before_calls(calls.chain(self.wrappers.iter().map(|it| it.opener)))
    }

    /// Returns this dialect without the parts that may resemble prose, for use together with others.
    pub(crate) fn beside_others(mut self) -> Self {
        self.bare = self.bare.and_then(BareCall::in_auto);
        self.inline = &[];
        self
    }
}

/// A pair of markers around several calls.
///
/// # Examples
///
/// ```
/// use forgeline::llm::parser::Wrapper;
///
/// const CALLS: Wrapper<'static> = Wrapper::new("[[calls]]", "[[/calls]]");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Wrapper<'a> {
    pub(crate) opener: Marker<'a>,
    /// The closer, which counts once a call or a wrapper has begun.
    pub(crate) closer: Marker<'a>,
    pub(crate) holds: WrapperContent,
}

/// The content of a wrapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WrapperContent {
    /// Calls.
    Calls,
    /// Text that may contain calls.
    Text,
    /// Text for a person: anything in it that looks like a call is text too.
    Prose,
}

impl<'a> Wrapper<'a> {
    /// Creates a pair of markers; the closer counts once a call or a wrapper has begun.
    #[must_use]
    pub const fn new(opener: &'a str, closer: &'a str) -> Self {
        Self::from_markers(Marker::spelled(opener), Marker::spelled(closer))
    }

    pub(crate) const fn from_markers(opener: Marker<'a>, closer: Marker<'a>) -> Self {
        Self { opener, closer, holds: WrapperContent::Calls }
    }

    /// Allows text between the markers.
    pub(crate) const fn around_text(self) -> Self {
        Self { holds: WrapperContent::Text, ..self }
    }

    /// Allows text between the markers, without calls in it.
    pub(crate) const fn around_prose(self) -> Self {
        Self { holds: WrapperContent::Prose, ..self }
    }
}

/// One form of a call: the markers around it, and the grammar of its payload.
///
/// # Examples
///
/// ```
/// use forgeline::llm::parser::{CallForm, PayloadGrammar, Tags};
///
/// const RUN: Tags = Tags::new(["<run", "</run>"], ["<with", "</with>"], ">");
///
/// let forms = [
///     CallForm::new("[[run]]", "[[end]]", PayloadGrammar::name_then_json(">>")),
///     CallForm::with_closers("[[py]]", &["[[end]]", "<eot>"], PayloadGrammar::Python),
///     CallForm::without_closer("@call ", PayloadGrammar::Json),
///     CallForm::tagged(RUN),
/// ];
/// # assert_eq!(forms.len(), 4);
/// ```
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub struct CallForm<'a> {
    pub(crate) opener: Marker<'a>,
    /// The closers. If there are none, the grammar itself determines where the call ends.
    pub(crate) closers: Markers<'a>,
    pub(crate) grammar: CallGrammar,
    /// `true` if the opener is the beginning of the payload, because it contains the name.
    pub(crate) opener_is_payload: bool,
    /// The names for which the call counts; the call then ends with its grammar.
    pub(crate) offered: NameCheck,
    /// `true` if the call requires a closer.
    pub(crate) needs_closer: bool,
    /// `true` if the call has lost the markers around it. Behind text, it counts if no other text follows it.
    pub(crate) is_unwrapped: bool,
}

impl<'a> CallForm<'a> {
    /// Creates a form of a call between an opener and a closer.
    #[must_use]
    pub const fn new(opener: &'a str, closer: &'a str, grammar: PayloadGrammar) -> Self {
        let closer = Markers::One(Marker::spelled(closer));
        Self::from_markers(Marker::spelled(opener), closer, grammar.grammar())
    }

    /// Creates a form of a call that any of several closers ends.
    #[must_use]
    pub const fn with_closers(
        opener: &'a str,
        closers: &'a [&'a str],
        grammar: PayloadGrammar,
    ) -> Self {
        Self::from_markers(Marker::spelled(opener), Markers::Spelled(closers), grammar.grammar())
    }

    /// Creates a form of a call that ends where its grammar ends: after the last bracket of JSON or
    /// Python, or the end of a function in tags.
    #[must_use]
    pub const fn without_closer(opener: &'a str, grammar: PayloadGrammar) -> Self {
        Self::open(Marker::spelled(opener), grammar.ending_itself().grammar())
    }

    /// Creates a form of a call that is opened by the tag of a function and closed by its end, without markers around
    /// it.
    ///
    /// The opener is that of the function's tag, whatever follows it: `<run` also begins a call in
    /// `<running>`.
    #[must_use]
    pub const fn tagged(tags: Tags) -> Self {
        Self::front(
            Marker::spelled(tags.function),
            PayloadGrammar::Tags(tags.ends_itself()).grammar(),
        )
    }

    /// Creates a form of a call between an opener and any of the closers.
    #[expect(
        clippy::large_types_passed_by_value,
        reason = "constant functions, run by the compiler"
    )]
    pub(crate) const fn from_markers(
        opener: Marker<'a>,
        closers: Markers<'a>,
        grammar: CallGrammar,
    ) -> Self {
        let offered = NameCheck::Any;
        Self {
            opener,
            closers,
            grammar,
            opener_is_payload: false,
            offered,
            needs_closer: true,
            is_unwrapped: false,
        }
    }

    /// Creates a form of a call without a closer.
    #[expect(
        clippy::large_types_passed_by_value,
        reason = "constant functions, run by the compiler"
    )]
    pub(crate) const fn open(opener: Marker<'a>, grammar: CallGrammar) -> Self {
        Self { needs_closer: false, ..Self::from_markers(opener, Markers::NONE, grammar) }
    }

    /// Creates a form of a call without a closer, whose opener is the beginning of the payload.
    #[expect(
        clippy::large_types_passed_by_value,
        reason = "constant functions, run by the compiler"
    )]
    pub(crate) const fn front(opener: Marker<'a>, grammar: CallGrammar) -> Self {
        Self::open(opener, grammar).opener_is_payload()
    }

    /// Makes the call one that has lost the markers around it.
    pub(crate) const fn unwrapped(mut self) -> Self {
        self.is_unwrapped = true;
        self
    }

    /// Makes the call count only with the name of an offered tool, if the offered tools are known.
    pub(crate) const fn offered(mut self) -> Self {
        self.offered = NameCheck::IfKnown;
        self
    }

    /// Returns the markers that may end such a call, including that of its function.
    pub(crate) fn ends(&self) -> impl Iterator<Item = Marker<'a>> + use<'a> {
        let function = self.grammar.function_end().map(Marker::spelled);
        self.closers.iter().chain(function)
    }

    /// Returns the opener as it is matched in message text: where its payload may follow, or one of the
    /// other markers of `tools`.
    pub(crate) fn opener_in_text(&self, tools: &ToolDialectBuilder<'a>) -> Marker<'a> {
        let wrappers = tools.wrappers.iter().flat_map(|it| [it.closer, it.opener]);
        let calls = tools.calls.iter().map(|call| call.opener);
        let others = self.ends().chain(wrappers).chain(calls).map(|marker| marker.text());
        let lead = self.grammar.lead().before(others);
        match (self.opener_is_payload, lead.tag) {
            (true, Some(TagLead::Function(tag))) => self.opener.before_function(tag),
            (true, _) => self.opener,
            (false, _) => self.opener.before_payload(lead),
        }
    }

    /// Makes the opener the beginning of the payload.
    pub(crate) const fn opener_is_payload(mut self) -> Self {
        self.opener_is_payload = true;
        self
    }
}
