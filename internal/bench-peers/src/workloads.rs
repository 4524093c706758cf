//! What is read.

use crate::{
    corpus::{self, Answer, Dialect, Dice, Part},
    dialects,
    parsers::Names,
};

/// One kind of text.
#[derive(Debug)]
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    parts: fn(&mut Dice, usize) -> Vec<Part>,
    dialect: Dialect,
    /// How many answers, and of how many bytes each.
    answers: u64,
    bytes: usize,
    pub(crate) names: Names,
}

impl Workload {
    pub(crate) fn answers(&self) -> Vec<Answer> {
        (1..=self.answers)
            .map(|seed| corpus::write((self.parts)(&mut Dice::new(seed), self.bytes), self.dialect))
            .collect()
    }

    /// How much is read, for people.
    pub(crate) fn amount(&self) -> String {
        format!("{} × {} KiB", self.answers, self.bytes >> 10)
    }
}

const ANSWERS: u64 = 512;
const BYTES: usize = 8 << 10;

const THINK: Names = Names {
    ours: (Some("think"), None),
    smg: (Some("qwen3"), None),
    dynamo: (Some("qwen3"), None),
    dynamo_v2: (None, Some("qwen3")),
};

/// `dynamo-parsers-v2` reads no Hermes.
const HERMES: Names = Names {
    ours: (None, Some("hermes")),
    smg: (None, Some("qwen")),
    dynamo: (None, Some("hermes")),
    dynamo_v2: (None, None),
};

/// Forge's own dialect, which nobody else reads.
const FORGE: Names = Names {
    ours: (None, Some("forge")),
    smg: (None, None),
    dynamo: (None, None),
    dynamo_v2: (None, None),
};

const QWEN3_CODER: Names = Names {
    ours: (None, Some("qwen3-coder")),
    smg: (None, Some("qwen_xml")),
    dynamo: (None, Some("qwen3_coder")),
    dynamo_v2: (Some("qwen3_coder"), Some("qwen3_coder")),
};

const GLM: Names = Names {
    ours: (None, Some("glm")),
    smg: (None, Some("glm47_moe")),
    dynamo: (None, Some("glm47")),
    dynamo_v2: (Some("glm47"), Some("glm47")),
};

const KIMI_K2: Names = Names {
    ours: (None, Some("kimi-k2")),
    smg: (None, Some("kimik2")),
    dynamo: (None, Some("kimi_k2")),
    dynamo_v2: (Some("kimi_k2"), Some("kimi_k2")),
};

/// `dynamo-parsers-v2` knows the block of V4 alone.
const DSML_V32: Names = Names {
    ours: (None, Some("dsml")),
    smg: (None, Some("deepseek32")),
    dynamo: (None, Some("deepseek_v3_2")),
    dynamo_v2: (None, None),
};

const DSML_V4: Names = Names {
    ours: (None, Some("dsml")),
    smg: (None, Some("deepseek_v4")),
    dynamo: (None, Some("deepseek_v4")),
    dynamo_v2: (Some("deepseek_v4"), Some("deepseek_v4")),
};

const GEMMA4: Names = Names {
    ours: (None, Some("gemma4")),
    smg: (None, Some("gemma4")),
    dynamo: (None, Some("gemma4")),
    dynamo_v2: (Some("gemma4"), Some("gemma4")),
};

/// `dynamo-parsers-v2` reads no Mistral.
const MISTRAL: Names = Names {
    ours: (None, Some("mistral")),
    smg: (None, Some("mistral")),
    dynamo: (None, Some("mistral")),
    dynamo_v2: (None, None),
};

const fn workload(
    name: &'static str,
    parts: fn(&mut Dice, usize) -> Vec<Part>,
    dialect: Dialect,
    names: Names,
) -> Workload {
    Workload { name, parts, dialect, answers: ANSWERS, bytes: BYTES, names }
}

const fn long(name: &'static str, dialect: Dialect, names: Names) -> Workload {
    Workload { name, parts: corpus::one_call, dialect, answers: 1, bytes: 1 << 20, names }
}

pub(crate) const WORKLOADS: &[Workload] = &[
    workload("prose-thinking", corpus::plain, dialects::none, THINK),
    workload("prose-calls", corpus::plain, dialects::none, HERMES),
    // The same once more, for the parsers that read no Hermes.
    workload("prose-calls-xml", corpus::plain, dialects::none, QWEN3_CODER),
    workload("angles-thinking", corpus::angles, dialects::none, THINK),
    workload("angles-calls", corpus::angles, dialects::none, HERMES),
    workload("angles-calls-xml", corpus::angles, dialects::none, QWEN3_CODER),
    workload("thinking", corpus::thinking, dialects::none, THINK),
    workload("forge", corpus::one_call, dialects::forge, FORGE),
    workload("hermes", corpus::one_call, dialects::hermes, HERMES),
    workload("hermes-many", corpus::calls_between_text, dialects::hermes, HERMES),
    workload(
        "thinking-hermes",
        corpus::thinking_and_call,
        dialects::hermes,
        Names {
            ours: (Some("think"), Some("hermes")),
            smg: (Some("qwen3"), Some("qwen")),
            dynamo: (Some("qwen3"), Some("hermes")),
            dynamo_v2: (None, None),
        },
    ),
    workload(
        "thinking-qwen3-coder",
        corpus::thinking_and_call,
        dialects::qwen3_coder,
        Names {
            ours: (Some("think"), Some("qwen3-coder")),
            smg: (Some("qwen3"), Some("qwen_xml")),
            dynamo: (Some("qwen3"), Some("qwen3_coder")),
            dynamo_v2: (None, Some("qwen3_coder")),
        },
    ),
    workload("qwen3-coder", corpus::one_call, dialects::qwen3_coder, QWEN3_CODER),
    workload("qwen3-coder-many", corpus::calls_between_text, dialects::qwen3_coder, QWEN3_CODER),
    workload("glm", corpus::one_call, dialects::glm, GLM),
    workload("kimi-k2", corpus::one_call, dialects::kimi_k2, KIMI_K2),
    workload("kimi-k2-block", corpus::block_of_calls, dialects::kimi_k2, KIMI_K2),
    workload("dsml-v3.2", corpus::one_call, dialects::dsml_v32, DSML_V32),
    workload("dsml-v4", corpus::one_call, dialects::dsml_v4, DSML_V4),
    workload("gemma4", corpus::one_call, dialects::gemma4, GEMMA4),
    workload("mistral-array", corpus::one_call, dialects::mistral_array, MISTRAL),
    workload("mistral-names", corpus::one_call, dialects::mistral_names, MISTRAL),
    long("hermes-1MiB", dialects::hermes, HERMES),
    long("qwen3-coder-1MiB", dialects::qwen3_coder, QWEN3_CODER),
];
