//! Full-text search by words (BM25), without a model.

mod ranking;
mod words;

pub(crate) use self::{ranking::WordRanking, words::has_words};
