//! Tests of the file tools.
