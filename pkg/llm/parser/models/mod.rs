//! The dialects of a model, by its name.

mod dialect;
mod find;
mod pattern;

#[cfg(test)]
mod tests;

pub use dialect::Dialect;
pub use pattern::locate;
