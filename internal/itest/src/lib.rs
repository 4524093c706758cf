//! Nothing: the integration tests are one binary, `tests/it`.
