//! The loop in text mode with models of every family: its calls are run, and the results go back in
//! the form that the family knows.

use super::*;
use crate::Conversation;
use crate::{RunOutcome, config::CallMode, notice::CALLS_IN_TEXT, prompts::render_results};
use forgeline_parser::{
    CallForm, PayloadGrammar, ThinkingDialect, ToolDialect, private::MarkerEscaper,
};
use forgeline_types::{Capabilities, MessageRole, ModelInfo, ToolResult};

/// Dialect, a call of `echo` that says `one`, the result as it goes back.
type Family = (&'static str, &'static str, &'static str);

const FORGE: &str = "Results of the tool calls:\n\n\
                     <tool_result name=\"echo\" outcome=\"ok\">\none\n</tool_result>";
const TOOL_RESPONSE: &str = "<tool_response>\none\n</tool_response>";

#[rustfmt::skip]
const FAMILIES: &[Family] = &[
    ("forge", "<tool>{\"tool_name\":\"echo\",\"arguments\":{\"text\":\"one\"}}</tool>", FORGE),
    ("hermes", "<tool_call>\n{\"name\": \"echo\", \"arguments\": {\"text\": \"one\"}}\n</tool_call>", TOOL_RESPONSE),
    ("qwen3-coder", "<tool_call>\n<function=echo>\n<parameter=text>\none\n</parameter>\n</function>\n</tool_call>", TOOL_RESPONSE),
    ("glm", "<tool_call>echo\n<arg_key>text</arg_key>\n<arg_value>one</arg_value>\n</tool_call>", TOOL_RESPONSE),
    ("poolside", "<tool_call>echo<arg_key>text</arg_key><arg_value>one</arg_value></tool_call>", TOOL_RESPONSE),
    ("kimi-k2", "<|tool_calls_section_begin|><|tool_call_begin|>functions.echo:0<|tool_call_argument_begin|>{\"text\": \"one\"}<|tool_call_end|><|tool_calls_section_end|>", "## Return of functions.echo:0\none"),
    ("kimi-k3", "<|open|>tools<|sep|><|open|>call tool=\"echo\" index=\"1\"<|sep|><|open|>argument key=\"text\" type=\"string\"<|sep|>one<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>", FORGE),
    ("deepseek-v3", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>echo\n```json\n{\"text\": \"one\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>", "<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>one<｜tool▁output▁end｜><｜tool▁outputs▁end｜>"),
    ("deepseek-v31", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>echo<｜tool▁sep｜>{\"text\": \"one\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", "<｜tool▁output▁begin｜>one<｜tool▁output▁end｜>"),
    ("dsml", "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"echo\">\n<｜DSML｜parameter name=\"text\" string=\"true\">one</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>", "<tool_result>one</tool_result>"),
    ("llama3-json", "{\"name\": \"echo\", \"parameters\": {\"text\": \"one\"}}", FORGE),
    ("pythonic", "[echo(text=\"one\")]", FORGE),
    ("mistral", "[TOOL_CALLS]echo[ARGS]{\"text\": \"one\"}", "[TOOL_RESULTS]one[/TOOL_RESULTS]"),
    ("gemma4", "<|tool_call>call:echo{text:<|\"|>one<|\"|>}<tool_call|>", "<|tool_response>response:echo{value:<|\"|>one<|\"|>}<tool_response|>"),
    ("functiongemma", "<start_function_call>call:echo{text:<escape>one<escape>}<end_function_call>", "<start_function_response>response:echo{value:<escape>one<escape>}<end_function_response>"),
    ("harmony", "<|channel|>commentary to=functions.echo <|constrain|>json<|message|>{\"text\": \"one\"}<|call|>", FORGE),
    ("minimax-m2", "<minimax:tool_call>\n<invoke name=\"echo\">\n<parameter name=\"text\">one</parameter>\n</invoke>\n</minimax:tool_call>", "<response>one</response>"),
    ("minimax-m3", "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"echo\">]<]minimax[>[<text>one]<]minimax[>[</text>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>", "<response>one</response>"),
    ("cohere", "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"echo\", \"parameters\": {\"text\": \"one\"}}\n]<|END_ACTION|>", "<|START_TOOL_RESULT|>[\n{\"tool_call_id\": \"0\", \"results\": {\"0\": \"one\"}, \"is_error\": null}\n]<|END_TOOL_RESULT|>"),
    ("step3", "<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"echo\"><steptml:parameter name=\"text\">one</steptml:parameter></steptml:invoke><｜tool_call_end｜>\n<｜tool_calls_end｜>", "<｜tool_outputs_begin｜><｜tool_output_begin｜>one<｜tool_output_end｜><｜tool_outputs_end｜>"),
    ("internlm2", "<|action_start|><|plugin|>\n{\"name\": \"echo\", \"parameters\": {\"text\": \"one\"}}<|action_end|>", FORGE),
    ("phi4", "functools[{\"name\": \"echo\", \"arguments\": {\"text\": \"one\"}}]", FORGE),
    ("granite", "<|tool_call|>[{\"name\": \"echo\", \"arguments\": {\"text\": \"one\"}}]", FORGE),
    ("jamba", "<tool_calls>[\n{\"name\": \"echo\", \"arguments\": {\"text\": \"one\"}}\n]</tool_calls>", TOOL_RESPONSE),
    ("hunyuan", "<tool_calls>\n<tool_call>echo<tool_sep>\n<arg_key>text</arg_key>\n<arg_value>one</arg_value>\n</tool_call>\n</tool_calls>", "<tool_responses>\n<tool_response>\none\n</tool_response>\n</tool_responses>"),
    ("hy4", "<tool_calls><tool_call>echo<arg_key>text</arg_key><arg_value>one</arg_value></tool_call></tool_calls>", "<tool_responses>\n<tool_response>\none\n</tool_response>\n</tool_responses>"),
    ("seed-oss", "<seed:tool_call>\n<function=echo>\n<parameter=text>one</parameter>\n</function>\n</seed:tool_call>", FORGE),
    ("apertus", "<|tools_prefix|>[{\"echo\": {\"text\": \"one\"}}]<|tools_suffix|>", FORGE),
    ("nemotron", "<TOOLCALL>[{\"name\": \"echo\", \"arguments\": {\"text\": \"one\"}}]</TOOLCALL>", "<TOOL_RESPONSE>[\"one\"]</TOOL_RESPONSE>"),
    ("longcat", "<longcat_tool_call>\n{\"name\": \"echo\", \"arguments\": {\"text\": \"one\"}}\n</longcat_tool_call>", "<longcat_tool_response>one</longcat_tool_response>"),
    ("gigachat3", "<|function_call|>{\"name\": \"echo\", \"arguments\": {\"text\": \"one\"}}", FORGE),
    ("ernie45", "<tool_call>\n{\"name\": \"echo\", \"arguments\": {\"text\": \"one\"}}\n</tool_call>\n", TOOL_RESPONSE),
    ("xlam", "[{\"name\": \"echo\", \"arguments\": {\"text\": \"one\"}}]", FORGE),
    ("olmo3", "<function_calls>echo(text=\"one\")</function_calls>", FORGE),
    ("dots", "<dots_function_call>\n<invoke name=\"echo\">\n<parameter name=\"text\">one</parameter>\n</invoke>\n</dots_function_call>", FORGE),
    ("minicpm5", "<function name=\"echo\"><param name=\"text\">one</param></function>", TOOL_RESPONSE),
    ("iquest", "<iquest_tool_call>echo<arg_key>text</arg_key><arg_value>one</arg_value></iquest_tool_call>", FORGE),
    ("k2-horizon", "<ifm|tool_calls>\n<ifm|tool_call>echo\n<ifm|arg_key>text</ifm|arg_key>\n<ifm|arg_value>one</ifm|arg_value>\n</ifm|tool_call>\n</ifm|tool_calls>", FORGE),
    ("sarashina", "<|tool_calls|>[{'name': 'echo', 'arguments': {'text': 'one'}}]", FORGE),
    ("plamo3", "<|plamo:begin_tool_requests:plamo|><|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>echo<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>{\"text\": \"one\"}<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|><|plamo:end_tool_requests:plamo|>", FORGE),
    ("inkling", "echo<|content_invoke_tool_json|>{\"name\":\"echo\",\"args\":{\"text\":\"one\"}}", FORGE),
    ("muse", " to=echo<|message|><atem:function_calls>\n<atem:invoke name=\"echo\">\n<atem:parameter name=\"text\">one</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eot|>", "<tool_output name=\"echo\">\none\n</tool_output>"),
    ("hugind", "<tool_call>{\"name\": \"echo\", \"args\": {\"text\": \"one\"}}</tool_call>", "Tool results:\n\n[echo] one"),
    ("guided", "[{\"name\": \"echo\", \"parameters\": {\"text\": \"one\"}}]", FORGE),
];

/// `text` in chunks of three characters.
fn turn(text: &str) -> ScriptedTurn {
    let letters: Vec<_> = text.chars().collect();
    letters.chunks(3).fold(ScriptedTurn::new(), |turn, part| turn.text(String::from_iter(part)))
}

/// Runs `call` in text mode; it and the result `result` are in the history, the dialect's example in
/// the system prompt.
async fn check_family(dialect: ToolDialect, call: &str, result: &str) {
    let (name, example) = (dialect.name(), dialect.example().trim_matches('\n'));
    let provider = ScriptedProvider::new([turn(call), turn("Done.")]);
    let agent = builder(&provider)
        .call_mode(CallMode::Text)
        .tool_dialect(dialect)
        .build()
        .unwrap()
        .conversation();
    let outcome = agent.run("Go.").await.unwrap();
    assert_eq!((outcome.text.as_str(), outcome.turns), ("Done.", 2), "{name}");
    let requests = provider.requests();
    let system = requests[0].system.as_ref().unwrap();
    assert!(name == "forge" || system.contains(example), "{name}: {system}");
    let history = requests[1].messages.messages();
    assert_eq!(history.len(), 3, "{name}");
    assert_eq!(history[1].text(), *call, "{name}: the call is kept as it was written");
    assert_eq!(history[2].role, MessageRole::User, "{name}");
    assert_eq!(history[2].text(), *result, "{name}");
}

#[tokio::test(start_paused = true)]
async fn every_familys_call_runs_and_its_result_goes_back_as_the_family_writes_it() {
    let mut ran = 0;
    for (name, call, result) in FAMILIES {
        let Some(dialect) = ToolDialect::by_name(name) else { continue };
        check_family(dialect, call, result).await;
        ran += 1;
    }
    assert_eq!(ran, 44);
}

/// A new entry needs no row above: its example, with the name and the value of the rows, is its call.
#[tokio::test(start_paused = true)]
async fn every_entrys_example_is_a_call_that_runs() {
    let known = |dialect: &ToolDialect| FAMILIES.iter().any(|(name, ..)| *name == dialect.name());
    for dialect in ToolDialect::all().into_iter().skip(2) {
        let call = dialect.example().replace("calculator", "echo").replace("expression", "text");
        let call = call.replace("6 * 7", "one");
        assert_ne!(call, dialect.example(), "{}: calls calculator", dialect.name());
        if !known(&dialect) {
            let neutral = MarkerEscaper::new(&dialect, &ThinkingDialect::AUTO);
            let results = [ToolResult::new("call_0", "echo", "one")];
            let result = render_results(&dialect, &neutral, &results);
            check_family(dialect, &call, &result).await;
        }
    }
}

// Covers: G-36
#[tokio::test(start_paused = true)]
async fn the_models_name_picks_the_form_unless_the_user_does() {
    let named = |model| ModelInfo::new("test", model).capabilities(Capabilities::default());
    #[rustfmt::skip]
    let cases = [
        ("unknown",        None,                     "forge"),
        ("Qwen/Qwen3-8B",  None,                     "hermes"),
        ("Qwen/Qwen3-8B",  Some(ToolDialect::FORGE), "forge"),
    ];
    for (model, chosen, family) in cases {
        let Some(dialect) = ToolDialect::by_name(family) else { continue };
        let (_, call, result) = FAMILIES.iter().find(|(name, ..)| *name == family).unwrap();
        let provider = ScriptedProvider::new([turn(call), turn("Done.")]).info_of(named(model));
        let mut builder = builder(&provider);
        if let Some(chosen) = chosen {
            builder = builder.tool_dialect(chosen);
        }
        builder.build().unwrap().conversation().run("Go.").await.unwrap();
        let requests = provider.requests();
        assert_eq!(requests[1].messages.last().unwrap().text(), *result, "{model}");
        let has_example = requests[0].system.as_ref().unwrap().contains(dialect.example());
        assert_eq!(has_example, family != "forge", "{model}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_dialect_of_ones_own_is_shown_to_the_model_and_drives_the_loop() {
    const CALL: &str = "§§do echo <- {\"text\": \"one\"}§§done";
    const EXAMPLE: &str = "§§do clock <- {\"zone\": \"UTC\"}§§done";
    let dialect = ToolDialect::builder("sections")
        .example(EXAMPLE)
        .calls(&[CallForm::new("§§do ", "§§done", PayloadGrammar::name_then_json("<-"))])
        .build()
        .unwrap();
    let provider = ScriptedProvider::new([turn(CALL), turn("Done.")]);
    let agent = builder(&provider).call_mode(CallMode::Text).tool_dialect(dialect);
    let outcome = agent.build().unwrap().conversation().run("Go.").await.unwrap();
    assert_eq!((outcome.text.as_str(), outcome.turns), ("Done.", 2));
    let requests = provider.requests();
    let system = requests[0].system.as_ref().unwrap();
    let told = "This example calls `clock` with the arguments `{\"zone\":\"UTC\"}`";
    assert!(system.contains(told) && system.contains(EXAMPLE), "{system}");
    assert_eq!(requests[1].messages.last().unwrap().text(), FORGE);
}

async fn streamed(agent: &Conversation) -> (Vec<Envelope>, RunOutcome) {
    let (mut stream, mut events) = (agent.run_stream("Go."), Vec::new());
    to_the_end(&mut stream, &mut events).await;
    (events, stream.outcome().await.unwrap())
}

// Rows: N-38
#[tokio::test(start_paused = true)]
async fn that_the_calls_of_an_unknown_model_come_in_its_text_is_told_once() {
    // Bare forms, and those of a family alone, are text for a model that is not known.
    let others = [
        "llama3-json",
        "pythonic",
        "xlam",
        "guided",
        "inkling",
        "qwen25-coder",
        "rwkv",
        "telechat4",
        "step-audio2",
        "pangu",
        "hyperclovax",
        "granite4",
        "cwm",
    ];
    let in_auto = |family: &&Family| !others.contains(&family.0);
    let unknown = |is_left| {
        ModelInfo::new("test", "my-model").capabilities(Capabilities::ALL).text_calls(is_left)
    };
    let mut read = 0;
    for (name, call, _) in FAMILIES.iter().filter(in_auto) {
        let turns = [turn(call), turn("Done."), turn(call), turn("Again.")];
        let provider = ScriptedProvider::new(turns).info_of(unknown(true));
        let agent = builder(&provider).build().unwrap().conversation();
        for (want, times) in [("Done.", 1), ("Again.", 0)] {
            let (events, outcome) = streamed(&agent).await;
            assert_eq!(outcome.text, want, "{name}");
            let told = events.iter().filter_map(|envelope| match &envelope.event {
                AgentEvent::Custom(CustomEvent { name, data, .. }) if name == CALLS_IN_TEXT => {
                    Some(data.clone())
                }
                _ => None,
            });
            let told: Vec<_> = told.collect();
            assert_eq!(
                told,
                vec![json!({ "model": "my-model", "dialect": "auto" }); times],
                "{name}"
            );
        }
        assert!(!provider.requests()[0].tools.is_empty(), "{name}: native");
        read += 1;
    }
    assert!(read > 20, "{read} families");
    // A known model, a dialect that was chosen, and calls that are not text.
    let known = ModelInfo::new("test", "Qwen/Qwen3-8B").capabilities(Capabilities::ALL);
    let hermes = FAMILIES.iter().find(|(name, ..)| *name == "hermes").unwrap().1;
    let scripted =
        |turn, info| ScriptedProvider::new([turn, ScriptedTurn::new().text("Done.")]).info_of(info);
    let native = ScriptedTurn::new().call("echo", json!({ "text": "one" }));
    let quiet = [
        builder(&scripted(turn(hermes), known.text_calls(true))),
        builder(&scripted(turn(hermes), unknown(true)))
            .tool_dialect(ToolDialect::by_name("hermes").unwrap()),
        builder(&scripted(native, unknown(true))),
    ];
    for agent in quiet {
        let (events, outcome) = streamed(&agent.build().unwrap().conversation()).await;
        assert_eq!((outcome.text.as_str(), outcome.turns), ("Done.", 2));
        assert!(!kinds(&events).iter().any(|kind| kind.starts_with(CALLS_IN_TEXT)));
    }
}

// Found: F2
// Rows: N-38
#[tokio::test(start_paused = true)]
async fn a_call_that_a_server_left_in_the_text_is_a_call_in_native_mode() {
    let (_, call, _) = FAMILIES.iter().find(|(name, ..)| *name == "hermes").unwrap();
    let info = |model, left| {
        ModelInfo::new("test", model).capabilities(Capabilities::ALL).text_calls(left)
    };
    #[rustfmt::skip]
    let cases = [
        ("a server that is not the vendor's", info("Qwen/Qwen3-8B", true),  true),
        ("the vendor's own",                  info("Qwen/Qwen3-8B", false), false),
        ("a model that nobody knows",         info("my-model", true),       true),
        ("that model at the vendor's",        info("my-model", false),      false),
    ];
    let llama = || info("meta-llama/Llama-3.1-8B-Instruct", true);
    let offered = r#"{"name": "echo", "parameters": {"text": "one"}}"#;
    for (text, is_call) in [(offered, true), (&*offered.replace("echo", "Bob"), false)] {
        let provider = ScriptedProvider::new([turn(text), turn("Done.")]).info_of(llama());
        let outcome = builder(&provider).build().unwrap().conversation().run("Go.").await.unwrap();
        let want = if is_call { ("Done.", 2) } else { (text, 1) };
        assert_eq!((outcome.text.as_str(), outcome.turns), want, "{text}");
    }
    for (name, info, is_call) in cases {
        let provider = ScriptedProvider::new([turn(call), turn("Done.")]).info_of(info);
        let outcome = builder(&provider).build().unwrap().conversation().run("Go.").await.unwrap();
        if !is_call {
            assert_eq!((outcome.text.as_str(), outcome.turns), (*call, 1), "{name}");
            continue;
        }
        assert_eq!((outcome.text.as_str(), outcome.turns), ("Done.", 2), "{name}");
        let requests = provider.requests();
        assert!(!requests[0].tools.is_empty() && requests[0].system.is_none(), "{name}: native");
        let [_, answer, result] = requests[1].messages.messages() else { panic!("{name}") };
        assert_eq!((answer.text().as_str(), answer.tool_calls().count()), ("", 1), "{name}");
        let (call, result) = (answer.tool_calls().next(), result.tool_results().next());
        assert_eq!(call.unwrap().id, result.unwrap().call_id, "{name}");
    }
}
