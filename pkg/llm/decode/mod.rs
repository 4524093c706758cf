//! Decoding the bodies of all protocols.

#[cfg(test)]
mod tests;
