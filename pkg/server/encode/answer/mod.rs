//! A run as one answer, for protocols without turns: those of the vendors' clients.

mod answer_pieces;
mod answer_stream;
mod answer_whole;
mod client_calls;
mod front;
#[cfg(test)]
mod tests;

pub(crate) use self::{
    answer_stream::AnswerStream,
    answer_whole::{AnswerWhole, WholeAnswer},
    front::FrontProtocol,
};
