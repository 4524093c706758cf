//! A secret in any surroundings and any spelling: no recording has it.

#![no_main]

use std::{fs, path::PathBuf, process, sync::LazyLock};

use forgeline::llm::transport::{HttpRequest, HttpResponse, Transport, TransportError};
use forgeline_testing::record::{Recording, RecordingTransport};
use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

/// Bytes of an input that become the secret.
const SECRET_BYTES: usize = 8;

/// Letters of secrets, some of which JSON, addresses and base64 spell otherwise.
const LETTERS: [&str; 16] =
    ["a", "Z", "7", "\"", "\\", "/", "+", "é", "%", " ", "=", "-", "_", "ß", "\n", "🔑"];

/// A file in memory, where the system has one.
static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
    folder.join(format!("forgeline-fuzz-{}.jsonl", process::id()))
});

/// Answers every request alike.
struct Canned(Vec<Vec<u8>>);

impl Transport for Canned {
    fn send(&self, _: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, TransportError>> {
        let pieces = self.0.clone().into_iter().map(|piece| Ok(piece.into()));
        let response = HttpResponse::new(200, Box::pin(stream::iter(pieces)));
        async { Ok(response) }.boxed()
    }
}

fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fuzz_target!(|input: &[u8]| {
    let Some((secret, around)) = input.split_at_checked(SECRET_BYTES) else { return };
    let letters = secret.iter().map(|byte| LETTERS[usize::from(byte % 16)]);
    let secret: String = ["zq"].into_iter().chain(letters).chain(["qz"]).collect();
    let around = String::from_utf8_lossy(around);
    let quoted = json!({ "a": secret, "b": *around, "c": json!([secret]).to_string() }).to_string();
    // The surroundings are on both sides of each spelling, and in pieces of a stream.
    // The percent-encoding of a secret with a backslash or `%` is not found; that of others is.
    let has_gap = secret.contains(['\\', '%']);
    let encoded = if has_gap { secret.clone() } else { percent(&secret) };
    let spellings =
        [secret.as_str(), &quoted, &encoded].map(|spelling| format!("{around}{spelling}{around}"));
    let mut body = spellings.join("\n");
    let letters: Vec<_> = secret.chars().collect();
    for piece in letters.chunks(3) {
        let event = json!({ "type": "delta", "text": piece.iter().collect::<String>() });
        body.push_str(&format!("\ndata: {event}\n"));
    }
    let [_, cut, _] = forgeline_fuzz::cuts(body.as_bytes());
    let canned = Canned(cut.into_iter().map(<[u8]>::to_vec).collect());
    let recorder = RecordingTransport::overwrite(&*FILE, canned).unwrap().secret(&secret);
    let request = HttpRequest::new("POST", "https://h/v1/x").body(vec![quoted.clone().into()]);
    let read = async {
        let mut response = recorder.send(request).await.unwrap();
        while response.body.next().await.is_some() {}
    };
    read.now_or_never().expect("nothing waits");
    recorder.flush().unwrap();
    drop(recorder);
    let file = fs::read_to_string(&*FILE).unwrap();
    let recording = Recording::load(&*FILE).unwrap();
    let [exchange] = recording.exchanges() else { panic!("{file}") };
    let body = String::from_utf8_lossy(&exchange.response.as_ref().unwrap().body).into_owned();
    let request = exchange.request.body.to_string();
    let escaped = json!(secret).to_string();
    for spelling in [&secret, escaped.trim_matches('"'), &encoded] {
        for text in [&file, &body, &request] {
            assert!(!text.contains(spelling), "{secret:?} as {spelling:?} in {text}");
        }
    }
});
