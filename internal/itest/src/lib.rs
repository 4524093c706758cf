//! What processes of the integration tests share; the tests are one binary, `tests/it`.

pub mod noting;
