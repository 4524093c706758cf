//! The stages together: text in any pieces becomes the same events.

#![expect(
    clippy::string_slice,
    clippy::let_underscore_must_use,
    clippy::wildcard_enum_match_arm,
    clippy::type_complexity,
    reason = "tests may panic, and name only what they look at"
)]

mod answer_writers;
mod argument_texts;
mod bugs;
mod chunk_writer;
mod damaged;
mod dialect_properties;
mod documented;
mod families;
mod forge;
mod harness;
mod mentions;
mod models;
mod native;
mod pipeline;
mod policy;
mod properties;
mod repetition;
mod round_trips;
mod rules;
#[cfg(feature = "runtime")]
mod streams;
mod tokens;
mod values_in_tags;
