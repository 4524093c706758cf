//! `--record`: the traffic between the agent and the server, in a file.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use forgeline::llm::transport::HttpTransport;
use forgeline_testing::record::RecordingTransport;

use crate::exit::{UsageResult as _, note};

/// `--record` and what goes with it, as flags.
#[derive(Debug, Clone, Args)]
pub struct RecordArgs {
    /// Record the traffic with the server in FILE, without keys; `forgeline replay` plays it back
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Overwrite the file of --record
    #[arg(long, requires = "record")]
    force: bool,
}

impl RecordArgs {
    /// Returns `true` when the session is recorded.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.record.is_some()
    }

    /// Begins the recording, if there is one.
    ///
    /// # Errors
    ///
    /// A usage error when the file cannot be created.
    pub fn recorder(&self) -> anyhow::Result<Option<SessionRecorder>> {
        self.record.as_deref().map(|path| SessionRecorder::create(path, self.force)).transpose()
    }
}

/// The recording of one session.
#[derive(Debug)]
pub struct SessionRecorder {
    transport: RecordingTransport<HttpTransport>,
    path: PathBuf,
}

impl SessionRecorder {
    /// Begins a new recording at `path`; with `force`, in place of the file there.
    ///
    /// # Errors
    ///
    /// A usage error when the file cannot be created.
    fn create(path: &Path, force: bool) -> anyhow::Result<Self> {
        let inner = HttpTransport::new()?;
        let transport = if force {
            RecordingTransport::overwrite(path, inner)
        } else {
            RecordingTransport::create(path, inner)
        };
        let transport = transport.usage_context(|| {
            let path = path.display();
            format!("cannot create {path}; give --record the path of a new file, or add --force")
        })?;
        Ok(Self { transport, path: path.to_owned() })
    }

    /// Returns the transport of a provider that is recorded.
    #[must_use]
    pub fn transport(&self) -> RecordingTransport<HttpTransport> {
        self.transport.clone()
    }

    /// Waits until everything is written and reports it on stderr.
    ///
    /// # Errors
    ///
    /// When the recording is not whole.
    pub fn finish(&self) -> anyhow::Result<()> {
        let path = self.path.display();
        let count = self.transport.flush().with_context(|| format!("cannot record to {path}"))?;
        let exchanges = if count == 1 { "exchange" } else { "exchanges" };
        note(&format!("recorded {count} {exchanges} in {path}"));
        Ok(())
    }
}
