//! The models of Xiaohongshu.

use super::prelude::*;

/// dots: functions and parameters in tags, or JSON.
pub(super) const DOTS: ModelFamily = ModelFamily::new("dots")
    .example("<dots_function_call>\n<invoke name=\"calculator\">\n<parameter name=\"expression\">6 * 7</parameter>\n</invoke>\n</dots_function_call>")
    .wrappers(&[Wrapper::from_markers(
        Marker::tag("<dots_function_call").before(b"<"),
        Marker::tag("</dots_function_call"),
    )])
    .calls(&[
        CallForm::tagged(INVOKE),
        CallForm::from_markers(
            Marker::tag("<dots_function_call").before(b"{["),
            Markers::One(Marker::tag("</dots_function_call")),
            CallGrammar::JSON,
        ),
    ])
    .turn_ends(&["<|endofassistant|>", "<|endofresponse|>"])
    .models(&[FamilyModels::thinking("auto", "dots")]);
