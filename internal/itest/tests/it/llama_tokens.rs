//! Counts of tokens beside those of llama.cpp's own server, with the vocabulary o200k.

use std::{fmt::Write as _, path::Path};

use forgeline::{
    llm::{Request, TokenEstimator},
    types::{Message, UsageInfo},
};
use forgeline_testkit::llama::LlamaServer;
use serde_json::{Value, json};
use tiktoken_rs::o200k_base_singleton;

/// Starts a server with the vocabulary that is compiled in with the feature `tokenizer`.
fn start(name: &str) -> Option<LlamaServer> {
    let words = o200k_base_singleton();
    let mut lines = String::new();
    for token in 0..199_998 {
        for byte in words._decode_native_and_split(vec![token]).flatten() {
            write!(lines, "{byte:02x}").unwrap();
        }
        lines.push('\n');
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("llama").join(name);
    LlamaServer::with_vocabulary(&folder, &lines)
}

/// The number of tokens by the server.
async fn counted(server: &LlamaServer, text: &str) -> u64 {
    let url = server.base_url.replace("/v1", "/tokenize");
    let body = json!({ "content": text, "add_special": false }).to_string();
    let answer = reqwest::Client::new().post(url).body(body).send().await.unwrap();
    let answer: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    answer["tokens"].as_array().unwrap().len() as u64
}

/// Texts of our own that no cost of the estimator was settled with.
const TEXTS: [(&str, &str); 8] = [
    (
        "prose",
        "The bridge was built in the autumn, when the water stood low enough to see the old piers. For \
         three weeks the carts went round by the mill, and the miller, who had never liked visitors, learned \
         the names of forty horses. On the day it opened, an old woman crossed first, turned at the far end, \
         and said that it was narrower than she had been told. Nobody had measured it since.",
    ),
    (
        "code",
        r#"async fn deliver(queue: &mut Receiver<Parcel>, limit: Duration) -> Result<usize, QueueError> {
    let mut count = 0;
    while let Some(parcel) = queue.recv().await {
        match timeout(limit, send(&parcel.address, parcel.weight_kg)).await {
            Ok(Ok(())) => count += 1,
            Ok(Err(error)) if error.is_transient() => queue.put_back(parcel)?,
            Ok(Err(error)) => return Err(QueueError::Refused { id: parcel.id, error }),
            Err(_elapsed) => tracing::warn!(id = parcel.id, "the parcel took too long"),
        }
    }
    Ok(count)
}"#,
    ),
    (
        "JSON",
        r#"{"route":{"id":"r-2087","stops":[{"name":"North Gate","lat":52.5163,"lon":13.3777,"minutes":0},{"name":"Old Market","lat":52.5219,"lon":13.4132,"minutes":14},{"name":"Harbour","lat":52.5031,"lon":13.4407,"minutes":31}],"vehicle":{"kind":"tram","seats":84,"accessible":true},"delays":[],"notes":null},"updated_at":"2026-02-11T06:40:00Z"}"#,
    ),
    (
        "Cyrillic",
        "Мост построили осенью, когда вода стояла низко и были видны старые опоры. Три недели телеги ездили в \
         объезд через мельницу, и мельник, который никогда не любил гостей, выучил имена сорока лошадей. В день \
         открытия первой перешла старая женщина, обернулась и сказала, что он уже, чем ей обещали.",
    ),
    (
        "Greek",
        "Η γέφυρα χτίστηκε το φθινόπωρο, όταν το νερό ήταν χαμηλό και φαίνονταν οι παλιές κολόνες. Τρεις \
         εβδομάδες τα κάρα περνούσαν από τον μύλο, και ο μυλωνάς, που δεν αγαπούσε τους επισκέπτες, έμαθε τα ονόματα \
         σαράντα αλόγων.",
    ),
    (
        "Chinese",
        "这座桥是秋天修建的，那时水位很低，可以看见旧的桥墩。整整三个星期，马车都要绕道磨坊，从来不喜欢客人的磨坊主记住了四十匹马的名字。通车那天，一位老妇人第一个走过，在桥的另一头转过身来，说它比别人告诉她的要窄。",
    ),
    (
        "Japanese",
        "橋は秋に建てられた。水が低く、古い橋脚が見えるころだった。三週間のあいだ荷車は水車小屋を回り、客の嫌いな粉屋は四十頭の馬の名前を覚えた。開通の日、最初に渡った老婆は向こう側で振り返り、聞いていたより狭いと言った。",
    ),
    (
        "Arabic",
        "بني الجسر في الخريف عندما كان الماء منخفضا وظهرت الأعمدة القديمة. ظلت العربات ثلاثة أسابيع تمر من جهة \
         الطاحونة، وتعلم الطحان الذي لم يحب الزوار قط أسماء أربعين حصانا. في يوم الافتتاح عبرت امرأة عجوز أولا ثم \
         التفتت وقالت إنه أضيق مما قيل لها.",
    ),
];

/// A text whose vowels are marks behind their letters. The vocabulary has them in one word; the server's way to find
/// words parts them, and counts nearly twice as many.
const MARKS: &str = "पुल शरद ऋतु में बना, जब पानी इतना कम था कि पुराने खंभे दिखते थे। तीन सप्ताह तक गाड़ियाँ चक्की के रास्ते से \
         जाती रहीं, और चक्की वाले ने, जिसे मेहमान कभी पसंद नहीं थे, चालीस घोड़ों के नाम सीख लिए।";

// Covers: G-46, G-48
#[tokio::test]
async fn estimates_are_within_a_quarter_of_the_server_s_own_tokenizer() {
    let Some(server) = start("tokens") else { return };
    let (estimator, exact) = (TokenEstimator::new(), TokenEstimator::exact("gpt-4.1").unwrap());
    let exact_count = exact.text(MARKS);
    let estimated = estimator.text(MARKS);
    assert!(estimated.abs_diff(exact_count) * 4 <= exact_count, "{estimated} of {exact_count}");
    let mut lines = String::new();
    for (name, text) in TEXTS {
        let count = counted(&server, text).await;
        let (estimated, own) = (estimator.text(text), exact.text(text));
        assert!(count > 40, "{name}: {count}");
        assert!(estimated.abs_diff(count) * 4 <= count, "{name}: {estimated} instead of {count}");
        assert_eq!(own, count, "{name}: the exact count");
        write!(lines, " {name} {estimated} of {count},").unwrap();
    }
    forgeline_testkit::say(format!("tokens beside llama.cpp's:{lines} within a quarter"));
}

/// A report of the server for one text brings the estimates of others of its kind near.
#[tokio::test]
async fn a_report_of_the_server_brings_estimates_nearer() {
    let Some(server) = start("calibrated") else { return };
    let request = |text: &str| Request::new([Message::user(text)].into_iter().collect());
    for (name, text) in TEXTS {
        let half = text.ceil_char_boundary(text.len() / 2);
        let (first, second) = text.split_at(half);
        let mut estimator = TokenEstimator::new();
        let mut usage = UsageInfo::default();
        usage.input_tokens = Some(counted(&server, first).await);
        estimator.calibrate(&request(first), &usage);
        let (estimated, count) =
            (estimator.request(&request(second)), counted(&server, second).await);
        assert!(estimated.abs_diff(count) * 4 <= count, "{name}: {estimated} instead of {count}");
    }
}
