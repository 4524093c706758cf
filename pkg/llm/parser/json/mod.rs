//! JSON that models write: read leniently, passed on strictly, in pieces of any size.

mod call;
mod lenient;
mod special;
mod tracker;
mod unescape;

pub(super) use call::{JsonCall, JsonOut};
pub(super) use lenient::{Lenient, Out, Strictness};
pub(super) use special::{escape_into, escape_of, is_plain, special};
pub use tracker::JsonTracker;
