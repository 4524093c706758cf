//! What the offered tools, and the tags of the dialect, say about a call that was repaired.

mod call_evidence;
mod scrap;

pub use call_evidence::CallEvidence;
