//! Standing instructions, for protocols that have a separate place for them.

use std::sync::Arc;

use serde_json::Value;

use super::{BodyWriter, fields::to_bytes};
use crate::ProviderError;
use forgeline_json::subslice;
use forgeline_types::{Message, MessageRole, Part};

/// Writes the standing instructions under `key`: those of the request, then those at the beginning of its
/// conversation. `write` encodes their texts in the given `variant`.
///
/// # Errors
///
/// [`ProviderError::Unsupported`] for instructions later in the conversation.
pub(crate) fn write(
    body: &mut BodyWriter<'_>,
    key: &str,
    variant: u8,
    write: impl Fn(&[&str]) -> Value,
) -> Result<(), ProviderError> {
    let request = body.request();
    let is_system = |message: &&Arc<Message>| message.role == MessageRole::System;
    let leading = request.messages.iter().take_while(is_system).count();
    // Messages that are already encoded were checked before.
    let new = subslice(request.messages.messages(), leading.max(body.known())..);
    if new.iter().any(|message| is_system(&message)) {
        return Err(body.unsupported("instructions inside the conversation; put them before it"));
    }
    let own = request.system.as_ref().filter(|text| !text.trim().is_empty());
    let messages = request.messages.iter().take(leading);
    let texts = messages.flat_map(|message| &message.parts).filter_map(Part::as_text);
    let texts = texts.filter(|text| !text.trim().is_empty());
    match own {
        Some(own) if leading == 0 => body.system(key, own, variant, |text| write(&[text])),
        _ => {
            let texts: Vec<_> = own.map(|text| &**text).into_iter().chain(texts).collect();
            if !texts.is_empty() {
                body.raw(key, to_bytes(&write(&texts)));
            }
        }
    }
    Ok(())
}
