//! Execution of checks, each on its own thread and clock.

use std::{thread, time::Duration};

use futures_core::future::LocalBoxFuture;

use super::{CheckMiss, CheckVerdict};

/// Maximum duration of a check, on its paused clock.
const MOST: Duration = Duration::from_hours(48);

/// Runs a check to its end; one that panics or never ends fails.
pub(crate) fn on_a_thread<'s>(
    check: impl FnOnce() -> LocalBoxFuture<'s, CheckVerdict> + Send,
) -> CheckVerdict {
    let played = thread::scope(|scope| scope.spawn(|| play(check)).join());
    played.unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<String>().map(String::as_str);
        let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
        fails(format!("it panicked: {}", words.unwrap_or("without a message")))
    })
}

fn play<'s>(check: impl FnOnce() -> LocalBoxFuture<'s, CheckVerdict>) -> CheckVerdict {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    match runtime {
        Err(error) => fails(format!("no runtime: {error}")),
        Ok(runtime) => runtime.block_on(async {
            let verdict = tokio::time::timeout(MOST, check()).await;
            verdict.unwrap_or_else(|_| fails("it never ends".to_owned()))
        }),
    }
}

fn fails(what: String) -> CheckVerdict {
    Err(CheckMiss::Fails(vec![what]))
}
