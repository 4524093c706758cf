//! Conversion of errors of the client into store errors.

use redis::{ErrorKind, RedisError};

use crate::StoreError;

/// The meaning of a failure for its command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CommandFailure {
    /// The connection is of no more use, and the command may have been executed.
    Reconnect(StoreError),
    /// The command was not executed, and may be repeated.
    Again(StoreError),
    /// The command was not executed, and would fail again.
    Refused(StoreError),
}

impl CommandFailure {
    /// Classifies an error of a command or of a login.
    pub(super) fn of(error: &RedisError) -> Self {
        let Some(code) = error.code() else {
            return if error.kind() == ErrorKind::Io {
                Self::lost(error)
            } else if error.kind() == ErrorKind::AuthenticationFailed {
                Self::Refused(login())
            } else {
                Self::Reconnect(unavailable(&format!("{} in a reply", error.category())))
            };
        };
        match code {
            "LOADING" | "TRYAGAIN" | "MASTERDOWN" | "BUSY" => {
                Self::Again(unavailable(&format!("it is not ready ({code})")))
            }
            "READONLY" => Self::Reconnect(StoreError::read_only(
                "Redis: the server is a replica; connect to the primary server",
            )),
            "MISCONF" | "NOREPLICAS" => Self::Refused(StoreError::read_only(format!(
                "Redis: the server can keep nothing ({code}); look at its disk and its replicas"
            ))),
            "OOM" => Self::Refused(StoreError::full(
                "Redis: `maxmemory` is reached; raise it, or delete keys",
            )),
            "WRONGTYPE" => Self::Refused(StoreError::corrupt(
                "a key of Redis belongs to another program; choose another `key_prefix`",
            )),
            "NOAUTH" | "WRONGPASS" | "NOPERM" => Self::Refused(login()),
            "MOVED" | "ASK" | "CROSSSLOT" | "CLUSTERDOWN" => Self::Refused(unavailable(
                "it is part of a cluster, which is not supported; connect to a single server",
            )),
            code => Self::Refused(unavailable(&match error.detail() {
                Some(detail) => format!("{} ({code})", without_data(detail)),
                None => code.to_owned(),
            })),
        }
    }

    /// Returns the failure of a connection that was lost.
    pub(super) fn lost(reason: &dyn std::fmt::Display) -> Self {
        Self::Reconnect(unavailable(&format!(
            "the connection was lost: {reason}; a notification may have been published, so read before you publish again"
        )))
    }

    /// Returns the failure of a connection that was not made.
    pub(super) fn unreachable(reason: &dyn std::fmt::Display) -> Self {
        Self::Again(unavailable(&reason.to_string()))
    }

    /// Returns the failure of a command whose connection was never made.
    pub(super) fn of_connecting(self) -> Self {
        match self {
            Self::Reconnect(error) => Self::Again(error),
            Self::Again(_) | Self::Refused(_) => self,
        }
    }

    /// Returns the error for a caller that does not repeat the command.
    pub(super) fn into_error(self) -> StoreError {
        match self {
            Self::Reconnect(error) | Self::Again(error) | Self::Refused(error) => error,
        }
    }
}

/// Returns the part of a message that quotes no arguments.
fn without_data(detail: &str) -> &str {
    detail.split([',', '\'', '`', '"']).next().unwrap_or_default()
}

fn login() -> StoreError {
    unavailable("the user or the password is refused; check them, and the rights of the user")
}

fn unavailable(reason: &str) -> StoreError {
    StoreError::unavailable(format!("Redis: {reason}"))
}

#[cfg(test)]
mod tests {
    use redis::make_extension_error;

    use super::*;

    #[test]
    fn a_message_quotes_no_arguments() {
        for detail in [
            "unknown command 'EVAL', with args beginning with: 'geheim'",
            "unknown command `EVAL`, with args beginning with: `geheim`,",
            "bad value \"geheim\"",
        ] {
            let error = make_extension_error("ERR2".to_owned(), Some(detail.to_owned()));
            let shown = format!("{:?}", CommandFailure::of(&error));
            assert!(!shown.contains("geheim") && shown.contains("ERR2"), "{shown}");
        }
    }

    #[test]
    fn each_error_has_its_meaning() {
        let of = |code: &str| CommandFailure::of(&make_extension_error(code.to_owned(), None));
        assert!(matches!(of("OOM"), CommandFailure::Refused(StoreError::Full { .. })));
        assert!(matches!(of("MISCONF"), CommandFailure::Refused(StoreError::ReadOnly { .. })));
        assert!(matches!(of("WRONGTYPE"), CommandFailure::Refused(StoreError::Corrupt { .. })));
        assert!(matches!(of("BUSY"), CommandFailure::Again(StoreError::Unavailable { .. })));
        assert!(matches!(of("NOAUTH"), CommandFailure::Refused(StoreError::Unavailable { .. })));
    }
}
