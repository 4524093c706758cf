//! Dialects built from descriptions: checked, then compiled.

mod build;
#[cfg(test)]
mod tests;
