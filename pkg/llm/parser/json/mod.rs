//! JSON that models write: read leniently, passed on strictly, in pieces of any size.

mod lenient;
mod special;
mod tracker;
mod unescape;

pub(super) use lenient::{Digits, Kind, Lenient, Out, Strictness};
pub(super) use special::{escape_into, escape_of, is_plain, special};
pub use tracker::JsonTracker;
pub(super) use unescape::Unescape;
