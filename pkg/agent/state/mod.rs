//! The loop of a run as data: one value advanced step by step, without I/O, clock, randomness or hash order.

mod after_calls;
mod answer_calls;
mod answer_in_progress;
mod answers;
mod approvals;
mod at_client;
mod audit;
mod breaker;
mod call_check;
mod call_in_words;
mod content_refusal;
mod delivery;
mod early_calls;
mod effect;
mod ending_call;
mod fitting;
mod goal;
mod hosted;
mod input;
mod limits;
mod message_inbox;
mod missing_results;
mod older_journal;
mod outside;
mod refusals;
mod refused_requests;
mod repeats;
mod resume;
mod rules;
mod run_state;
#[cfg(test)]
mod tests;
mod window_state;

pub(super) use self::{
    breaker::{CallFailure, CallResult, FailureKind},
    content_refusal::ContentRefusal,
    effect::{AskKind, RunEffect},
    input::{
        AnswerId, CallId, CancelReason, CompleteCall, ModelAnswer, ReturnedCall, RunPrompt,
        StepInput, ToolEnd, UnixMillis,
    },
    missing_results::missing_results,
    rules::{CallOrder, RunRules, ToolFacts},
    run_state::{RunSpec, RunState},
    window_state::{ConversationSummary, SummaryEnd, SummaryRange, WindowCut, WindowState},
};
