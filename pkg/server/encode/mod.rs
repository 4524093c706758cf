//! Encoders from the events of a run to the frames of protocols that browsers read.
//!
//! Each encoder is a pure function of the events: every reader of a run from its beginning gets the same frames. See [`Encode`].

mod ag_ui;
mod ag_ui_event;
mod answer;
mod answer_calls;
mod as_frames;
mod encoder;
mod end;
mod key;
pub(super) mod message_writer;
mod native;
pub(super) mod nested;
mod notice;
mod sub_agent_requests;
mod ui_message;
mod ui_part;

#[cfg(test)]
mod tests;

pub use self::{
    ag_ui::AgUi,
    encoder::Encode,
    end::{RunEnd, RunStatus},
    native::Native,
    ui_message::UiMessageStream,
};
pub(super) use self::{
    answer::{AnswerStream, AnswerWhole, FrontProtocol, WholeAnswer},
    encoder::EncodeMessages,
    notice::ResponseNotice,
};
