//! The end of streams: once their time is over, and when their process died before their first record.

use std::time::{Duration, Instant};

use super::{
    config::StreamLifetime,
    state::StreamState,
    streams::{HostStreams, NOTED_PART},
};
use crate::Problem;
use forgeline_store::{
    LogKey, StoreError,
    private::{STREAM_PREFIX, now_ms},
};
use forgeline_types::Text;

/// Age of a log without a first record after which no process is about to write it.
const EMPTY: Duration = Duration::from_mins(1);

impl HostStreams {
    /// Removes a stream whose life was over at `began`; returns `false` if another node has used it, or created it again.
    pub(super) async fn expire(
        &self,
        key: &LogKey,
        life: StreamLifetime,
        began: Instant,
    ) -> Result<bool, Problem> {
        let idle =
            life.idle_ms.map(|idle| Duration::from_millis(idle.saturating_add(idle / NOTED_PART)));
        let unused = idle.unwrap_or_else(|| began.elapsed() + Duration::from_millis(1));
        self.forget_unused(key, unused).await
    }

    /// Removes a stream; in a shared store, only one that no node has used for this time.
    async fn forget_unused(&self, key: &LogKey, unused: Duration) -> Result<bool, Problem> {
        if !self.is_shared {
            return self.forget(key).await.map(|()| true);
        }
        let is_gone = match self.log.remove_unused(key, unused).await {
            Err(StoreError::NotFound { .. } | StoreError::Retired { .. }) => true,
            removed => removed?,
        };
        if is_gone {
            self.known().remove(key);
            self.room.give_back(key);
        }
        Ok(is_gone)
    }

    /// Removes the expired streams of all scopes, and records in the store the use of the others.
    ///
    /// # Errors
    ///
    /// Returns a [`Problem`] if the log cannot be used.
    pub(crate) async fn sweep(&self) -> Result<(), Problem> {
        self.room.reload_sizes(&*self.log, STREAM_PREFIX).await?;
        self.sweep_of(None).await
    }

    pub(super) async fn sweep_of(&self, scope: Option<&Text>) -> Result<(), Problem> {
        for (key, taken) in self.room.all(scope) {
            let known = self.known().get(&key).map(|it| (it.state.config.life(), it.used_ms));
            let (life, used_ms) = match (known, taken.life) {
                // Another node may have used it later.
                (Some((life, used_ms)), _) if self.is_shared => (life, used_ms.max(taken.used_ms)),
                (Some(known), _) => known,
                (None, Some(life)) => (life, taken.used_ms),
                (None, None) => {
                    let Some(life) = self.life(&key).await? else { continue };
                    self.room.note(&key, life, None);
                    (life, taken.used_ms)
                }
            };
            if life.is_over(used_ms, now_ms()) {
                self.forget_idle(&key).await?;
            } else if life.idle_ms.is_some() && used_ms > taken.used_ms && !self.is_shared {
                match self.log.touch(&key).await {
                    Ok(()) => self.room.note(&key, life, Some(used_ms)),
                    Err(StoreError::NotFound { .. } | StoreError::Retired { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    /// Removes an expired stream, unless it is in use again or being written.
    async fn forget_idle(&self, key: &LogKey) -> Result<(), Problem> {
        // A writer may be waiting for this sweep.
        let Some(_turn) = self.place(key).and_then(|turn| turn.try_lock().ok()) else {
            return Ok(());
        };
        if self.known().contains_key(key) {
            return self.find(key).await.map(drop);
        }
        let (began, taken) = (Instant::now(), self.room.get(key));
        let life = match taken.and_then(|taken| taken.life) {
            // Another node may have created it again.
            Some(_) if self.is_shared => self.life(key).await?,
            life => life,
        };
        if let (Some(taken), Some(life)) = (taken, life)
            && life.is_over(taken.used_ms, now_ms())
        {
            self.expire(key, life, began).await?;
        }
        Ok(())
    }

    /// Returns the lifetime of a stream that is not in memory, from its first record.
    async fn life(&self, key: &LogKey) -> Result<Option<StreamLifetime>, Problem> {
        match self.log.read(key, 0, 1).await {
            Ok(page) => match page.records.first() {
                Some(first) => Ok(StreamState::begin(first).map(|state| state.config.life())),
                None => self.forget_empty(key).await.map(|()| None),
            },
            // Retention has removed the stream.
            Err(StoreError::NotFound { .. } | StoreError::Retired { .. }) => {
                self.room.give_back(key);
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a stream without a first record, whose process died before writing it, unless it is being created.
    async fn forget_empty(&self, key: &LogKey) -> Result<(), Problem> {
        let Some(_turn) = self.place(key).and_then(|turn| turn.try_lock().ok()) else {
            return Ok(());
        };
        let is_empty = self.log.read(key, 0, 1).await.is_ok_and(|page| page.records.is_empty());
        if is_empty { self.forget_unused(key, EMPTY).await.map(drop) } else { Ok(()) }
    }
}
