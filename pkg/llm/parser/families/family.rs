//! The parts of a family's entry.

use super::results::ResultForm;
use crate::{
    builder::{
        CallForm, ThinkingDialectBuilder, ToolDialectBuilder, Wrapper,
        description::{BareCall, CallGrammar, Markers, TextRules},
    },
    grammar::HeaderStyle,
    marker::Marker,
};

/// A family of models: its notation of calls and reasoning, and the names of its models.
#[derive(Debug)]
pub(crate) struct ModelFamily {
    pub(crate) tools: Option<ToolDialectBuilder<'static>>,
    pub(crate) thinking: Option<ThinkingDialectBuilder<'static>>,
    pub(crate) models: &'static [FamilyModels],
    pub(crate) results: ResultForm,
    /// The special tokens with which the family's models end a turn.
    pub(crate) turn_ends: &'static [&'static str],
    /// Special tokens other than those around and inside calls, which are framing wherever they occur.
    pub(crate) strays: &'static [&'static str],
    /// The part of the calls that `auto` reads.
    pub(crate) in_auto: InAuto,
    /// `true` if `auto` reads the reasoning.
    pub(crate) thinking_in_auto: bool,
}

/// The part of a family's calls that `auto` reads.
#[derive(Debug, Clone, Copy)]
pub(crate) enum InAuto {
    /// All of them.
    Whole,
    /// The calls with a marker of their own, or those of several families that share a marker.
    As(ToolDialectBuilder<'static>),
    /// None of them: there is no marker, or another family's entry has it.
    Nothing,
}

/// Names of models with the same notation.
///
/// Patterns consist of words. Between words any separator in the id matches, and none is needed where letters meet
/// digits: `llama-3.1` also matches llama3.1, `Llama_3_1` and llama-v3p1. `*` skips words. `x` is any number
/// after a dot. A number matches only if no further part of a version follows (`glm-4` is not
/// GLM-4.5) and no size begins (`qwen3.8` is not Qwen3-8B).
///
/// If several patterns match an id, the most specific one counts: that of a fine-tune, whose name
/// contains the name of its base model, then the one with the longest text before its first
/// `*`, then the longest, then the one that contains the number.
#[derive(Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub(crate) struct FamilyModels {
    /// The name of the thinking dialect.
    pub(crate) thinking: &'static str,
    /// `true` if the template ends the prompt with the opener of thinking unless configured otherwise.
    /// If
    /// a switch controls this, this is the switch's default; the actual end of the prompt decides.
    pub(crate) starts_inside: bool,
    /// Patterns, separated by spaces.
    pub(crate) patterns: &'static str,
    pub(crate) is_tuned: bool,
}

impl ModelFamily {
    const EMPTY: Self = Self {
        tools: None,
        thinking: None,
        models: &[],
        results: ResultForm::FORGE,
        turn_ends: &[],
        strays: &[],
        in_auto: InAuto::Whole,
        thinking_in_auto: false,
    };

    /// Creates a family that writes calls in the dialect `name`, which `auto` reads.
    pub(super) const fn new(name: &'static str) -> Self {
        Self { tools: Some(ToolDialectBuilder::new(name)), ..Self::EMPTY }
    }

    /// Sets an example with at least one call.
    pub(super) const fn example(self, example: &'static str) -> Self {
        Self { tools: Some(self.calls_of().example(example)), ..self }
    }

