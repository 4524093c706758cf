//! Values of statements with their types: a statement is parsed and executed in one message where a pooler may give each one another session.

use tokio_postgres::{
    Row,
    types::{FromSql, ToSql, Type},
};

use crate::StoreError;

/// A value of a statement and its type.
pub(super) type SqlValue<'a> = (&'a (dyn ToSql + Sync), Type);

/// A type of Rust that has one type of the database.
pub(super) trait SqlType {
    const TYPE: Type;
}

macro_rules! sql_types {
    ($($type:ty => $sql:ident,)+) => { $(impl SqlType for $type { const TYPE: Type = Type::$sql; })+ };
}

sql_types! {
    &str => TEXT,
    bool => BOOL,
    i16 => INT2,
    i32 => INT4,
    i64 => INT8,
    &[u8] => BYTEA,
    Vec<&str> => TEXT_ARRAY,
    Vec<i64> => INT8_ARRAY,
    Vec<Option<i64>> => INT8_ARRAY,
    Vec<&[u8]> => BYTEA_ARRAY,
}

impl<T: SqlType> SqlType for Option<T> {
    const TYPE: Type = T::TYPE;
}

/// Returns a value with its type.
pub(super) fn typed<T: SqlType + ToSql + Sync>(value: &T) -> SqlValue<'_> {
    (value, T::TYPE)
}

/// Lists values for a statement, with their types.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::postgres::values::typed(&$value)),*] };
}
pub(super) use values;

/// Returns a column of a row.
pub(super) fn column<'r, T: FromSql<'r>>(row: &'r Row, at: usize) -> Result<T, StoreError> {
    row.try_get(at).map_err(|_| StoreError::Corrupt {
        reason: format!(
            "column {at} of a row of PostgreSQL has another type; migrate the database"
        ),
    })
}

/// Returns a column with a number.
pub(super) fn count(row: &Row, at: usize) -> Result<u64, StoreError> {
    column::<i64>(row, at).map(crate::integers::number)
}
