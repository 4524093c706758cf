//! The evidence of the offered tools, and of the tags of the dialect, about a call that was repaired.

mod call_evidence;
mod scrap;

pub use call_evidence::CallEvidence;
