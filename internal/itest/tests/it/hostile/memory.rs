//! Memory: what is not an answer is not kept.

use std::{env, fs, process::Command, sync::Arc};

use bytes::Bytes;
use forgeline::llm::{Request, RetryPolicy, transport::Transport};

use super::{
    WIRES, Wire, begun,
    server::{Body, Server, ok},
};

/// Set in the process that is measured.
const MEASURED: &str = "FORGELINE_MEASURED";

/// Most memory that the process may ever have had, in KiB.
const MOST_KIB: u64 = 48 << 10;

const PIECE: usize = 64 << 10;
const PIECES: usize = (256 << 20) / PIECE;

/// Bodies of 256 MiB: how each begins, and the byte that follows for ever.
fn bodies(wire: &Wire) -> Vec<(&'static str, Body)> {
    let (delta, call) = (wire.delta("TEXT"), wire.call("1", "c", "f", "{\"a\":\"HERE\"}"));
    let (in_word, _) = delta.split_once("TEXT").unwrap();
    let (in_call, _) = call.split_once("HERE").unwrap();
    let body = |start: &str, byte: u8| Body::of(start).again([byte; PIECE], PIECES);
    // As long as may be read whole.
    let whole = |start: &str, byte: u8| Body::of(start).again([byte; PIECE], (8 << 20) / PIECE - 2);
    let mut event = Body::of("data: ");
    event.pieces.extend(std::iter::repeat_n(Bytes::from(vec![0xff; PIECE]), (8 << 20) / PIECE - 2));
    event.pieces.push(Bytes::from_static(b"\n\n"));
    vec![
        ("a whole object", whole("{\"a\":\"", b'x')),
        ("a whole object that is not UTF-8", whole("{\"a\":\"", 0xff)),
        ("a whole list", whole("[", b'[')),
        ("an event that is not UTF-8", event),
        ("letters", body("x", b'x')),
        ("line ends", body("\n", b'\n')),
        ("bytes that are not UTF-8", body("x", 0xff)),
        ("an object", body("{\"a\":\"", b'x')),
        ("an object that is not UTF-8", body("{\"a\":\"", 0xff)),
        ("a list", body("[", b'[')),
        ("a page", body("<html>", b'x')),
        ("a field", body("data: ", b'x')),
        ("a field that is not UTF-8", body("data: ", 0xff)),
        ("a word", body(&format!("{}{in_word}", begun(wire)), b'x')),
        ("a call", body(&format!("{}{in_call}", begun(wire)), b'x')),
        ("line ends behind a word", body(&begun(wire), b'\n')),
    ]
}

/// The most memory that this process has had, in KiB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

async fn measure() {
    println!("{:>8} KiB at the start", peak());
    for wire in WIRES {
        for (name, body) in bodies(wire) {
            let transport: Arc<dyn Transport> = Server::new([ok(body)]);
            let provider = wire.provider("http://h", &move |mut setup| {
                setup.transport = Some(Arc::clone(&transport));
                setup.retry = RetryPolicy::NONE;
                setup
            });
            let error = provider.complete(Request::prompt("x")).await.unwrap_err();
            let peak = peak();
            println!("{peak:>8} KiB after {}, {name}: {:?}", wire.name, error.code());
            assert!(peak <= MOST_KIB, "{}, {name}: {peak} KiB", wire.name);
        }
    }
}

// Found: R6
#[cfg(target_os = "linux")]
#[test]
fn a_quarter_of_a_gigabyte_that_is_no_answer_takes_less_than_48_mib() {
    if env::var_os(MEASURED).is_some() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        return runtime.block_on(measure());
    }
    // Other tests of this process keep what they like.
    let name = "hostile::memory::a_quarter_of_a_gigabyte_that_is_no_answer_takes_less_than_48_mib";
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(MEASURED, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("KiB after anthropic"), "nothing was measured: {said}");
    forgeline_testkit::say(
        said.lines().rev().find(|line| line.contains("KiB")).unwrap_or_default(),
    );
}
