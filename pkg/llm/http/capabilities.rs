//! What a model lacks is an error before anything is sent.

use crate::{
    llm::{ProviderError, Request},
    types::{Capabilities, Part, Text},
};

/// Fails when the request needs what the model lacks.
pub(super) fn check(
    request: &Request,
    model: Capabilities,
    provider: &str,
) -> Result<(), ProviderError> {
    let lacks = |feature: &str| {
        Err(ProviderError::Unsupported { provider: Text::from(provider), feature: feature.into() })
    };
    if !model.tools && !request.tools.is_empty() {
        return lacks("native tools; write the tools into the prompt instead");
    }
    if !model.structured_output && request.response_format.is_some() {
        return lacks("a response format");
    }
    if model.vision && model.documents {
        return Ok(());
    }
    let parts = || request.messages.iter().flat_map(|message| &message.parts);
    if !model.vision && parts().any(|part| matches!(part, Part::Image { .. })) {
        return lacks("images");
    }
    if !model.documents && parts().any(|part| matches!(part, Part::Document { .. })) {
        return lacks("documents");
    }
    Ok(())
}
