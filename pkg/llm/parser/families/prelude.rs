//! The parts of the entries of families.

pub(super) use super::{
    family::{FamilyModels, InAuto, ModelFamily, call, named, open},
    results::ResultForm,
    shared::{GEMMA, GLM, HUNYUAN, INVOKE, JSON_OR_QWEN, OPEN_QWEN, RESPONSE, SUFFIXED_THINK},
};
pub(super) use crate::{
    ahead::{name_check::NameCheck, shape::ChannelHeader},
    builder::{
        CallForm, Section, ThinkingDialectBuilder as Thinking, ToolDialectBuilder, Wrapper,
        description::{BareCall, CallGrammar, Markers, MarkupRules, TextRules},
    },
    grammar::{HeaderStyle, JsonShape, Tags},
    marker::Marker,
};
