//! JSON support for all other modules: one tokenizer, strict and lenient; escapes in both directions;
//! numbers; values that grow while their text arrives; values kept as text; schemas.

mod block;
mod escape;
mod find;
mod kept;
mod number;
mod partial;
mod raw_value;
mod repair;
mod schema;
pub mod slice;
mod tokenizer;

pub use escape::{
    BACKSLASH, CONTROL, QUOTE, Unescape, escape_into, escape_of, find_special, has_only_escapes,
    is_simple_escape,
};
pub use find::{Finder, Kind as ByteKind};
pub use kept::Json;
pub use kept::unescape_strings;
pub use number::{Number, is_number};
pub use partial::deserialize_spelled;
pub use partial::{DEFAULT_MAX_JSON_BYTES, PartialJson, PartialJsonError, PartialValue};
pub use repair::{Repair, RepairSet};
pub use schema::{JsonTypes, SchemaView, describe_mismatch, locate_mismatch};
pub use slice::{slice, subslice};
pub use tokenizer::{JsonTracker, Kind, Strictness, Token, Tokenizer};
