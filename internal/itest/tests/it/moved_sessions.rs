//! A session that moves in the middle of a tool loop: to another protocol, model or endpoint. What one of
//! them has signed goes back to it, and to no other.

use std::sync::Arc;

use forgeline::{
    agent::notice::Notice,
    llm::{
        Failover, Provider, Request, RetryPolicy,
        anthropic::Messages,
        cohere::ChatV2,
        collect,
        gemini::GenerateContent,
        http::{HttpBuilder, HttpProvider, WireFormat},
        ollama::OllamaChat,
        openai::ChatCompletions,
        responses::Responses,
    },
    types::{Message, MessageRole, Part, ToolResult, Transcript},
};
use forgeline_testkit::canned::Canned;
use futures_util::StreamExt as _;

/// How a provider is built at an address, for a model.
type Build = fn(&str, &str, Arc<Canned>) -> Arc<dyn Provider>;

/// The protocols, each with an answer that calls a tool; `PROOF` represents the signature.
const PROTOCOLS: [(Build, &str); 6] = [
    (
        build::<Messages>,
        r#"{"type":"message","role":"assistant","stop_reason":"tool_use","content":[{"type":"thinking","thinking":"Hm.","signature":"PROOF"},{"type":"redacted_thinking","data":"PROOF"},{"type":"tool_use","id":"t1","name":"trees","input":{"at":1},"caller":{"type":"code","id":"PROOF"}}]}"#,
    ),
    (
        build::<GenerateContent>,
        "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"Hm.\",\"thought\":true,\"thoughtSignature\":\"PROOF\"},{\"functionCall\":{\"name\":\"trees\",\"args\":{\"at\":1},\"id\":\"t1\"},\"thoughtSignature\":\"PROOF\"}]},\"finishReason\":\"STOP\"}]}\n\n",
    ),
    (
        build::<Responses>,
        r#"{"object":"response","status":"completed","output":[{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"PROOF"},{"type":"function_call","id":"fc","call_id":"t1","name":"trees","arguments":"{\"at\":1}","status":"completed","caller":{"type":"program","id":"PROOF"}}]}"#,
    ),
    (
        build::<ChatCompletions>,
        r#"{"choices":[{"message":{"content":"","reasoning_details":[{"type":"reasoning.encrypted","data":"PROOF"}],"tool_calls":[{"id":"t1","type":"function","extra_content":{"google":{"thought_signature":"PROOF"}},"function":{"name":"trees","arguments":"{\"at\":1}"}}]},"finish_reason":"tool_calls"}]}"#,
    ),
    (
        build::<OllamaChat>,
        "{\"message\":{\"role\":\"assistant\",\"content\":\"\",\"thinking\":\"Hm.\",\"tool_calls\":[{\"id\":\"t1\",\"function\":{\"name\":\"trees\",\"arguments\":{\"at\":1}}}]},\"done\":true,\"done_reason\":\"stop\"}\n",
    ),
    (
        build::<ChatV2>,
        r#"{"id":"1","message":{"role":"assistant","tool_plan":"Hm.","tool_calls":[{"id":"t1","type":"function","function":{"name":"trees","arguments":"{\"at\":1}"}}]},"finish_reason":"TOOL_CALL"}"#,
    ),
];

/// Addresses, here with a key where it is not the same, and models.
const PLACES: [(&str, &str); 4] = [
    ("http://one", "model-a"),
    ("http://one", "model-b"),
    ("http://two", "model-a"),
    ("http://one?api_key=other", "model-a"),
];

fn build<W: WireFormat>(url: &str, model: &str, server: Arc<Canned>) -> Arc<dyn Provider> {
    let (url, key) = url.split_once("?api_key=").unwrap_or((url, "k"));
    let builder = HttpProvider::<W>::builder().base_url(url).model(model).api_key(key);
    Arc::new(builder.retry(RetryPolicy::NONE).transport(server).build().unwrap())
}

/// A provider, its server and the proof in its answers.
struct Side {
    provider: Arc<dyn Provider>,
    server: Arc<Canned>,
    proof: String,
    signs: bool,
}

