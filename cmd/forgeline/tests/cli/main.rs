//! The command line from outside, and its one path from bytes to events at every cut.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test tells what it counted, and its helpers fail it"
)]

mod approve;
mod context;
mod cut_places;
mod cuts;
mod dialect_fixtures;
mod endings;
mod failures;
mod fixtures;
mod flags;
#[cfg(unix)]
mod flood;
mod help;
#[cfg(target_os = "linux")]
mod helpers;
#[cfg(unix)]
mod interrupt;
mod kept;
mod llama;
#[cfg(unix)]
mod mcp;
#[cfg(unix)]
mod mcp_public;
mod models;
#[cfg(target_os = "linux")]
mod narrow;
#[cfg(all(unix, feature = "postgres"))]
mod nodes;
mod parse;
mod process;
mod project;
#[cfg(target_os = "linux")]
mod pty;
#[cfg(unix)]
mod real_programs;
mod record;
mod replay;
mod run;
#[cfg(all(unix, feature = "serve"))]
mod serve;
mod skills;
#[cfg(target_os = "linux")]
mod terminal;
