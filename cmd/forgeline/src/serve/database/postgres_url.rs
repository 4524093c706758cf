//! The URL of a database, which may have a password.

use std::{convert::Infallible, fmt, str::FromStr};

/// A URL that is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::serve) struct PostgresUrl(String);

impl PostgresUrl {
    /// Returns the text, for the client of the database alone.
    #[cfg(feature = "postgres")]
    pub(super) fn expose(&self) -> &str {
        &self.0
    }

    /// Returns `true` for a text that begins as such URLs do.
    pub(in crate::serve) fn is_url(&self) -> bool {
        ["postgres://", "postgresql://"].iter().any(|begin| self.0.starts_with(begin))
    }
}

impl FromStr for PostgresUrl {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PostgresUrl(..)")
    }
}