    /// Sets the markers around several calls.
    pub(super) const fn wrappers(self, wrappers: &'static [Wrapper<'static>]) -> Self {
        Self { tools: Some(self.calls_of().wrappers(wrappers)), ..self }
    }

    /// Sets the forms of a call.
    pub(super) const fn calls(self, calls: &'static [CallForm<'static>]) -> Self {
        Self { tools: Some(self.calls_of().calls(calls)), ..self }
    }

    /// Sets the special tokens that begin something other than a call.
    pub(super) const fn headers(self, markers: &'static [Marker<'static>]) -> Self {
        Self { tools: Some(self.calls_of().headers(markers)), ..self }
    }

    /// Sets the markers inside the text, which continues after them; in `auto` they are text.
    pub(crate) const fn inline(self, markers: &'static [Marker<'static>]) -> Self {
        Self { tools: Some(self.calls_of().inline(markers)), ..self }
    }

    /// Sets the form of a call without a marker.
    pub(super) const fn bare(self, bare: BareCall) -> Self {
        Self { tools: Some(self.calls_of().bare(bare)), ..self }
    }

    /// Returns the description of the calls.
    const fn calls_of(&self) -> ToolDialectBuilder<'static> {
        match self.tools {
            Some(tools) => tools,
            None => ToolDialectBuilder::new(""),
        }
    }

    /// Creates a family with a notation of its own only for reasoning, which `auto` does not read.
    pub(super) const fn of_thinking(thinking: ThinkingDialectBuilder<'static>) -> Self {
        Self::EMPTY.own_thinking(thinking)
    }

    /// Sets the notation of reasoning, which `auto` reads.
    pub(super) const fn thinking(self, thinking: ThinkingDialectBuilder<'static>) -> Self {
        Self { thinking_in_auto: true, ..self.own_thinking(thinking) }
    }

    /// Sets the notation of reasoning, in a form that `auto` does not read: `<think>`, which it
    /// already knows, or a form without a marker of its own.
    pub(super) const fn own_thinking(self, thinking: ThinkingDialectBuilder<'static>) -> Self {
        Self { thinking: Some(thinking.finds_late_closer()), ..self }
    }

    /// Sets the names of the models.
    pub(super) const fn models(self, models: &'static [FamilyModels]) -> Self {
        Self { models, ..self }
    }

    /// Sets the form in which results are sent back. Default: Forge's.
    pub(super) const fn results(self, results: ResultForm) -> Self {
        Self { results, ..self }
    }

    /// Sets the special tokens that end a turn, which are framing at the end of an answer.
    pub(super) const fn turn_ends(self, turn_ends: &'static [&'static str]) -> Self {
        Self { turn_ends, ..self }
    }

    /// Sets special tokens other than those around and inside calls, which are framing wherever they occur.
    pub(super) const fn strays(self, strays: &'static [&'static str]) -> Self {
        Self { strays, ..self }
    }

    /// Sets the part of the calls that `auto` reads. Default: all of them.
    pub(super) const fn in_auto(self, in_auto: InAuto) -> Self {
        Self { in_auto, ..self }
    }
}

impl FamilyModels {
    /// Names models that do not reason.
    pub(super) const fn plain(patterns: &'static str) -> Self {
        Self::thinking("none", patterns)
    }

    /// Names models that mark reasoning in this dialect.
    pub(super) const fn thinking(thinking: &'static str, patterns: &'static str) -> Self {
        Self { thinking, starts_inside: false, patterns, is_tuned: false }
    }

    /// Names models whose template opens the reasoning.
    pub(super) const fn inside(thinking: &'static str, patterns: &'static str) -> Self {
        Self { starts_inside: true, ..Self::thinking(thinking, patterns) }
    }

    /// Marks the names as those of fine-tunes.
    pub(super) const fn tuned(self) -> Self {
        Self { is_tuned: true, ..self }
    }

    /// Returns the patterns.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.patterns.split_ascii_whitespace()
    }
}

/// Describes a call between two markers, in the spelling of [`Marker::spelled`].
#[expect(clippy::large_types_passed_by_value, reason = "constant functions, run by the compiler")]
pub(super) const fn call(
    opener: &'static str,
    closer: &'static str,
    grammar: CallGrammar,
) -> CallForm<'static> {
    CallForm::from_markers(Marker::spelled(opener), Markers::One(Marker::spelled(closer)), grammar)
}

/// Describes a call without a closer.
#[expect(clippy::large_types_passed_by_value, reason = "constant functions, run by the compiler")]
pub(super) const fn open(opener: &'static str, grammar: CallGrammar) -> CallForm<'static> {
    CallForm::open(Marker::spelled(opener), grammar)
}

/// Describes a call whose name comes before its arguments.
pub(super) const fn named(
    opener: &'static str,
    closer: &'static str,
    style: HeaderStyle,
) -> CallForm<'static> {
    call(opener, closer, CallGrammar::text(TextRules::Named(style)))
}
