//! The providers of callers: kinds, and the one that answers a message.

mod choice_error;
mod kind;
mod recent;
mod resolver;

pub use self::{
    choice_error::ProviderChoiceError,
    kind::{ProviderKind, ProviderSettings},
    resolver::{KeyPolicy, ProviderChoice, ProviderResolver, ResolvedProvider},
};
