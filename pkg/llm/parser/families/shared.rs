//! The forms written by models of several vendors.

use super::prelude::*;

/// Reasoning of Hunyuan 4, whose tags have a suffix.
pub(super) const SUFFIXED_THINK: Section<'static> = Section::from_markers(
    Marker::only_suffixed_tag("<think"),
    Markers::One(Marker::only_suffixed_tag("</think")),
);
/// The tags of Hunyuan 3 and 4: those of GLM, and one more after the name.
pub(super) const HUNYUAN: Tags =
    Tags::pairs(["<arg_key>", "</arg_key>"], ["<arg_value>", "</arg_value>"], "<tool_sep>")
        .suffixes();
/// JSON, or a function in the tags of Qwen3-Coder.
pub(super) const JSON_OR_QWEN: CallGrammar = CallGrammar::JSON.or_markup(MarkupRules::Tags(QWEN));
/// A function in the tags of Qwen3-Coder, without markers around it.
pub(super) const OPEN_QWEN: CallForm<'static> =
    CallForm::front(Marker::exact("<function="), CallGrammar::tags(QWEN.ends_itself())).unwrapped();
/// The tags of GLM: a name, then keys and values.
pub(super) const GLM: Tags =
    Tags::pairs(["<arg_key>", "</arg_key>"], ["<arg_value>", "</arg_value>"], "");
/// The tags of `MiniMax` M2 and dots.
pub(super) const INVOKE: Tags =
    Tags::new(["<invoke", "</invoke>"], ["<parameter", "</parameter>"], ">");
pub(super) const GEMMA: TextRules = TextRules::Syntax { quote: "<|\"|>" };
/// The tags around an answer.
pub(super) const RESPONSE: &[Marker<'static>] =
    &[Marker::tag("<response"), Marker::tag("\n</response"), Marker::tag("</response")];
/// The tags of Qwen3-Coder; one line end on each side of a value is framing.
pub(super) const QWEN: Tags =
    Tags::new(["<function", "</function>"], ["<parameter", "</parameter>"], ">").framing();
