//! The stages together: text in any pieces becomes the same events.

mod forge;
mod harness;
mod native;
mod properties;
mod rules;
