//! The models of `MiroMind`.

use super::prelude::*;

/// `MiroThinker`: a server, a tool, and the arguments as JSON, each in an element.
pub(super) const MIROTHINKER: ModelFamily = ModelFamily::new("mirothinker")
    .example("<use_mcp_tool>\n<server_name>tools</server_name>\n<tool_name>calculator</tool_name>\n<arguments>\n{\"expression\": \"6 * 7\"}\n</arguments>\n</use_mcp_tool>")
    .calls(&[CallForm::from_markers(
        Marker::tag("<use_mcp_tool"),
        Markers::Many(&[Marker::tag("</arguments"), Marker::tag("</use_mcp_tool")]),
        CallGrammar::text(TextRules::Named(HeaderStyle::ELEMENTS)),
    )])
    .turn_ends(&["<|im_end|>"])
    .models(&[FamilyModels::thinking("think", "mirothinker")]);
