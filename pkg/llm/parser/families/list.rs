//! The list of all families, and the dialects in it.

use super::{
    ai2, ai21, alibaba, baidu, bytedance, china_telecom, cohere, common, deepseek,
    family::{InAuto, ModelFamily},
    google, huawei, hugind, ibm, inkling, iquest, llm360, meituan, meta, microsoft, minimax,
    miromind, mistral, moonshot, muse, naver, nous, nvidia, openai, openbmb, poolside,
    preferred_networks, rwkv, salesforce, sb_intuitions, sber, servicenow, shanghai_ai_lab,
    stepfun, swiss_ai, tencent, upstage, xiaohongshu, zhipu,
};
use crate::builder::{ThinkingDialectBuilder, ToolDialectBuilder};

/// All families, in the order in which their dialects are listed; `none`, `auto`, Forge's and
/// `<think>` come first.
const FAMILIES: &[&ModelFamily] = &[
    &common::NONE,
    &common::AUTO,
    &common::FORGE,
    &common::THINK,
    &nous::HERMES,
    &alibaba::QWEN3_CODER,
    &zhipu::GLM_FAMILY,
    &moonshot::KIMI_K2,
    &moonshot::KIMI_K3_FAMILY,
    &deepseek::DEEPSEEK_V3,
    &deepseek::DEEPSEEK_V31,
    &deepseek::DSML_FAMILY,
    &meta::LLAMA3_JSON,
    &meta::PYTHONIC,
    &mistral::MISTRAL,
    &google::GEMMA4,
    &google::FUNCTIONGEMMA,
    &openai::HARMONY,
    &minimax::MINIMAX_M2,
    &minimax::MINIMAX_M3,
    &cohere::COHERE,
    &stepfun::STEP3,
    &shanghai_ai_lab::INTERNLM2,
    &microsoft::PHI4,
    &ibm::GRANITE,
    &ai21::JAMBA,
    &tencent::HUNYUAN_FAMILY,
    &bytedance::SEED_OSS,
    &swiss_ai::APERTUS,
    &nvidia::NEMOTRON,
    &meituan::LONGCAT_FAMILY,
    &sber::GIGACHAT3,
    &baidu::ERNIE45,
    &ai2::OLMO3,
    &salesforce::XLAM,
    &xiaohongshu::DOTS,
    &openbmb::MINICPM5,
    &iquest::IQUEST_FAMILY,
    &llm360::K2_HORIZON,
    &sb_intuitions::SARASHINA,
    &preferred_networks::PLAMO3,
    &inkling::INKLING,
    &muse::MUSE,
    &common::GUIDED,
    &hugind::HUGIND,
    &upstage::SOLAR_OPEN2,
    &upstage::SOLAR_OPEN,
    &alibaba::QWEN25_CODER,
    &servicenow::APRIEL,
    &huawei::PANGU,
    &naver::HYPERCLOVAX,
    &rwkv::RWKV,
    &poolside::POOLSIDE,
    &tencent::HY4,
    &china_telecom::TELECHAT4,
    &stepfun::STEP_AUDIO,
    &miromind::MIROTHINKER,
    &openbmb::MINICPM_V,
    &meta::CWM,
    &ibm::GRANITE4,
];

/// The number of tool-call dialects.
pub(crate) const TOOL_COUNT: usize = counts().0;
/// The number of thinking dialects.
pub(crate) const THINKING_COUNT: usize = counts().1;

const fn counts() -> (usize, usize) {
    let (mut tools, mut thinking) = (0, 0);
    let mut families = FAMILIES;
    while let [family, rest @ ..] = families {
        if family.tools.is_some() {
            tools += 1;
        }
        if family.thinking.is_some() {
            thinking += 1;
        }
        families = rest;
    }
    (tools, thinking)
}

/// Returns every family.
pub(crate) fn all() -> impl Iterator<Item = &'static ModelFamily> {
    FAMILIES.iter().copied()
}

/// Returns the description of tool-call dialect number `at`.
pub(crate) fn tools(at: usize) -> Option<ToolDialectBuilder<'static>> {
    all().filter_map(|family| family.tools).nth(at)
}

/// Returns the description of thinking dialect number `at`.
pub(crate) fn thinking(at: usize) -> Option<ThinkingDialectBuilder<'static>> {
    all().filter_map(|family| family.thinking).nth(at)
}

/// Returns the family whose tool-call dialect has this name.
pub(crate) fn by_tools(name: &str) -> Option<&'static ModelFamily> {
    all().find(|family| family.tools.is_some_and(|tools| tools.name == name))
}

/// Returns the parts of calls that `auto` reads: dialects with markers of their own.
pub(crate) fn auto_tools() -> Vec<ToolDialectBuilder<'static>> {
    let in_auto = |family: &ModelFamily| match family.in_auto {
        InAuto::Whole => family.tools,
        InAuto::As(tools) => Some(tools),
        InAuto::Nothing => None,
    };
    all().filter_map(in_auto).map(ToolDialectBuilder::beside_others).collect()
}

/// Returns the special tokens with which models of tool-call dialect number `at` end a turn.
pub(crate) fn turn_ends(at: usize) -> &'static [&'static str] {
    all().filter(|family| family.tools.is_some()).nth(at).map_or(&[], |family| family.turn_ends)
}

/// Returns the special tokens of tool-call dialect number `at` that its description does not name.
pub(crate) fn strays(at: usize) -> &'static [&'static str] {
    all().filter(|family| family.tools.is_some()).nth(at).map_or(&[], |family| family.strays)
}

/// Returns the end-of-turn tokens of all families that do not occur in prose.
pub(crate) fn auto_turn_ends() -> Vec<&'static str> {
    const OTHERS: [&str; 4] = ["<turn|>", "<eos>", "<end_of_turn>", "[e~["];
    let is_special = |end: &str| end.starts_with("<|") || end.starts_with("<｜");
    let ends = all().flat_map(|family| family.turn_ends).copied();
    ends.filter(|end| is_special(end) || OTHERS.contains(end)).collect()
}

/// Returns the parts of reasoning that `auto` reads: its own tags, then the sections of families.
pub(crate) fn auto_thinking() -> Vec<ThinkingDialectBuilder<'static>> {
    let families = all().filter(|family| family.thinking_in_auto);
    let sections = families.filter_map(|family| family.thinking);
    thinking(1).into_iter().chain(sections.map(ThinkingDialectBuilder::beside_others)).collect()
}
