//! The table, ids as people write them, what calls cost, and what models lack.

use proptest::{prelude::*, sample::select};

use super::{
    Cost, KnownCapabilities, ModelCard,
    name::NameSpelling::{self, Other, Vendors},
    narrowed,
    table::{MAX_REMEMBERED, find, find_row, lines, remembered, row, rows},
};
use forgeline_types::{Capabilities, UsageInfo};

#[test]
fn every_line_is_read_once() {
    for line in lines() {
        assert!(row(line).is_some(), "{line}");
    }
    assert_eq!(lines().count(), rows().len());
    assert_eq!(ModelCard::all().len(), rows().len());
    let patterns: Vec<_> = rows().iter().map(|row| row.pattern).collect();
    for (at, pattern) in patterns.iter().enumerate() {
        assert_eq!(*pattern, pattern.to_ascii_lowercase());
        assert!(!patterns[..at].contains(pattern), "{pattern} is there twice");
    }
}

#[test]
fn no_line_hides_another() {
    for row in rows() {
        let id = row.pattern.trim_end_matches('*').replace('*', "-");
        let found = find_row(&id).map(|(row, _)| row.pattern);
        assert_eq!(found, Some(row.pattern), "{id}");
    }
}

#[test]
fn a_card_that_is_remembered_is_the_one_that_is_found() {
    let others = ["GPT-4o", "openai/gpt-4o", "no model", "", "another one"].map(str::to_owned);
    let ids = rows().iter().take(20).map(|row| row.pattern.replace('*', "-")).chain(others);
    let ids: Vec<String> = ids.collect();
    for round in 0..3 {
        for pair in ids.windows(2) {
            for id in pair.iter().chain(pair) {
                assert_eq!(ModelCard::for_model(id), find(id), "{id} in round {round}");
            }
        }
    }
    assert_eq!(ModelCard::for_model(&"x".repeat(100_000)), None);
    let remembered = remembered();
    assert!((1..=MAX_REMEMBERED).contains(&remembered.len()), "{}", remembered.len());
    assert!(remembered.iter().all(|(id, _)| id.len() <= 512));
}

#[test]
fn the_figures_make_sense() {
    for card in ModelCard::all() {
        let ModelCard { name, context_tokens, max_output_tokens, .. } = card;
        assert!(context_tokens.is_none_or(|tokens| (4_096..=16 << 20).contains(&tokens)), "{name}");
        assert!(context_tokens.is_none() || max_output_tokens <= context_tokens, "{name}");
        let parts: Vec<_> = card.seen.split('-').map(str::len).collect();
        assert_eq!(parts, [4, 2, 2], "{name}: {}", card.seen);
        for prices in card.prices.into_iter().chain(card.long_prices.map(|long| long.prices)) {
            assert!(0 < prices.input && prices.input <= prices.output, "{name}");
            assert!(prices.cache_read.is_none_or(|read| read < prices.input), "{name}");
            assert!(prices.cache_write.is_none_or(|write| write >= prices.input), "{name}");
        }
        if let (Some(usual), Some(long)) = (card.prices, card.long_prices) {
            assert!(usual.input < long.prices.input && usual.output < long.prices.output, "{name}");
        }
    }
}

