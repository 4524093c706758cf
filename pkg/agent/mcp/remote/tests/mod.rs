//! Remote servers that behave, and remote servers that do not.
