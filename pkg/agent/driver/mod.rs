//! The driver of a run, which performs the effects of its state and supplies its inputs.

mod accepted_input;
mod answer;
mod answer_reader;
mod approval_proposal;
mod at_client;
mod audit_log;
mod bound_answer;
mod brackets;
mod calls;
mod conversation;
mod event_emitter;
mod fitting;
mod guard;
mod journaled_history;
mod offer;
mod panic_safe_stream;
mod result;
mod rules;
mod run_loop;
mod run_recorder;
mod run_setup;
mod run_start;
mod search;
mod session_grants;
mod shared_agent;
mod spans;
mod start_messages;
mod withheld;
mod written_messages;

pub(super) use self::{
    event_emitter::EventEmitter,
    journaled_history::write_given,
    run_loop::run,
    run_setup::RunSetup,
    run_start::RunStart,
    session_grants::SessionGrants,
    shared_agent::{SharedAgent, SharedHistory},
    start_messages::StartMessages,
    written_messages::WrittenMessages,
};
