//! The lookup of a run for a reader.

use std::sync::Arc;

use super::scope_events;
use crate::{
    Problem,
    access::scope::scope,
    runs::{directory::RunDirectory, run::ServiceRun},
};
use forgeline_agent::Caller;
use forgeline_store::{LogKey, StoreError};

/// Returns a run of this caller to a reader. For a run that was retired, the error says so.
pub(crate) async fn run_to_read(
    runs: &RunDirectory,
    caller: &Caller,
    id: &str,
) -> Result<Arc<ServiceRun>, Problem> {
    match runs.of_caller(caller, id).await {
        Err(problem) if problem.is_not_found() => {
            let key = LogKey::new(scope(caller), id);
            let was_there = scope_events::was_of(runs.log(), &key, caller).await?;
            let retired = || StoreError::retired(key.name.clone());
            Err(if was_there { retired().into() } else { problem })
        }
        run => run,
    }
}
