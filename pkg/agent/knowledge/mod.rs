//! Memories that outlive a conversation, searchable documents, and the tools for both; off by default.

mod error;
mod file;
mod index;
mod knowledge_tools;
mod lines;
mod memory_tools;
mod notes;
mod owner;
mod passages;
mod query_arguments;
mod store;
mod stores;
#[cfg(test)]
mod tests;

pub use self::{
    error::KnowledgeError,
    index::LexicalIndex,
    knowledge_tools::KnowledgeTools,
    memory_tools::MemoryTools,
    owner::Owner,
    store::{KnowledgeFuture, KnowledgeIndex, MemoryStore, Note, Passage},
    stores::{FileMemoryStore, LocalMemoryStore},
};
