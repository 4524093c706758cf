use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use bytes::Bytes;
use futures_core::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::replay::ReplayTransport;
use forgeline_llm::{
    private::SecretRedactor,
    transport::{HttpRequest, HttpResponse, Transport, TransportError},
};

/// A file of one test; it is removed with this value.
struct File(PathBuf);

impl File {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        Self(std::env::temp_dir().join(format!("forgeline-record-{process}-{count}.jsonl")))
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.0).unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok();
    }
}

type Piece = Result<Bytes, TransportError>;

/// Gives one response: these pieces after this head, or this error.
struct Once(Mutex<Option<Result<HttpResponse, TransportError>>>);

impl Once {
    fn new(status: u16, pieces: Vec<Piece>) -> Self {
        Self::head(HttpResponse::new(status, Box::pin(stream::iter(pieces))))
    }

    fn head(response: HttpResponse) -> Self {
        Self(Mutex::new(Some(Ok(response))))
    }
}

impl Transport for Once {
    fn send(&self, _: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, TransportError>> {
        let response = self.0.lock().unwrap().take();
        async move { response.unwrap() }.boxed()
    }
}

/// Never answers.
struct Silent;

impl Transport for Silent {
    fn send(&self, _: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, TransportError>> {
        std::future::pending().boxed()
    }
}

fn pieces(pieces: &[&[u8]]) -> Vec<Piece> {
    pieces.iter().map(|piece| Ok(Bytes::copy_from_slice(piece))).collect()
}

fn request(body: &str) -> HttpRequest {
    let request = HttpRequest::new("POST", "http://h/v1/chat/completions");
    request.body(vec![Bytes::copy_from_slice(body.as_bytes())])
}

fn broken() -> TransportError {
    TransportError::broken("reset")
}

/// What a transport gave: the status and pieces, and whether the body broke.
async fn play(transport: &impl Transport, request: HttpRequest) -> (u16, Vec<Bytes>, bool) {
    let mut response = transport.send(request).await.unwrap();
    let (mut read, mut is_broken) = (Vec::new(), false);
    while let Some(piece) = response.body.next().await {
        match piece {
            Ok(bytes) => read.push(bytes),
            Err(_) => is_broken = true,
        }
    }
    (response.status, read, is_broken)
}

#[tokio::test]
async fn an_exchange_is_written_as_it_was() {
    let file = File::new();
    let response =
        HttpResponse::new(200, Box::pin(stream::iter(pieces(&[b"data: h\xc3", b"\xa9\n\n"]))))
            .with_header("Content-Type", "text/event-stream")
            .with_header("set-cookie", "a=b");
    let transport = RecordingTransport::create(&file.0, Once::head(response)).unwrap();
    let request = request(r#"{"model":"m","n":[1,2.5]}"#).header("accept", "*/*");
    let (status, read, _) = play(&transport, request).await;
    assert_eq!((status, read.len()), (200, 2));
    assert_eq!(transport.flush().unwrap(), 1);

    let text = file.text();
    let mut line: serde_json::Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
    for read in line["response"]["reads"].as_array_mut().unwrap() {
        read[1] = json!(0);
    }
    line["response"]["head_ms"] = json!(0);
    let want = json!({
        "turn": 1,
        "request": {
            "method": "POST", "url": "http://h/v1/chat/completions",
            "headers": { "accept": "*/*" }, "body": { "model": "m", "n": [1, 2.5] },
        },
        "response": {
            "status": 200, "head_ms": 0, "headers": { "content-type": "text/event-stream" },
            "body": "data: hé\n\n", "reads": [[8, 0], [3, 0]],
        },
        "ended": "whole",
    });
    assert_eq!(line, want);
    let recording = Recording::load(&file.0).unwrap();
    assert!(recording.recorded().ends_with('Z') && recording.recorded().len() == 20);
    assert!(Recording::is_start(text.as_bytes()) && !Recording::is_start(b"data: {}\n"));
    assert_eq!(recording.exchanges()[0].path(), "/v1/chat/completions");
}

// Found: R7
#[cfg(unix)]
#[tokio::test]
async fn r7_a_recording_is_its_owners_and_replaces_nothing_unasked() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let (file, target) = (File::new(), File::new());
    std::fs::write(&target.0, "precious").unwrap();
    symlink(&target.0, &file.0).unwrap();
    let response = || Once::new(200, Vec::new());
    for path in [&target.0, &file.0] {
        let error = RecordingTransport::create(path, response()).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists, "{}", path.display());
    }
    let transport = RecordingTransport::overwrite(&file.0, response()).unwrap();
    play(&transport, request("{}")).await;
    transport.flush().unwrap();
    assert_eq!(Recording::load(&file.0).unwrap().exchanges().len(), 1);
    let kept = std::fs::read_to_string(&target.0).unwrap();
    assert_eq!(kept, "precious", "the link was replaced, not its file");
    let mode = std::fs::metadata(&file.0).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn what_had_arrived_is_kept_however_an_exchange_ends() {
    let first = || Ok(Bytes::from_static(b"one"));
    // Broken inside the body.
    let file = File::new();
    let transport =
        RecordingTransport::create(&file.0, Once::new(200, vec![first(), Err(broken())]));
    play(&transport.unwrap(), request("{}")).await;
    let recording = Recording::load(&file.0).unwrap();
    assert_eq!(recording.exchanges()[0].ended, ExchangeEnd::Broken);
    assert_eq!(recording.exchanges()[0].response.as_ref().unwrap().body, "one");
    let replayed = play(&ReplayTransport::new(recording), request("{}")).await;
    assert_eq!(replayed, (200, vec![Bytes::from_static(b"one")], true));
    // Dropped by the reader.
    let transport =
        RecordingTransport::overwrite(&file.0, Once::new(200, vec![first(), first()])).unwrap();
    let mut response = transport.send(request("{}")).await.unwrap();
    response.body.next().await.unwrap().unwrap();
    drop((response, transport));
    let recording = Recording::load(&file.0).unwrap();
    assert_eq!(recording.exchanges()[0].ended, ExchangeEnd::Dropped);
    assert_eq!(recording.exchanges()[0].response.as_ref().unwrap().body, "one");
    // Dropped before there was a response.
    let transport = RecordingTransport::overwrite(&file.0, Silent).unwrap();
    drop(transport.send(request("{}")));
    assert!(transport.send(request("{}")).now_or_never().is_none());
    drop(transport);
    let recording = Recording::load(&file.0).unwrap();
    let exchanges = recording.exchanges().iter();
    let outcomes: Vec<_> =
        exchanges.map(|it| (it.turn, &it.response, &it.failure, it.ended)).collect();
    assert_eq!(
        outcomes,
        [(1, &None, &None, ExchangeEnd::Dropped), (2, &None, &None, ExchangeEnd::Dropped)]
    );
    // Never begun.
    let error = TransportError::connect("h:1", "refused");
    let transport = Once(Mutex::new(Some(Err(error))));
    let transport = RecordingTransport::overwrite(&file.0, transport).unwrap();
    transport.send(request("{}")).await.unwrap_err();
    drop(transport);
    let recording = Recording::load(&file.0).unwrap();
    assert_eq!(recording.exchanges()[0].ended, ExchangeEnd::Broken);
    let error = ReplayTransport::new(recording).send(request("{}")).await.unwrap_err();
    assert!(matches!(&error, TransportError::Connect { host, .. } if host == "h:1"), "{error:?}");
}

#[tokio::test]
async fn a_body_that_is_too_long_is_cut_in_the_recording_and_not_in_the_stream() {
    let file = File::new();
    let transport = Once::new(200, pieces(&[b"0123", b"4567", b"89"]));
    let transport = RecordingTransport::overwrite(&file.0, transport).unwrap().max_body_bytes(6);
    let (_, read, _) = play(&transport, request("{\"a\":1}")).await;
    assert_eq!(read.concat(), b"0123456789");
    transport.flush().unwrap();
    let recording = Recording::load(&file.0).unwrap();
    let exchange = &recording.exchanges()[0];
    let response = exchange.response.as_ref().unwrap();
    assert_eq!((&response.body[..], response.cut), (&b"012345"[..], true));
    assert!(exchange.request.cut && exchange.request.body.is_null());
    let error =
        ReplayTransport::new(recording.clone()).send(request("{\"a\":1}")).await.unwrap_err();
    assert!(error.to_string().contains("too long to be kept"), "{error}");
    let error = ReplayTransport::new(recording).lenient().send(request("{}")).await.unwrap_err();
    assert!(error.to_string().contains("max_body_bytes"), "{error}");
}

fn percent(word: &str) -> String {
    let bytes: Vec<_> = word.bytes().map(|byte| format!("%{byte:02x}")).collect();
    bytes.concat()
}

/// Every spelling of a word that the recorder should know.
fn spellings(word: &str) -> Vec<String> {
    let escaped: Vec<_> = word.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    let percent = percent(word).to_uppercase();
    let mut all = vec![word.to_owned(), word.replace('/', "\\/"), escaped.concat(), percent];
    all.extend(
        ["", "a", "ab"]
            .map(|before| BASE64_STANDARD.encode(format!("{before}{word}{before}").as_bytes())),
    );
    all
}

#[tokio::test]
async fn planted_secrets_are_nowhere_in_the_file() {
    // Put together here, so that no scanner takes them for leaked ones.
    let look_alike = ["sk", "-proj-", "Zz9Yy8Xx7Ww6Vv5Uu4"].concat();
    let secrets = [
        "header/key+0001",
        "Query=Key:0002",
        "us:er0003",
        "pass%word0004",
        "own word 0005 é",
        "bearer.key.0006",
        "cookie-value-0007",
        &look_alike,
    ];
    let [header, query, user, password, own, bearer, cookie, look_alike] = secrets;
    let url_query = percent(query);
    let url = format!(
        "https://{}:{}@h/v1/{header}/x?api-version=1&key={url_query}&{cookie}#f",
        user.replace(':', "%3A"),
        password.replace('%', "%25")
    );
    let basic =
        format!("Basic {}", BASE64_STANDARD.encode(format!("someone:{password}").as_bytes()));
    let every: Vec<String> = secrets.iter().flat_map(|word| spellings(word)).collect();
    // As JSON, once more in a string, and as the pieces of a stream.
    let quoted =
        json!({ "all": secrets.join(" "), "again": json!(secrets).to_string() }).to_string();
    let mut body = format!("data: {quoted}\n\n{}\n", every.join("\n"));
    for word in secrets {
        let letters: Vec<_> = word.chars().collect();
        for piece in letters.chunks(3) {
            let piece: String = piece.iter().collect();
            let event = json!({ "type": "d", "text": piece });
            body.extend(["data: ", &event.to_string(), "\n\n"]);
        }
    }
    let pieces = |size: usize| -> Vec<Piece> {
        body.as_bytes().chunks(size).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect()
    };
    for (status, size) in [(200, 1), (200, 7), (401, usize::MAX)] {
        let file = File::new();
        let response = HttpResponse::new(status, Box::pin(stream::iter(pieces(size))))
            .with_header("x-request-id", format!("id {header}"))
            .with_header("location", format!("https://{user}:p@h/p?token={query}"))
            .with_header("x-echo", bearer);
        let transport =
            RecordingTransport::overwrite(&file.0, Once::head(response)).unwrap().secret(own);
        let request = HttpRequest::new("POST", url.clone())
            .header("X-Api-Key", header)
            .header("authorization", format!("Bearer {bearer}"))
            .header("proxy-authorization", basic.clone())
            .header("cookie", format!("a={cookie}; b=1"))
            .header("user-agent", format!("test {look_alike}"))
            .header("x-flag", "true")
            .body(vec![Bytes::from(quoted.clone())]);
        let sent = play(&transport, request.clone()).await;
        assert_eq!(sent.1.concat(), body.as_bytes(), "the reader sees everything");
        transport.flush().unwrap();
        let text = file.text();
        for word in secrets.iter().map(|word| (*word).to_owned()).chain(every.iter().cloned()) {
            let quoted = serde_json::Value::from(word.as_str()).to_string();
            assert!(!text.contains(&word), "{word} at {size}:\n{text}");
            assert!(!text.contains(quoted.trim_matches('"')), "{word} at {size}:\n{text}");
        }
        let recording = Recording::load(&file.0).unwrap();
        let exchange = &recording.exchanges()[0];
        assert_eq!(exchange.request.url, "https://h/v1/xxxxxxxxxxxxxxx/x?api-version=1&key=x&=x");
        let response = exchange.response.as_ref().unwrap();
        assert_eq!(response.body.len(), body.len());
        assert!(exchange.request.body.is_object(), "{}", exchange.request.body);
        // What streams say in pieces is gone too.
        let said: String = String::from_utf8_lossy(&response.body)
            .lines()
            .filter_map(|line| {
                serde_json::from_str::<serde_json::Value>(line.strip_prefix("data: ")?).ok()
            })
            .filter_map(|event| Some(event.get("text")?.as_str()?.to_owned()))
            .collect();
        assert!(secrets.iter().all(|word| !said.contains(word)), "{said}");
        // And the request is known again.
        let replay = ReplayTransport::new(recording).secret(own);
        replay.send(request).await.unwrap();
    }
}

#[tokio::test]
async fn the_start_of_a_secret_at_a_cut_is_redacted_too() {
    for at in 4..16 {
        let file = File::new();
        let transport = Once::new(200, pieces(&[&b"say secret-word-0001"[..4 + at]]));
        let transport = RecordingTransport::overwrite(&file.0, transport).unwrap();
        play(&transport, request("{}").header("x-key", "secret-word-0001")).await;
        transport.flush().unwrap();
        let recording = Recording::load(&file.0).unwrap();
        let body = recording.exchanges()[0].response.as_ref().unwrap().body.clone();
        assert_eq!(body, format!("say {}", "x".repeat(at)));
    }
}

#[test]
fn words_of_json_stay_and_numbers_stay_numbers() {
    let request = request("{}").header("x-flag", "true").header("x-count", "12345");
    let redactor = SecretRedactor::default().request(&request);
    let body =
        redactor.same_length(r#"{"stream":true,"n":12345,"s":"12345 a task-list-of-things"}"#);
    assert_eq!(body, r#"{"stream":true,"n":11111,"s":"11111 a task-list-of-things"}"#);
}

#[test]
fn a_bad_file_is_refused_at_its_line() {
    let header = r#"{"forgeline_recording":1,"recorded":"2026-11-22T09:00:00Z"}"#;
    let exchange = r#"{"turn":1,"request":{"method":"POST","url":"http://h/p","headers":{},"body":1},"ended":"dropped"}"#;
    let short = r#"{"turn":2,"request":{"method":"POST","url":"http://h/p","headers":{},"body":1},"response":{"status":200,"head_ms":1,"headers":{},"body":"abc","reads":[[2,1]]},"ended":"whole"}"#;
    #[rustfmt::skip]
    let rows = [
        (String::new(),                                 "the recording is empty"),
        (format!("{header}\n"),                         "the recording is empty"),
        ("data: {}\n\n".to_owned(),                     "not a recording"),
        (exchange.to_owned(),                           "not a recording"),
        (r#"{"forgeline_recording":2}"#.to_owned(),     "unsupported recording format 2, expected 1"),
        (format!("{header}\n{{\"turn\":"),              "the recording ends inside its first exchange, at byte "),
        (format!("{header}\n{{\"turn\":\n{exchange}"),  "invalid exchange in line 2 of the recording: EOF"),
        (format!("{header}\n\n{exchange}\n{exchange}"), "invalid exchange in line 4 of the recording: duplicate turn 1"),
        (format!("{header}\n{exchange}\n{short}"),      "invalid exchange in line 3 of the recording: its body has 3 bytes, which its reads do not add up to"),
    ];
    for (text, want) in rows {
        let error = text.parse::<Recording>().unwrap_err().to_string();
        assert!(error.starts_with(want), "{error}");
    }
    assert!(format!("{header}\r\n{exchange}\r\n").parse::<Recording>().is_ok());
    let missing = Recording::load("no such file").unwrap_err();
    assert!(matches!(missing, RecordingError::Read(_)), "{missing}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_was_recorded_plays_as_it_came(
        body in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..12),
        breaks in any::<bool>(),
        status in 200_u16..600,
    ) {
        let file = File::new();
        let mut sent: Vec<Piece> = body.iter().map(|piece| Ok(Bytes::from(piece.clone()))).collect();
        if breaks {
            sent.push(Err(broken()));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let transport = RecordingTransport::overwrite(&file.0, Once::new(status, sent)).unwrap();
            let live = play(&transport, request("{}")).await;
            transport.flush().unwrap();
            let recording = Recording::load(&file.0).unwrap();
            let replayed = play(&ReplayTransport::new(recording), request("{}")).await;
            // Nothing in it looks like a key: all else is played byte for byte.
            prop_assert_eq!(live, replayed);
            Ok(())
        })?;
    }

    #[test]
    fn redaction_changes_no_length_and_keeps_text_text(text in ".{0,200}", word in ".{4,12}") {
        let mut redactor = SecretRedactor::default();
        redactor.add(&word);
        let planted = format!("{text}{word}{text}");
        let redacted = redactor.same_length(&planted);
        prop_assert_eq!(redacted.len(), planted.len());
        let is_hidden = word.trim().is_empty() || word.trim().chars().all(|c| c == 'x' || c == '1')
            || !redacted.contains(word.trim());
        prop_assert!(is_hidden, "{} in {}", word, redacted);
    }
}

#[tokio::test]
async fn clones_write_to_one_file_in_the_order_of_the_requests() {
    let file = File::new();
    let transport = RecordingTransport::overwrite(&file.0, Arc::new(Silent)).unwrap();
    let (first, second) = (transport.send(request("1")), transport.clone().send(request("2")));
    drop(second);
    drop(first);
    assert_eq!(transport.flush().unwrap(), 2);
    let recording = Recording::load(&file.0).unwrap();
    let bodies: Vec<_> =
        recording.exchanges().iter().map(|exchange| &exchange.request.body).collect();
    assert_eq!(bodies, [&json!(1), &json!(2)]);
}
