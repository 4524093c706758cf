//! Answers of models that the entry of another family reads, or whose template differs from their relatives'.

use serde_json::json;

use crate::TextPipeline;
use forgeline_types::{Completion, Text};

/// The id of a model, its answer, and its reasoning, text and calls.
type Answer = (&'static str, &'static str, &'static str, &'static str, &'static str);

fn read<'a>(id: &str, pieces: impl IntoIterator<Item = &'a [u8]>) -> Completion {
    let text = json!({"type": "string"});
    let schema = json!({"type": "object", "properties": {"port": text}});
    let horn = json!({"type": "object", "properties": {}});
    let tools = [(Text::from("tide"), schema), (Text::from("horn"), horn)];
    let mut pipeline = TextPipeline::for_model(id).schemas(tools);
    for piece in pieces {
        pipeline.push_bytes(piece, |_| {});
    }
    pipeline.finish(|_| {})
}

fn parts(completion: &Completion) -> [String; 3] {
    let calls = completion.tool_calls.iter().map(|call| {
        let json = call.arguments.as_ref().map(|json| json.to_value().to_string());
        format!("{} {}", call.name, json.unwrap_or_else(|| format!("{:?}", call.outcome)))
    });
    let calls = calls.collect::<Vec<_>>().join(", ");
    [completion.thinking.trim().to_owned(), completion.text.trim().to_owned(), calls]
}

const TIDE: &str = r#"tide {"port":"Kiel"}"#;