/// Id, the line that has it, whether the vendor's prices hold.
#[rustfmt::skip]
const KNOWN: &[(&str, &str, NameSpelling)] = &[
    ("claude-haiku-4-5-20251001",                       "claude-haiku-4.5",         Vendors),
    ("claude-haiku-4-5",                                "claude-haiku-4.5",         Vendors),
    ("anthropic/claude-haiku-4.5",                      "claude-haiku-4.5",         Vendors),
    ("claude-haiku-4-5@20251001",                       "claude-haiku-4.5",         Vendors),
    ("us.anthropic.claude-haiku-4-5-20251001-v1:0",     "claude-haiku-4.5",         Other),
    ("bedrock/eu.anthropic.claude-opus-4-8",            "claude-opus-4.8",          Other),
    ("claude-opus-4-20250514",                          "claude-opus-4",            Vendors),
    ("claude-opus-4-0",                                 "claude-opus-4.0",          Vendors),
    ("claude-opus-4-1-20250805",                        "claude-opus-4.1",          Vendors),
    ("CLAUDE-SONNET-4-6",                               "claude-sonnet-4.6",        Vendors),
    ("claude-sonnet-5",                                 "claude-sonnet-5",          Vendors),
    ("claude-sonnet-5-5",                               "claude-sonnet-5.5",        Vendors),
    ("claude-3-5-haiku-20241022",                       "claude-3.5-haiku",         Vendors),
    ("claude-3-7-sonnet-latest",                        "claude-3.7-sonnet",        Vendors),
    ("gpt-4o-2024-11-20",                               "gpt-4o",                   Vendors),
    ("gpt-4o-2024-05-13",                               "gpt-4o-2024-05-13",        Vendors),
    ("openai/gpt-4o-mini",                              "gpt-4o-mini",              Vendors),
    ("openrouter/openai/gpt-4o-mini",                   "gpt-4o-mini",              Other),
    ("gpt-4-turbo-2024-04-09",                          "gpt-4-turbo",              Vendors),
    ("gpt-4-0613",                                      "gpt-4",                    Vendors),
    ("gpt-5-2025-08-07",                                "gpt-5",                    Vendors),
    ("gpt-5-chat-latest",                               "gpt-5-chat",               Vendors),
    ("gpt-5.5-2026-04-23",                              "gpt-5.5",                  Vendors),
    ("gpt-5.6-luna",                                    "gpt-5.6-luna",             Vendors),
    ("o4-mini-2025-04-16",                              "o4-mini",                  Vendors),
    ("gpt-oss:120b",                                    "gpt-oss-120b*",            Vendors),
    ("openai.gpt-oss-20b-1:0",                          "gpt-oss-20b*",             Other),
    ("models/gemini-2.5-flash",                         "gemini-2.5-flash",         Vendors),
    ("gemini-2.5-flash-lite-preview-09-2025",           "gemini-2.5-flash-lite",    Vendors),
    ("gemini-2.0-flash-001",                            "gemini-2.0-flash",         Vendors),
    ("publishers/google/models/gemini-3.1-pro-preview", "gemini-3.1-pro",           Vendors),
    ("unsloth/gemma-4-E2B-it-GGUF",                     "gemma-4-e2b*",             Other),
    ("gemma3:1b",                                       "gemma-3-1b*",              Vendors),
    ("mistral-large-2512",                              "mistral-large-2512",       Vendors),
    ("mistral.mistral-large-3-675b-instruct",           "mistral-large-3*",         Other),
    ("accounts/fireworks/models/deepseek-v4-pro",       "deepseek-v4-pro*",         Other),
    ("unsloth/DeepSeek-R1-0528-Qwen3-8B-GGUF",          "deepseek-r1*",             Other),
    ("deepseek-r1-distill-llama-70b",                   "deepseek-r1*distill*",     Other),
    ("x-ai/grok-4.5",                                   "grok-4.5",                 Vendors),
    ("grok-2-vision-1212",                              "grok-2-vision",            Vendors),
    ("command-a-03-2025",                               "command-a",                Vendors),
    ("command-r-plus-08-2024",                          "command-r-plus",           Vendors),
    ("llama-3.3-70b-versatile",                         "llama-3.3-70b-versatile",  Vendors),
    ("meta-llama/Llama-3.3-70B-Instruct-Turbo",         "llama-3.3-70b*",           Other),
    ("us.meta.llama3-3-70b-instruct-v1:0",              "llama-3.3-70b*",           Other),
    ("qwen-3-coder-480b",                               "qwen3-coder-480b*",        Vendors),
    ("Qwen/Qwen3.5-397B-A17B-FP8",                      "qwen3.5-397b*",            Other),
    ("qwen3:4b-thinking-2507-q4_K_M",                   "qwen3-4b*2507*",           Other),
    ("/srv/models/Qwen3-1.7B-Q4_K_M.gguf",              "qwen3-1.7b*",              Other),
    ("models--Qwen--Qwen3-32B/snapshots/9216db57",      "qwen3-32b*",               Other),
    ("kimi-k2.5",                                       "kimi-k2.5*",               Vendors),
    ("kimi-k2.5:cloud",                                 "kimi-k2.5*",               Other),
    ("accounts/fireworks/models/kimi-k2p5",             "kimi-k2.5*",               Other),
    ("moonshotai/kimi-k2-0905",                         "kimi-k2*0905*",            Other),
    ("z-ai/glm-4.5v",                                   "glm-4.5v*",                Other),
    ("zai-glm-4.7",                                     "glm-4.7*",                 Other),
    ("MiniMaxAI/MiniMax-M2.1",                          "minimax-m2.1*",            Other),
    ("us.amazon.nova-pro-v1:0",                         "nova-pro",                 Other),
];

/// Nobody knows them, or they are other models than the ones whose names they begin with.
#[rustfmt::skip]
const UNKNOWN: &[&str] = &[
    "", " ", "/", "//", "model.gguf", "my own model", "gpt-7", "gpt-50", "gpt-5-ultra", "gpt-5.9",
    "gpt-4o-audio-preview", "gpt-4o-realtime-preview", "gpt-4-32k", "ft:gpt-4o-2024-08-06", "openai:ft:gpt-4o",
    "claude-opus-4-9", "claude-opus-4-10", "claude-opus-4-10-20270101", "claude-haiku-9", "claude",
    "not-claude-opus-5", "gemini-2.5-flash-image", "gemini-3-pro-image-preview", "gemini-2.5-pro:free",
    "kimi-k2-8", "glm-5-9", "glm-5.9", "GLM-5.1V", "qwen3-omni", "llama-3.1-sonar-small-128k-online",
    "command-r2", "grok-5", "string-theory-7b", "日本語", "anthropic/", "anthropic/claude-opus-4-9",
];

