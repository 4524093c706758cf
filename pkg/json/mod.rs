//! JSON support for all other modules: one tokenizer, strict and lenient; escapes in both directions;
//! numbers; values that grow while their text arrives; values kept as text.

mod escape;
mod find;
mod kept;
mod number;
mod partial;
mod repair;
mod sieve;
mod slice;
mod tokenizer;
mod tracker;

pub(crate) use escape::{
    BACKSLASH, CONTROL, QUOTE, Unescape, escape_into, escape_of, find_special, has_only_escapes,
    has_only_escapes_in_block, is_simple_escape, simple_escape,
};
pub(crate) use find::{
    BLOCK, Block, Finder, Halves, Kind as ByteKind, WIDE, has_line_end, last_block,
};
pub use kept::Json;
pub(crate) use kept::unescape_strings;
pub(crate) use number::{Number, is_number};
pub(crate) use partial::deserialize_spelled;
pub use partial::{DEFAULT_MAX_JSON_BYTES, PartialJson, PartialJsonError, PartialValue};
pub use repair::{Repair, RepairSet};
pub(crate) use sieve::Sieve;
pub(crate) use slice::{slice, subslice};
pub(crate) use tokenizer::{Kind, Strictness, Token, Tokenizer};
pub(crate) use tracker::JsonTracker;
