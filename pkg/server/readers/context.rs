//! The parts that the readers of events share.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use forgeline_store::EventLog;

/// The log that readers read, and the limits of their responses.
#[derive(Clone)]
pub(crate) struct ReaderContext {
    pub(crate) log: Arc<dyn EventLog>,
    /// The maximum wait of a long poll.
    pub(crate) long_poll: Duration,
    /// Cancelled to end the streams.
    pub(crate) ends: CancellationToken,
}