fn sides() -> Vec<Side> {
    let mut sides = Vec::new();
    for (at, (build, answer)) in PROTOCOLS.iter().enumerate() {
        for (place, (url, model)) in PLACES.iter().enumerate() {
            let proof = format!("PROOF-{at}-{place}-");
            let server = Canned::new(answer.replace("PROOF", &proof));
            let provider = build(url, model, Arc::clone(&server));
            sides.push(Side { provider, server, proof, signs: answer.contains("PROOF") });
        }
    }
    sides
}

/// Asks a side; returns its answer, what it was sent, and whether it reported that something is left out.
async fn ask(side: &Side, history: &Transcript) -> (Message, String, bool) {
    let request = Request::new(history.clone());
    let chunks: Vec<_> = side.provider.stream_completion(request).await.unwrap().collect().await;
    let details = chunks.iter().flatten().filter_map(|chunk| chunk.details.as_deref());
    let reports = details
        .flat_map(|details| &details.events)
        .any(|event| matches!(Notice::read(event), Some(Notice::Degraded(_))));
    let answer = collect(futures_util::stream::iter(chunks)).await.unwrap().into_message();
    let sent = String::from_utf8(side.server.segments().concat()).unwrap();
    (answer, sent, reports)
}

fn result() -> Message {
    Message::new(MessageRole::Tool, vec![Part::ToolResult(ToolResult::new("t1", "trees", "two"))])
}

// Found: V16
#[tokio::test]
async fn what_one_side_signed_goes_to_no_other_whatever_moves() {
    let sides = sides();
    let start = Transcript::from(vec![Message::user("Which trees?")]);
    let mut begun = Vec::new();
    for side in &sides {
        let (answer, ..) = ask(side, &start).await;
        let mut history = start.clone();
        history.extend([answer, result()]);
        begun.push(history);
    }
    for (from, history) in sides.iter().zip(&begun) {
        for to in &sides {
            let is_same = from.proof == to.proof;
            let way = format!("from {} to {}", from.proof, to.proof);
            let (answer, sent, reports) = ask(to, history).await;
            assert_eq!(sent.contains(&from.proof), is_same && from.signs, "{way}: {sent}");
            assert_eq!(reports, !is_same && from.signs, "{way}");
            assert!(sent.contains("trees") && sent.contains("two"), "{way}: {sent}");
            // It comes back, and so does what was signed.
            let mut history = history.clone();
            history.extend([answer, result()]);
            let (_, sent, reports) = ask(from, &history).await;
            assert_eq!(sent.contains(&from.proof), from.signs, "back {way}: {sent}");
            assert_eq!(sent.contains(&to.proof), is_same && to.signs, "back {way}: {sent}");
            assert_eq!(reports, !is_same && to.signs, "back {way}");
        }
    }
    // Written to a file and read again, it is the same.
    let (from, history) = (&sides[0], &begun[0]);
    let kept = serde_json::to_string(history).unwrap();
    let read: Transcript = serde_json::from_str(&kept).unwrap();
    assert!(ask(from, &read).await.1.contains(&from.proof));
    assert!(!ask(&sides[1], &read).await.1.contains(&from.proof));
}

// Found: V16
#[tokio::test]
async fn a_chain_sends_no_proof_to_the_entry_that_takes_over() {
    let start = Transcript::from(vec![Message::user("Which trees?")]);
    for (at, (build, answer)) in PROTOCOLS.iter().enumerate() {
        let signs = answer.contains("PROOF");
        let side = |url: &str, model: &str, server: Arc<Canned>| {
            let provider = build(url, model, Arc::clone(&server));
            Side { provider, server, proof: String::new(), signs }
        };
        let (answered, ..) = ask(&side("http://one", "m", Canned::new(*answer)), &start).await;
        let mut history = start.clone();
        history.extend([answered, result()]);
        for (url, model) in [("http://two", "m"), ("http://one", "n"), PLACES[3]] {
            let out = side("http://one", "m", Canned::status(503, "{}"));
            let backup = side(url, model, Canned::new(*answer));
            let chain = Failover::new(Arc::clone(&out.provider)).then("backup", backup.provider);
            let chain = Side {
                provider: chain.into_provider(),
                server: backup.server,
                proof: String::new(),
                signs,
            };
            let (_, sent, reports) = ask(&chain, &history).await;
            let asked = String::from_utf8(out.server.segments().concat()).unwrap();
            assert_eq!(asked.contains("PROOF"), signs, "{at}: {asked}");
            assert!(!sent.contains("PROOF") && sent.contains("two"), "{at} to {url}: {sent}");
            assert_eq!(reports, signs, "{at} to {url} {model}");
        }
    }
}

