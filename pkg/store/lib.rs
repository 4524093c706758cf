//! Stores for data that outlives a run: its event log, conversations, runs, notifications, latency records and audit.
//!
//! Each store is a trait, so that other engines can implement it.

mod audit;
mod blobs;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod chunk_codec;
mod command_waits;
mod commands;
mod conversation_record;
mod conversations;
mod entry_texts;
mod error;
mod follow;
mod ids;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod integers;
mod latency;
mod list_cursor;
mod log;
mod log_key;
mod memory;
mod notifications;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
mod run_writer;
mod runs;
mod secrets;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod servers;
#[cfg(feature = "sqlite")]
mod sqlite;
mod stored_run;
mod stores;
mod time_limit;

#[cfg(feature = "postgres")]
pub use self::postgres::{DeltaCommit, PostgresOptions, PostgresStore, SchemaPlan, WakeMode};
#[cfg(feature = "redis")]
pub use self::redis::{RedisNotifications, RedisOptions};
#[cfg(feature = "sqlite")]
pub use self::sqlite::{Durability, SqliteOptions, SqliteStore};
pub use self::{
    audit::{
        AuditChain, AuditEvent, AuditFault, AuditHash, AuditHead, AuditPage, AuditQuery,
        AuditReport, AuditRow, AuditStore, AuditSubject, MAX_AUDIT_PAYLOAD_BYTES, export_audit,
    },
    commands::{
        CommandSent, CommandStore, MAX_COMMAND_BYTES, MAX_UNANSWERED, RunCommand, StoredCommand,
    },
    conversation_record::{
        ConversationKey, ConversationRecord, ConversationStatus, Entry, StoredMessage,
    },
    conversations::{ConversationPage, ConversationQuery, ConversationStore, EraseMode, Erased},
    error::{StoreError, StoreFuture},
    follow::follow,
    latency::{CallLatency, LatencyRecord, LatencyStore},
    log::{EventLog, LogInfo, LogPage, LogRecord, Retention},
    log_key::LogKey,
    memory::{InMemoryLog, InMemoryStore},
    notifications::{Notification, NotificationChannel},
    run_writer::{NodeId, NodeNews, RunWriter, ScopeConnections},
    runs::{RunBegun, RunPage, RunQuery, RunStore},
    secrets::{
        EnvironmentSecrets, MAX_SECRETS, ProviderInstance, ProviderProfile, ProviderProfileStore,
        SealedSecrets, SealingKeyError, SealingKeys, SecretError, SecretFiles, SecretFuture,
        SecretName, SecretRotation, SecretRow, SecretRows, SecretScope, SecretStore, SecretValue,
        StoredProviderProfile,
    },
    stored_run::{RunChange, RunNote, RunPlace, RunProgress, RunRequest, StoredRun},
    stores::Stores,
};

/// Returns a folder for a single test.
#[cfg(all(test, feature = "sqlite"))]
#[expect(clippy::unwrap_used, reason = "a test without a folder fails")]
pub(crate) fn sqlite_folder(name: &str) -> std::path::PathBuf {
    let name = format!("forgeline-sqlite-{}-{name}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Items for the crates above, and not for programs: they may change in any version.
#[doc(hidden)]
pub mod private {
    pub use crate::{
        ids::{new_id, now_ms},
        log::listed,
        stores::erase::{STREAM_PREFIX, StreamOwner, runs_of},
    };
}