#[test]
fn ids_are_the_models_that_they_name() {
    for (id, pattern, spelling) in KNOWN {
        let found = find_row(id).map(|(row, spelling)| (row.pattern, spelling));
        assert_eq!(found, Some((*pattern, *spelling)), "{id}");
    }
    for id in UNKNOWN {
        assert_eq!(ModelCard::for_model(id), None, "{id}");
    }
}

#[test]
fn who_else_serves_a_model_asks_their_own_price() {
    let ours = ModelCard::for_model("claude-sonnet-4-5").unwrap();
    let theirs = ModelCard::for_model("us.anthropic.claude-sonnet-4-5-20250929-v1:0").unwrap();
    assert!(ours.prices.is_some() && ours.long_prices.is_some());
    assert!(theirs.prices.is_none() && theirs.long_prices.is_none());
    assert_eq!(ours.context_tokens, theirs.context_tokens);
    assert_eq!(theirs.cost(&usage([Some(1), Some(1), None, None])), None);
}

#[test]
fn an_id_is_looked_at_in_bounds() {
    let long = "x-".repeat(1 << 20);
    assert!(ModelCard::for_model(&format!("{long}/gpt-5")).is_some());
    assert_eq!(ModelCard::for_model(&format!("gpt-5{long}")), None);
    assert_eq!(ModelCard::for_model(&format!("gpt-5{}", "/x".repeat(1 << 20))), None);
}

/// Input, output, read from a cache, written to one.
fn usage(counts: [Option<u64>; 4]) -> UsageInfo {
    let [input_tokens, output_tokens, cache_read_tokens, cache_write_tokens] = counts;
    {
        let mut it = UsageInfo::default();
        it.input_tokens = input_tokens;
        it.output_tokens = output_tokens;
        it.cache_read_tokens = cache_read_tokens;
        it.cache_write_tokens = cache_write_tokens;
        it.reasoning_tokens = output_tokens;
        it
    }
}

const LINE: &str = "m v 1000000 - ??????? 2.5/10/0.25/3.125 2026-01-02 >1000:5/20/0.5/6.25";
const NO_CACHE: &str = "m v 1000000 - ??????? 0.05/0.4/-/- 2026-01-02";

#[test]
fn calls_cost_what_their_tokens_do() {
    let (some, none) = (Some, None);
    #[rustfmt::skip]
    let cases = [
        // Pico-dollars, so that nothing is rounded away here.
        ("nothing",                 LINE,     [some(0), some(0), none, none],                some(0)),
        ("one token",               LINE,     [some(1), some(0), none, none],                some(2_500_000)),
        ("plain",                   LINE,     [some(1_000), some(100), none, none],          some(3_500_000_000)),
        ("cached counts once",      LINE,     [some(1_000), some(0), some(800), none],       some(700_000_000)),
        ("written counts once",     LINE,     [some(1_000), some(0), none, some(800)],       some(3_000_000_000)),
        ("both",                    LINE,     [some(1_000), some(0), some(600), some(400)],  some(1_400_000_000)),
        ("more parts than whole",   LINE,     [some(10), some(0), some(20), none],           some(5_000_000)),
        ("long at the border",      LINE,     [some(1_000), some(0), none, none],            some(2_500_000_000)),
        ("long: all tokens",        LINE,     [some(1_001), some(1), some(1), none],         some(5_020_500_000)),
        ("no count of input",       LINE,     [none, some(1), none, none],                   none),
        ("no count of output",      LINE,     [some(1), none, none, none],                   none),
        ("cache price unknown",     NO_CACHE, [some(10), some(1), some(5), none],            none),
        ("unknown but not needed",  NO_CACHE, [some(10), some(1), some(0), some(0)],         some(900_000)),
        ("write price unknown",     NO_CACHE, [some(10), some(1), none, some(1)],            none),
    ];
    for (name, line, counts, pico) in cases {
        let card = row(line).unwrap().into_card();
        let rounded = |pico: u64| (pico + 500_000) / 1_000_000;
        let want = pico.map(rounded);
        assert_eq!(card.cost(&usage(counts)).map(Cost::micro_dollars), want, "{name}");
        // A thousand such calls cost a thousand times as much: nothing was rounded away.
        let total: Option<Cost> = (0..1_000).map(|_| card.cost(&usage(counts))).sum::<Option<_>>();
        let want = pico.map(|pico| rounded(pico * 1_000));
        assert_eq!(total.map(Cost::micro_dollars), want, "{name}");
    }
    let unpriced = row("m v - - ??????? - 2026-01-02").unwrap().into_card();
    assert_eq!(unpriced.cost(&usage([Some(1), Some(1), None, None])), None);
}

