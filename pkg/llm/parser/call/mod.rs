//! One call: the text between its markers, and where it ends.

mod ambiguous_close;
mod body;
mod region;

pub(super) use region::Region;
