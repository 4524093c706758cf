//! The call that is being read.

use compact_str::CompactString;

use super::{
    role::{ArgumentsProgress, CallLayout, ValueRole},
    value::StringArguments,
};
use crate::grammar::ReadMode;
use forgeline_json::RepairSet;

/// The call that is being read, as far as it has come.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub(super) struct CurrentCall {
    pub(super) layout: CallLayout,
    /// Nesting depth of the keys of a call; 0 until the first bracket.
    pub(super) depth: u32,
    /// `true` if the following members are the arguments: `{"function":{"_name":…,…}}`.
    pub(super) rest_is_arguments: bool,
    /// The number of calls that have begun in an array of calls.
    pub(super) array_calls: Option<usize>,
    /// The depth outside a `{"function":{…}}` inside the call, whose contents are one level deeper.
    pub(super) outer_depth: u32,
    pub(super) role: ValueRole,
    pub(super) key: CompactString,
    pub(super) text: CompactString,
    pub(super) has_name: bool,
    /// The key of the arguments, if it may be the name.
    pub(super) keyed_by: Option<CompactString>,
    pub(super) seen: ArgumentsProgress,
    pub(super) inner: Option<Box<StringArguments>>,
    /// The start of the source of the arguments in the current piece.
    pub(super) source: Option<usize>,
    /// Repairs of arguments that were a string.
    pub(super) repairs: RepairSet,
    /// The mistake, and its position, if that is not the end of the call.
    pub(super) fault: Option<(&'static str, Option<usize>)>,
    /// `true` if the current key named the tool.
    pub(super) key_is_name: bool,
    /// `true` if an item of an array of calls has begun and not ended.
    pub(super) is_in_item: bool,
    /// `true` if only the end of the payload is needed.
    pub(super) mode: ReadMode,
    /// The number of bytes before the current piece.
    pub(super) taken: usize,
}
