//! Each suite, against each store.

mod faulty;
mod inclusive;

use std::sync::Arc;

use super::*;
use forgeline_store::{
    InMemoryLog, InMemoryStore, SealedSecrets, SealingKeys, SecretFiles, Stores,
};

// Covers: T-62, T-69, CT-25, CT-26, CT-27, CT-28, CT-29, CT-30, CT-32, CT-33, CT-34, CT-36, CT-37, CT-38, CT-39, CT-40, CT-41, CT-42, CT-43, CT-46, CT-48, CT-49, CT-118, CT-119, CT-120, CT-121, CT-122, CT-123, CT-124, CT-125, CT-126, CT-127, CT-128, CT-129
#[tokio::test]
async fn stores_in_memory_conform() {
    let store = async || Arc::new(InMemoryStore::new());
    let reports = [
        check_event_log(async || Arc::new(InMemoryLog::new())).await,
        check_conversation_store(store).await,
        check_run_store(store).await,
        check_notification_channel(store).await,
        check_latency_store(store).await,
        check_provider_profile_store(store).await,
        check_audit_store(store).await,
        check_run_owners(async || Stores::in_memory(), &OneNode).await,
        check_command_store(async || Stores::in_memory()).await,
    ];
    for report in reports {
        assert!(report.is_conforming(), "{report}");
    }
}

/// The lines of the suite of stores of secrets, of the platform, users and teams.
// Covers: CT-79, CT-80, CT-81, CT-82, CT-83, CT-84, CT-85, CT-86, CT-87, CT-88, CT-89, CT-90, CT-91, CT-92, CT-93, CT-94, CT-95, CT-96, CT-97, CT-98, CT-99, CT-100, CT-101, CT-102, CT-103
#[tokio::test]
async fn secrets_in_memory_conform() {
    let report = check_secret_store(async || Arc::new(SealedSecrets::in_memory().unwrap())).await;
    assert!(report.is_conforming(), "{report}");
}

// Covers: CT-79, CT-80, CT-81, CT-82, CT-83, CT-84, CT-85, CT-86, CT-87, CT-88, CT-89, CT-90, CT-91, CT-92, CT-93, CT-94, CT-95, CT-96, CT-97, CT-98, CT-99, CT-100, CT-101, CT-102, CT-103
#[tokio::test]
async fn secrets_in_files_conform() {
    let folder = std::env::temp_dir().join(format!("forgeline-secrets-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let count = std::cell::Cell::new(0);
    let make = async || {
        count.set(count.get() + 1);
        let files = SecretFiles::open(folder.join(count.get().to_string())).await.unwrap();
        Arc::new(SealedSecrets::new(files, SealingKeys::random().unwrap()))
    };
    let report = check_secret_store(make).await;
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(report.is_conforming(), "{report}");
}

mod sqlite {
    use super::*;
    use forgeline_store::SqliteStore;

    /// Returns a folder for a single test.
    fn folder(name: &str) -> std::path::PathBuf {
        let name = format!("forgeline-stores-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    async fn check(name: &str, check: impl AsyncFn(&dyn Fn() -> std::path::PathBuf) -> Report) {
        let folder = folder(name);
        let count = std::cell::Cell::new(0);
        let next = || {
            count.set(count.get() + 1);
            folder.join(format!("{}.db", count.get()))
        };
        let report = check(&next).await;
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(report.is_conforming(), "{report}");
    }

    async fn open(path: std::path::PathBuf) -> Arc<SqliteStore> {
        Arc::new(SqliteStore::open(path).await.unwrap())
    }

    #[tokio::test]
    async fn the_log_of_sqlite_conforms() {
        check("log", async |next| check_event_log(async || open(next()).await).await).await;
    }

    // Covers: T-62, T-69, CT-25, CT-26, CT-27, CT-28, CT-29, CT-30, CT-32, CT-33, CT-34, CT-36, CT-37, CT-38, CT-39, CT-40, CT-41
    #[tokio::test]
    async fn the_conversations_of_sqlite_conform() {
        check("conversations", async |next| {
            check_conversation_store(async || open(next()).await).await
        })
        .await;
    }

    #[tokio::test]
    async fn the_runs_of_sqlite_conform() {
        check("runs", async |next| check_run_store(async || open(next()).await).await).await;
    }

    #[tokio::test]
    async fn the_owners_of_runs_and_the_commands_of_sqlite_conform() {
        let stores = async |path| Stores::of(SqliteStore::open(path).await.unwrap());
        check("owners", async |next| {
            check_run_owners(async || stores(next()).await, &OneNode).await
        })
        .await;
        check("commands", async |next| check_command_store(async || stores(next()).await).await)
            .await;
    }

    // Covers: CT-79, CT-80, CT-81, CT-82, CT-83, CT-84, CT-85, CT-86, CT-87, CT-88, CT-89, CT-90, CT-91, CT-92, CT-93, CT-94, CT-95, CT-96, CT-97, CT-98, CT-99, CT-100, CT-101, CT-102, CT-103
    #[tokio::test]
    async fn the_secrets_of_sqlite_conform() {
        check("secrets", async |next| {
            let make = async || {
                let store = SqliteStore::open(next()).await.unwrap();
                Arc::new(SealedSecrets::new(store, SealingKeys::random().unwrap()))
            };
            check_secret_store(make).await
        })
        .await;
    }

    // Covers: CT-118, CT-119, CT-120, CT-121, CT-122, CT-123, CT-124, CT-125, CT-126, CT-127, CT-128, CT-129
    #[tokio::test]
    async fn the_audit_rows_of_sqlite_conform() {
        check("audit", async |next| check_audit_store(async || open(next()).await).await).await;
    }

    // Covers: CT-42, CT-43, CT-46, CT-48, CT-49
    #[tokio::test]
    async fn the_notifications_of_sqlite_conform() {
        check("notifications", async |next| {
            check_notification_channel(async || open(next()).await).await
        })
        .await;
        check("latency", async |next| check_latency_store(async || open(next()).await).await).await;
        check("profiles", async |next| {
            check_provider_profile_store(async || open(next()).await).await
        })
        .await;
    }
}
