//! Numbers of stores as integers of a database.

/// Returns a number for the database, limited to its largest integer.
pub(super) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns a number from the database; 0 for a negative one, which is never written.
pub(super) fn number(int: i64) -> u64 {
    u64::try_from(int).unwrap_or_default()
}
