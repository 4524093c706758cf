//! Conversion of MCP tool results into those of this library.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use forgeline_agent::tools::{ToolError, ToolOutput};
use forgeline_llm::private::media::{CheckedPart, OmittedPart, inline};
use forgeline_types::Part;

/// Converts a result into its text and parts, or into the error that it represents.
pub(crate) fn tool_output(result: CallToolResult) -> Result<ToolOutput, ToolError> {
    let mut texts = Vec::new();
    let mut parts = Vec::new();
    for block in result.content {
        push_content(block, &mut texts, &mut parts);
    }
    // Servers repeat structured content as text for clients that do not read it.
    if texts.is_empty()
        && let Some(value) = result.structured_content
    {
        texts.push(value.to_string());
    }
    let text = texts.join("\n");
    if result.is_error == Some(true) {
        let message = if text.is_empty() { "the tool failed without a message" } else { &text };
        return Err(ToolError::failed(message));
    }
    Ok(parts.into_iter().fold(ToolOutput::new(text), ToolOutput::checked_part))
}

/// Adds a content block to the texts and parts before it.
pub(crate) fn push_content(
    block: ContentBlock,
    texts: &mut Vec<String>,
    parts: &mut Vec<CheckedPart>,
) {
    match block {
        ContentBlock::Text(text) => texts.push(text.text),
        ContentBlock::Image(image) => {
            push_file(Part::image(image.mime_type, image.data), texts, parts);
        }
        ContentBlock::Audio(audio) => texts.push(format!("[audio left out: {}]", audio.mime_type)),
        ContentBlock::Resource(embedded) => push_resource(embedded.resource, texts, parts),
        ContentBlock::ResourceLink(link) => texts.push(format!("[{}]({})", link.name, link.uri)),
        _ => texts.push("[content of an unknown kind left out]".to_owned()),
    }
}

/// Adds a resource to the texts and parts before it.
pub(crate) fn push_resource(
    contents: ResourceContents,
    texts: &mut Vec<String>,
    parts: &mut Vec<CheckedPart>,
) {
    match contents {
        ResourceContents::TextResourceContents { uri, text, .. } => {
            texts.push(format!("{uri}:\n{text}"));
        }
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            let media_type = mime_type.unwrap_or_else(|| "application/octet-stream".to_owned());
            let part = if media_type.starts_with("image/") {
                Part::image(media_type, blob)
            } else {
                Part::document(media_type, blob, uri)
            };
            push_file(part, texts, parts);
        }
        _ => texts.push("[resource of an unknown kind left out]".to_owned()),
    }
}

/// Adds an image or a document: its bytes, its text, or a note. A URL in place of data is left out, since a vendor would fetch it.
fn push_file(part: Part, texts: &mut Vec<String>, parts: &mut Vec<CheckedPart>) {
    match inline(part).map(CheckedPart::into_text) {
        Ok(Ok(text)) => texts.push(text),
        Ok(Err(part)) => parts.push(part),
        Err(OmittedPart { what, media_type, bytes, reason }) => {
            texts.push(format!("[{what} left out: {media_type}, {bytes} bytes; {reason}]"));
        }
    }
}
