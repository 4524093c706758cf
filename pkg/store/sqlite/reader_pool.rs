//! The connections for reading.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::{
    file,
    waits::{blocking, closed},
};
use crate::StoreError;

/// Maximum number of connections for reading.
const MAX_READERS: u32 = 4;

/// Connections for reading, which are opened when needed. They never create or change the file.
pub(super) struct ReaderPool {
    path: PathBuf,
    idle: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
}

impl ReaderPool {
    /// Returns a pool with one open connection.
    pub(super) fn open(path: PathBuf) -> Result<Self, StoreError> {
        let idle = Arc::new(Mutex::new(vec![file::open_reader(&path)?]));
        Ok(Self { path, idle, permits: Arc::new(Semaphore::new(MAX_READERS as usize)) })
    }

    /// Reads on a thread for blocking work, once a connection is free. If the future is dropped, the connection returns to the pool after the work.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| closed())?;
        let (idle, path) = (Arc::clone(&self.idle), self.path.clone());
        blocking(move || {
            let free = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let connection = free.map_or_else(|| file::open_reader(&path), Ok)?;
            let done = work(&connection);
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            drop(permit);
            done
        })
        .await
    }

    /// Closes the connections once they are idle; later reads fail.
    pub(super) async fn close(&self) {
        let all = self.permits.acquire_many(MAX_READERS).await;
        self.permits.close();
        drop(all);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
