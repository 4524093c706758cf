//! Dialects out of descriptions: checked, then ready for use.

mod build;
#[cfg(test)]
mod tests;
