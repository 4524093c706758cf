//! The first agent.
fn main() {}
