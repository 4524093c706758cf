//! The protocols of vendors' clients that the service speaks.

use forgeline_llm::{gateway::ClientProtocol, openai::ChunkWriter, responses::ResponseWriter};
use forgeline_types::Text;

/// A protocol of vendors' clients in which an agent is a model.
pub(crate) trait FrontProtocol: ClientProtocol {
    /// The beginning of the ids of answers, before the id of the run.
    const ID_PREFIX: &'static str;

    /// The text between the texts of two turns of a run; empty where each is an item of its own.
    const BETWEEN_TURNS: &'static str;

    /// Returns a writer for an answer of this run, which began at this time in seconds since the Unix epoch.
    fn begin_answer(run_id: &str, model: Text, unix_seconds: u64) -> Self;
}

impl FrontProtocol for ChunkWriter {
    const ID_PREFIX: &'static str = "chatcmpl-";
    const BETWEEN_TURNS: &'static str = "\n\n";

    fn begin_answer(run_id: &str, model: Text, unix_seconds: u64) -> Self {
        Self::new(answer_id::<Self>(run_id), model).created(unix_seconds)
    }
}

impl FrontProtocol for ResponseWriter {
    const ID_PREFIX: &'static str = "resp_";
    const BETWEEN_TURNS: &'static str = "";

    fn begin_answer(run_id: &str, model: Text, unix_seconds: u64) -> Self {
        Self::new(answer_id::<Self>(run_id), model).created(unix_seconds)
    }
}

/// Returns the id of the answer of a run.
fn answer_id<P: FrontProtocol>(run_id: &str) -> Text {
    Text::from([P::ID_PREFIX, run_id].concat())
}