#[test]
fn costs_add_up_and_are_shown_in_dollars() {
    let card = ModelCard::for_model("gpt-4o-mini").unwrap();
    let mut total = card.cost(&usage([Some(1), Some(0), None, None])).unwrap();
    assert_eq!((total.micro_dollars(), total.to_string()), (0, "$0.000000".to_owned()));
    total += card.cost(&usage([Some(10_000_000), Some(1_000), None, None])).unwrap();
    assert_eq!(total.to_string(), "$1.500600");
    assert!(total > Cost::ZERO);
    let huge = usage([Some(u64::MAX), Some(u64::MAX), None, None]);
    let cost = card.cost(&huge).unwrap();
    assert_eq!((cost + cost).micro_dollars(), u64::MAX);
}

#[test]
fn what_is_no_line_is_refused() {
    #[rustfmt::skip]
    let lines = [
        "m v 1 1 ??????? - ", "m v 1 1 ??????? 1/2/3 2026-01-02", "m v 1 1 ?????? - 2026-01-02",
        "m v 1 1 ???????? - 2026-01-02", "m v 1 1 PT????? - 2026-01-02", "m v x 1 ??????? - 2026-01-02",
        "m v 1 1 ??????? 1.0000001/2/-/- 2026-01-02", "m v 1 1 ??????? .5/2/-/- 2026-01-02",
        "m v 1 1 ??????? -/2/-/- 2026-01-02", "m v 1 1 ??????? 1/2/-/-/- 2026-01-02",
        "m v 1 1 ??????? - 2026-01-02 >5:1/2/-/-", "m v 1 1 ??????? 1/2/-/- 2026-01-02 5:1/2/-/-",
        "m v 1 1 ??????? 1/2/-/- 2026-01-02 >5:1/2/-/- more",
    ];
    for line in lines {
        assert!(row(line).is_none(), "{line}");
    }
}

fn everything() -> Capabilities {
    Capabilities::default()
        .streaming(true)
        .tools(true)
        .parallel_tools(true)
        .vision(true)
        .documents(true)
        .prompt_caching(true)
        .structured_output(true)
        .thinking(true)
}

#[test]
fn only_what_a_model_is_known_to_lack_is_taken_away() {
    let o1_mini = narrowed(everything(), "o1-mini");
    let (tools, parallel_tools, vision) = (false, false, false);
    assert_eq!(o1_mini, everything().tools(tools).parallel_tools(parallel_tools).vision(vision));
    assert!(!narrowed(everything(), "gpt-3.5-turbo-0125").vision);
    assert_eq!(narrowed(everything(), "gpt-4o"), everything().thinking(false));
    for id in ["claude-sonnet-5", "gemini-2.5-flash", "sonar", "my own model", ""] {
        assert_eq!(narrowed(everything(), id), everything(), "{id}");
    }
    let all_lacking = KnownCapabilities::parse("-------").unwrap();
    let streaming = Capabilities::default().streaming(true);
    assert_eq!(all_lacking.narrow(everything()), streaming);
    assert_eq!(KnownCapabilities::parse("TPVDCSR").unwrap().narrow(everything()), everything());
    assert_eq!(KnownCapabilities::default().narrow(everything()), everything());
    for row in rows() {
        let nothing = Capabilities::default();
        assert_eq!(narrowed(nothing, row.pattern.trim_end_matches('*')), nothing);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn separators_and_case_change_nothing(
        // A cloud's revision is the one part that is read as it is written.
        (id, pattern, _) in select(
            KNOWN.iter().filter(|(id, ..)| !id.contains("-v1:")).collect::<Vec<_>>()
        ),
        separator in select(&["-", "_", " "][..]),
        upper in any::<bool>(),
    ) {
        let spelled = id.replace('-', separator);
        let spelled = if upper { spelled.to_uppercase() } else { spelled };
        prop_assert_eq!(find_row(&spelled).map(|(row, _)| row.pattern), Some(*pattern));
    }

    #[test]
    fn any_text_is_an_id(id in any::<String>()) {
        let _card = ModelCard::for_model(&id);
    }

    #[test]
    fn any_counts_have_a_cost_or_none(counts in any::<[Option<u64>; 4]>()) {
        let card = row(LINE).unwrap().into_card();
        let is_known = counts[0].is_some() && counts[1].is_some();
        prop_assert_eq!(card.cost(&usage(counts)).is_some(), is_known);
    }
}
