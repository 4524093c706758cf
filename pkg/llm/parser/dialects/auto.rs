//! What `auto` knows: every dialect with a marker of its own.

use std::{borrow::Cow, sync::LazyLock};

use super::{
    apertus, cohere, deepseek_v31, dots, dsml, forge, functiongemma, gemma4, gigachat3, harmony,
    hunyuan, inkling, internlm2, iquest, k2_horizon, kimi_k2, kimi_k3, llama3, longcat, minicpm5,
    minimax_m2, minimax_m3, mistral, muse, nemotron, no_thinking, olmo3, phi4_start, plamo3,
    pythonic, sarashina, seed_oss, shared, step3, think,
};
use crate::llm::parser::{
    description::{Bare, Framing, Thinking, ThinkingForm, Tools},
    marker::Marker,
};

/// The dialects whose markers are their own. `<tool_call>` belongs to several families: what stands
/// in it tells them apart. No bare JSON and no bare brackets.
pub(in crate::llm::parser) fn tools() -> Vec<Tools> {
    [
        &forge::TOOLS,
        &shared::TOOLS,
        &kimi_k2::TOOLS,
        &kimi_k3::TOOLS,
        &deepseek_v31::TOOLS,
        &dsml::TOOLS,
        &llama3::TOOLS,
        &pythonic::TOOLS,
        &mistral::TOOLS,
        &gemma4::TOOLS,
        &functiongemma::TOOLS,
        &harmony::TOOLS,
        &minimax_m2::TOOLS,
        &minimax_m3::TOOLS,
        &cohere::TOOLS,
        &step3::TOOLS,
        &internlm2::TOOLS,
        &phi4_start::TOOLS,
        &shared::PIPED,
        &hunyuan::TOOLS,
        &seed_oss::TOOLS,
        &apertus::TOOLS,
        &nemotron::TOOLS,
        &longcat::TOOLS,
        &gigachat3::TOOLS,
        &olmo3::TOOLS,
        &dots::TOOLS,
        &minicpm5::TOOLS,
        &iquest::TOOLS,
        &k2_horizon::TOOLS,
        &sarashina::TOOLS,
        &plamo3::TOOLS,
        &muse::CALLS_ONLY,
    ]
    .into_iter()
    .map(|tools| Tools { bare: tools.bare.and_then(Bare::in_auto), ..tools.clone() })
    .collect()
}

/// Every way of marking reasoning that plain prose does not hold.
pub(in crate::llm::parser) fn thinking() -> &'static Thinking {
    static AUTO: LazyLock<Thinking> = LazyLock::new(|| {
        let tags = ["thinking", "think", "reasoning", "thought"].map(|name| ThinkingForm {
            opener: Marker::own(&format!("<{name}>")),
            closers: Cow::Owned(vec![Marker::own(&format!("</{name}>"))]),
            framing: Framing::THINK,
        });
        let families = [
            &kimi_k2::THINKING,
            &mistral::THINKING,
            &gemma4::THINKING,
            &harmony::THINKING,
            &minimax_m3::THINKING,
            &seed_oss::THINKING,
            &cohere::THINKING,
            &kimi_k3::THINKING,
            &apertus::THINKING,
            &longcat::THINKING,
            &k2_horizon::THINKING,
            &plamo3::THINKING,
            &inkling::THINKING,
        ];
        Thinking {
            sections: tags
                .into_iter()
                .chain(families.iter().flat_map(|family| family.sections.iter().cloned()))
                .collect(),
            ignored: families.iter().flat_map(|family| family.ignored.iter().cloned()).collect(),
            finds_late_closer: true,
            recovers_calls: think::THINKING.recovers_calls,
            ..no_thinking("auto", think::EXAMPLE)
        }
    });
    &AUTO
}