/// A call that is streamed, and the place of the code after it.
const CONTAINER_AT_THE_END: &str = concat!(
    "data: {\"type\":\"message_start\",\"message\":{\"role\":\"assistant\",\"content\":[]}}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"trees\",\"input\":{}}}\n\n",
    "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\",\"container\":{\"id\":\"BOX\"}}}\n\n",
    "data: {\"type\":\"message_stop\"}\n\n",
);

/// An answer, and its parts in the next request.
type Returned = (Build, &'static str, &'static [&'static str]);

// Found: V2, V3, V9, V11, V12
#[tokio::test]
async fn what_a_vendor_wants_back_is_in_the_next_request() {
    #[rustfmt::skip]
    let cases: [Returned; 8] = [
        (build::<ChatCompletions>, r#"{"choices":[{"message":{"content":"","reasoning_text":"Hm.","reasoning_opaque":"PROOF","tool_calls":[{"id":"t1","type":"function","function":{"name":"trees","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#, &[r#""reasoning_opaque":"PROOF""#, r#""reasoning_text":"Hm.""#]),
        (build::<ChatCompletions>, r#"{"choices":[{"message":{"content":"","tool_calls":[{"id":"t1","type":"custom","custom":{"name":"trees","input":"oak, ash"}}]},"finish_reason":"tool_calls"}]}"#, &[r#""type":"custom""#, r#""input":"oak, ash""#]),
        (build::<ChatCompletions>, r#"{"choices":[{"message":{"content":"","tool_calls":[{"id":"t1","type":"function","extra_content":{"google":{"thought_signature":"PROOF"}},"function":{"name":"trees","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#, &[r#""extra_content":{"google":{"thought_signature":"PROOF"}}"#]),
        (build::<ChatCompletions>, r#"{"choices":[{"message":{"content":"","thinking_blocks":[{"type":"thinking","thinking":"Hm.","signature":"PROOF"}],"tool_calls":[{"id":"t1","type":"function","function":{"name":"trees","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#, &[r#""thinking_blocks":[{"#, r#""signature":"PROOF""#]),
        (build::<Responses>, r#"{"object":"response","status":"completed","output":[{"type":"function_call","id":"fc","call_id":"t1","name":"trees","arguments":"{}","status":"completed","caller":{"type":"program","id":"PROOF"}}]}"#, &[r#""caller":{"#, r#""id":"PROOF""#]),
        (build::<Messages>, r#"{"type":"message","role":"assistant","stop_reason":"tool_use","container":{"id":"BOX","expires_at":"2026"},"content":[{"type":"tool_use","id":"t1","name":"trees","input":{}}]}"#, &[r#""container":"BOX""#]),
        (build::<Messages>, r#"{"type":"message","role":"assistant","stop_reason":"tool_use","container":{"id":"BOX","expires_at":"2026"},"content":[{"type":"tool_use","id":"t1","name":"trees","input":{},"caller":{"type":"code","tool_id":"s1"}}]}"#, &[r#""container":"BOX""#, r#""tool_id":"s1""#]),
        (build::<Messages>, CONTAINER_AT_THE_END, &[r#""container":"BOX""#]),
    ];
    let start = Transcript::from(vec![Message::user("Which trees?")]);
    for (build, answer, wanted) in cases {
        let server = Canned::new(answer);
        let provider = build("http://one", "m", Arc::clone(&server));
        let side = Side { provider, server, proof: String::new(), signs: true };
        let (answered, ..) = ask(&side, &start).await;
        let mut history = start.clone();
        history.extend([answered, result()]);
        let (_, sent, _) = ask(&side, &history).await;
        for part in wanted {
            assert!(sent.contains(part), "{part} is not in {sent}");
        }
    }
}

// Found: V16
#[tokio::test]
async fn gemini_3_gets_a_word_for_the_signature_that_a_call_of_others_lacks() {
    let word = r#""thoughtSignature":"skip_thought_signature_validator""#;
    let anthropic = &sides()[0];
    let mut history = Transcript::from(vec![Message::user("Which trees?")]);
    let (answer, ..) = ask(anthropic, &history).await;
    history.extend([answer, result()]);
    let (build, answer) = PROTOCOLS[1];
    for (model, want) in [
        ("gemini-3-pro-preview", true),
        ("models/gemini-3.5-flash", true),
        ("gemini-10", true),
        ("gemini-2.5-pro", false),
        ("gemini-flash-latest", false),
        ("gemma-3", false),
    ] {
        let server = Canned::new(answer);
        let provider = build("http://g", model, Arc::clone(&server));
        let side = Side { provider, server, proof: String::new(), signs: true };
        let (own, sent, _) = ask(&side, &history).await;
        assert_eq!(sent.contains(word), want, "{model}: {sent}");
        let start = Transcript::from(vec![Message::user("x"), own, result()]);
        let (_, sent, _) = ask(&side, &start).await;
        assert!(sent.contains("PROOF") && !sent.contains(word), "{model}: {sent}");
    }
}

// Found: V16
#[tokio::test]
async fn an_account_is_known_by_its_key_or_by_the_name_that_it_is_given() {
    type Account = HttpBuilder<ChatCompletions>;
    fn openai() -> HttpBuilder<ChatCompletions> {
        HttpProvider::builder().base_url("http://one").model("m").retry(RetryPolicy::NONE)
    }
    let (_, answer) = PROTOCOLS[3];
    let side = |builder: HttpBuilder<ChatCompletions>| {
        let server = Canned::new(answer);
        let provider = Arc::new(builder.transport(Arc::clone(&server)).build().unwrap());
        Side { provider, server, proof: String::new(), signs: true }
    };
    #[rustfmt::skip]
    let pairs: [(&str, Account, Account, bool); 7] = [
        ("the same key",        openai().api_key("key-one"),                openai().api_key("key-one"),           true),
        ("another key",         openai().api_key("key-one"),                openai().api_key("key-two"),           false),
        ("a header's key",      openai().header("api-key", "key-one"),      openai().header("api-key", "key-two"), false),
        ("a project's header",  openai().api_key("k").header("OpenAI-Project", "a"), openai().api_key("k").header("OpenAI-Project", "b"), false),
        ("other headers",       openai().api_key("k").header("x-title", "a"), openai().api_key("k").header("x-title", "b"), true),
        ("a key, then none",    openai().api_key("key-one"),                openai(),                          true),
        ("two keys, one name",  openai().api_key("key-one").account("acme"), openai().api_key("key-two").account("acme"), true),
    ];
    for (name, one, other, is_same) in pairs {
        let (one, other) = (side(one), side(other));
        let mut history = Transcript::from(vec![Message::user("Which trees?")]);
        let (answered, ..) = ask(&one, &history).await;
        history.extend([answered, result()]);
        let kept = serde_json::to_string(&history).unwrap();
        assert!(!kept.contains("key-"), "{name}: {kept}");
        let read: Transcript = serde_json::from_str(&kept).unwrap();
        let (_, sent, reports) = ask(&other, &read).await;
        assert_eq!((sent.contains("PROOF"), reports), (is_same, !is_same), "{name}: {sent}");
        assert!(ask(&one, &read).await.1.contains("PROOF"), "{name}: back");
    }
}
