//! What the service says of itself on stderr: lines for people at a terminal, JSON for programs.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::{
    Layer as _,
    filter::{LevelFilter, Targets},
    fmt,
    layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

/// Shows what the library and the service say from now on. It has no text of conversations and no secrets.
pub(super) fn start(is_quiet: bool) {
    let own = if is_quiet { LevelFilter::WARN } else { LevelFilter::INFO };
    // Other libraries show headers at lower levels.
    let levels = Targets::new()
        .with_default(LevelFilter::WARN)
        .with_target("forgeline", own)
        .with_target("forgeline_cli", own);
    let registry = tracing_subscriber::registry();
    let lines = fmt::layer().with_writer(io::stderr);
    // Another one can only be the same: nothing else sets it.
    let set = if io::stderr().is_terminal() {
        registry.with(lines.with_target(false).with_filter(levels)).try_init()
    } else {
        registry.with(lines.json().flatten_event(true).with_filter(levels)).try_init()
    };
    drop(set);
}
