//! JSON that models write: read leniently, passed on strictly, in pieces of any size.

mod call;
mod lenient;
mod special;
mod tracker;
mod unescape;
mod value;

pub(super) use call::JsonCall;
pub(super) use lenient::Digits;
pub(super) use special::{escape_into, is_plain, special};
pub use tracker::JsonTracker;
pub(super) use value::JsonValue;
