//! The dialects that the library knows: one file for each family.

mod apertus;
mod auto;
mod cohere;
mod deepseek_v3;
mod deepseek_v31;
mod dots;
mod dsml;
mod ernie45;
mod forge;
mod functiongemma;
mod gemma4;
mod gigachat3;
mod glm;
mod granite;
mod guided;
mod harmony;
mod hermes;
mod hugind;
mod hunyuan;
mod inkling;
mod internlm2;
mod iquest;
mod jamba;
mod k2_horizon;
mod kimi_k2;
mod kimi_k3;
mod llama3;
mod longcat;
mod minicpm5;
mod minimax_m2;
mod minimax_m3;
mod mistral;
mod muse;
mod nemotron;
mod olmo3;
mod phi4;
mod phi4_start;
mod plamo3;
mod pythonic;
mod qwen3_coder;
mod sarashina;
mod seed_oss;
mod shared;
mod step3;
mod think;
mod xlam;

use std::borrow::Cow;

use super::description::{Framing, Thinking, ThinkingForm, Tools};
use super::marker::Marker;

pub(super) use auto::{thinking as auto_thinking, tools as auto_tools};

/// Text stays as it is.
pub(super) static NO_TOOLS: Tools = nothing("none", "");
static AUTO_TOOLS: Tools = nothing("auto", forge::EXAMPLE);

/// Text stays as it is.
pub(super) static NO_THINKING: Thinking = no_thinking("none", "");
static AUTO_THINKING: Thinking = no_thinking("auto", think::EXAMPLE);

/// All tool-call dialects by name; the first three have names of their own in the code.
pub(super) static TOOLS: [&Tools; 44] = [
    &NO_TOOLS,
    &AUTO_TOOLS,
    &forge::TOOLS,
    &hermes::TOOLS,
    &qwen3_coder::TOOLS,
    &glm::TOOLS,
    &kimi_k2::TOOLS,
    &kimi_k3::TOOLS,
    &deepseek_v3::TOOLS,
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
    &phi4::TOOLS,
    &granite::TOOLS,
    &jamba::TOOLS,
    &hunyuan::TOOLS,
    &seed_oss::TOOLS,
    &apertus::TOOLS,
    &nemotron::TOOLS,
    &longcat::TOOLS,
    &gigachat3::TOOLS,
    &ernie45::TOOLS,
    &olmo3::TOOLS,
    &xlam::TOOLS,
    &dots::TOOLS,
    &minicpm5::TOOLS,
    &iquest::TOOLS,
    &k2_horizon::TOOLS,
    &sarashina::TOOLS,
    &plamo3::TOOLS,
    &inkling::TOOLS,
    &muse::TOOLS,
    &guided::TOOLS,
    &hugind::TOOLS,
];

/// All thinking dialects by name; the first four have names of their own in the code.
pub(super) static THINKING: [&Thinking; 21] = [
    &NO_THINKING,
    &AUTO_THINKING,
    &forge::THINKING,
    &think::THINKING,
    &kimi_k2::THINKING,
    &mistral::THINKING,
    &gemma4::THINKING,
    &harmony::THINKING,
    &minimax_m3::THINKING,
    &seed_oss::THINKING,
    &cohere::THINKING,
    &kimi_k3::THINKING,
    &granite::THINKING,
    &apertus::THINKING,
    &longcat::THINKING,
    &hunyuan::THINKING,
    &ernie45::THINKING,
    &k2_horizon::THINKING,
    &plamo3::THINKING,
    &inkling::THINKING,
    &muse::THINKING,
];

const fn nothing(name: &'static str, example: &'static str) -> Tools {
    Tools { name, example, wrappers: Cow::Borrowed(&[]), calls: Cow::Borrowed(&[]), bare: None }
}

const fn no_thinking(name: &'static str, example: &'static str) -> Thinking {
    Thinking {
        name,
        example,
        sections: Cow::Borrowed(&[]),
        ignored: Cow::Borrowed(&[]),
        after_ignored: 0,
        only_at_start: false,
        finds_late_closer: false,
        starts_inside: false,
        recovers_calls: false,
    }
}

impl Thinking {
    /// Tags of these names, with the framing of `<think>`.
    pub(super) fn of_tags(names: &[&str]) -> Self {
        let sections = names.iter().map(|name| ThinkingForm {
            opener: Marker::own(&format!("<{name}>")),
            closers: Cow::Owned(vec![Marker::own(&format!("</{name}>"))]),
            framing: Framing::THINK,
        });
        Self { sections: sections.collect(), ..no_thinking("custom", "") }
    }
}