// Rows: N-37
#[test]
fn the_answer_of_each_model_is_read_by_its_name() {
    #[rustfmt::skip]
    let answers: [Answer; 28] = [
        // The base model opens no reasoning, and the other one does.
        ("ai-sage/GigaChat3.5-100B",            "High at nine.", "", "High at nine.", ""),
        ("ai-sage/GigaChat3.5-100B-Reasoning",  "nine</think>High at nine.", "nine", "High at nine.", ""),
        ("ai-sage/GigaChat3.5-100B",            "<｜GCML｜tool_calls><｜GCML｜invoke name=\"tide\"><｜GCML｜parameter name=\"port\" string=\"true\">Kiel</｜GCML｜parameter></｜GCML｜invoke></｜GCML｜tool_calls>", "", "", TIDE),
        ("nex-agi/Nex-N2-mini",                 "nine</think>\n\n<tool_call>\n<function=tide>\n<parameter=port>\nKiel\n</parameter>\n</function>\n</tool_call>", "nine", "", TIDE),
        ("nex-agi/Nex-N2-mini",                 "nine</think>High.", "nine", "High.", ""),
        ("Tele-AI/TeleChat4-36B",               "So.<tool_call>tide<param_key>port</param_key><param_value>Kiel</param_value></tool_call>", "", "So.", TIDE),
        ("xingchen4-mini",                      "<tool_call>tide{\"port\": \"Kiel\"}</tool_call>", "", "", TIDE),
        ("stepfun-ai/Step-Audio-2-mini",        "So<tool_call>function\ntide\n{\"port\": \"Kiel\"}</tool_call>", "", "So", TIDE),
        ("miromind-ai/MiroThinker-v1.5-30B",    "<think>nine</think>\n<use_mcp_tool>\n<server_name>sea</server_name>\n<tool_name>tide</tool_name>\n<arguments>\n{\"port\": \"Kiel\"}\n</arguments>\n</use_mcp_tool>", "nine", "", TIDE),
        ("IQuestLab/IQuest-Coder-V2-40B",       "nine</think><iquestcoder_tool_call>tide<arg_key>port</arg_key><arg_value>Kiel</arg_value></iquestcoder_tool_call>", "nine", "", TIDE),
        ("iflytek/Spark-2.5-Chat",              "<think>nine</think>\n<tool_call>tide\n<arg_key>port</arg_key>\n<arg_value>Kiel</arg_value>\n</tool_call>", "nine", "", TIDE),
        ("FreedomIntelligence/openPangu-V2-30B", "[unused16]nine[unused17]High.[unused11][{\"name\": \"tide\", \"arguments\": {\"port\": \"Kiel\"}}][unused12]", "nine", "High.", TIDE),
        ("FreedomIntelligence/openPangu-V2-30B", "<think>nine</think><|tool_call_start|>[{\"name\": \"tide\", \"arguments\": {\"port\": \"Kiel\"}}]<|tool_call_end|>", "nine", "", TIDE),
        ("swiss-ai/Apertus-1.5-70B-Instruct",   "<|inner_prefix|>nine<|inner_suffix|><|tools_prefix|>[{\"tide\": {\"port\": \"Kiel\"}}]<|tools_suffix|>", "nine", "", TIDE),
        ("CohereLabs/North-Mini",               "nine<|END_THINKING|><|START_ACTION|>[{\"tool_call_id\": \"0\", \"tool_name\": \"tide\", \"parameters\": {\"port\": \"Kiel\"}}]<|END_ACTION|>", "nine", "", TIDE),
        ("poolside/Laguna-S-2.1",               "nine</think><tool_call>tide<arg_key>port</arg_key><arg_value>Kiel</arg_value></tool_call>", "nine", "", TIDE),
        ("poolside/Laguna-XS.2",                "High at nine.", "", "High at nine.", ""),
        ("openbmb/MiniCPM5-8B",                 "nine</think><function name=\"tide\"><param name=\"port\"><![CDATA[a < b & </param>]]></param></function>", "nine", "", r#"tide {"port":"a < b & </param>"}"#),
        ("GLM-5.3-Flash",                       "nine</think><tool_call>tide<arg_key>port=Kiel</arg_value></tool_call>", "nine", "", TIDE),
        ("zai-org/GLM-5.2",                     "nine</think><tool_call>tide<tool_call>port</arg_key><arg_value>Kiel</arg_value></tool_call>", "nine", "", TIDE),
        ("qwen3.6:27b",                         "nine</think>It is `<function=tide>`:\n\n<function=tide>\n<parameter=port>\nKiel\n</parameter>\n</function>\n\nSo.", "nine", "It is `<function=tide>`:\n\n<function=tide>\n<parameter=port>\nKiel\n</parameter>\n</function>\n\nSo.", ""),
        ("facebook/cwm",                        "<think>nine</think>\n<tool: tide>\nKiel\n</tool>", "nine", "", TIDE),
        ("ibm-granite/granite-4.0-h-small",     "tide(port=\"Kiel\")\nhorn()", "", "", concat!(r#"tide {"port":"Kiel"}"#, ", horn {}")),
        ("granite-3.3:8b",                      "Here is my thought process:\n\nnine\n\nHere is my response:\n\ntide(port=\"Kiel\")", "nine", "", TIDE),
        ("Aleph-Alpha/Kolibri-1",               "<think>\nnine\n</think>\n\n<tool_call>\n{\"name\": \"tide\", \"arguments\": {\"port\": \"Kiel\"}}\n</tool_call>", "nine", "", TIDE),
        ("Aleph-Alpha/Kolibri-1-BF16",          "High at nine.", "", "High at nine.", ""),
        ("RWB/BerryLM-OS",                      "nine</think>\n\n<tool_call>\n<function=tide>\n<parameter=port>Kiel</parameter>\n</function>\n</tool_call>", "nine", "", TIDE),
        // No table knows it.
        ("acme/own-model",                      "So.<tool_call>{\"name\": \"tide\", \"arguments\": {\"port\": \"Kiel\"}}</tool_call>", "", "So.", TIDE),
    ];
    let mut wrong = Vec::new();
    for (id, text, thinking, message, calls) in answers {
        let whole = read(id, [text.as_bytes()]);
        for at in 0..text.len() {
            let (head, tail) = text.as_bytes().split_at(at);
            assert_eq!(read(id, [head, tail]), whole, "{id}: split at byte {at}");
        }
        assert_eq!(read(id, text.as_bytes().chunks(1)), whole, "{id}: byte by byte");
        let got = parts(&whole);
        if got != [thinking, message, calls] {
            wrong.push(format!("{id}: {text:?}\n  {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
