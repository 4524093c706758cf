//! The replies of the server.

use redis::{FromRedisValue, Value, from_redis_value};

use crate::StoreError;

/// An entry of a stream: its id, its names and values.
pub(super) type StreamEntry = (String, Vec<(String, String)>);

/// Reads a reply.
pub(super) fn reply<T: FromRedisValue>(value: Value) -> Result<T, StoreError> {
    from_redis_value(value).map_err(|_| strange())
}

/// Returns the value of an entry.
pub(super) fn field<'e>(entry: &'e StreamEntry, name: &str) -> Result<&'e str, StoreError> {
    let found = entry.1.iter().find(|(other, _)| other == name);
    found.map(|(_, value)| value.as_str()).ok_or_else(strange)
}

/// Returns the error of a key that holds something else.
pub(super) fn strange() -> StoreError {
    StoreError::corrupt(
        "a key of Redis has entries of another program; choose another `key_prefix`",
    )
}
