//! What the tests of several members share: recorded bodies and a scripted server.

pub mod server;
pub mod shared;
