//! Tests of what only a file has.
