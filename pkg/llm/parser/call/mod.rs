//! The reader of one call: the text between its markers, and its end.

mod ambiguous_close;
mod body;
mod region;

pub(super) use region::Region;
