//! The models of `ByteDance`.

use super::prelude::*;

/// The tags of a call of Seed-OSS.
const SEED: Tags =
    Tags::new(["<function", "</function>"], ["<parameter", "</parameter>"], ">").ends_itself();

/// Seed-OSS: functions and parameters in tags.
pub(super) const SEED_OSS: ModelFamily = ModelFamily::new("seed-oss")
    .example("<seed:tool_call>\n<function=calculator>\n<parameter=expression>6 * 7</parameter>\n</function>\n</seed:tool_call>")
    .calls(&[call("<seed:tool_call>", "</seed:tool_call>", CallGrammar::tags(SEED))])
    .thinking(
        Thinking::new("seed-oss")
            .example("<seed:think>Six times seven.</seed:think>\nIt is 42.")
            .sections(&[Section::new("<seed:think>", "</seed:think>")])
            .framing(0, 0, 1),
    )
    .turn_ends(&["<seed:eos>"])
    .models(&[FamilyModels::thinking("seed-oss", "seed-oss")]);
