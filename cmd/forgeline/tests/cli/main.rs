//! The command line from outside, and its one path from bytes to events at every cut.

mod cuts;
mod failures;
mod parse;
mod process;
mod replay;
mod shared;
