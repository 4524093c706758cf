//! Texts found by their words, without a model: BM25.

mod ranking;
mod words;

pub(crate) use self::{ranking::Ranking, words::has_words};
