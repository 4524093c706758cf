//! The reader of one call: the text between its markers, and its end.

mod ambiguous_close;
mod ambiguous_end;
mod body;
mod body_call;
pub(crate) mod echo;
mod end_reason;
mod inner_opener;
mod own_end;
mod region;
pub(crate) mod unmarked;

pub(super) use region::CallRegion;
