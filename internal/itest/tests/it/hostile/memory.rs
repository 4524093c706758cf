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

/// Most memory that the process may ever have had beyond that at its start, in KiB: what it has then grows with the program.
const MOST_KIB: u64 = 46 << 10;

const PIECE: usize = 64 << 10;
const PIECES: usize = (256 << 20) / PIECE;

/// Bodies of 256 MiB: how each begins, and the byte that follows for ever.
fn bodies(wire: &Wire) -> Vec<(&'static str, Body)> {
    let call = wire.call("1", "c", "f", "{\"a\":\"HERE\"}");
    let (in_call, _) = call.split_once("HERE").unwrap();
    let body = |start: &str, byte: u8| Body::new(start).again(vec![byte; PIECE], PIECES);
    // As long as may be read whole.
    let whole =
        |start: &str, byte: u8| Body::new(start).again(vec![byte; PIECE], (8 << 20) / PIECE - 2);
    let ended = |start: &str, piece: &[u8], end: &str| {
        let mut body = Body::new(start);
        let piece = Bytes::from(piece.repeat(PIECE / piece.len()));
        body.pieces.extend(std::iter::repeat_n(piece, (8 << 20) / PIECE - 2));
        body.pieces.push(Bytes::copy_from_slice(end.as_bytes()));
        body
    };
    let error = wire.error("{\"message\":[HERE]}");
    let (error, behind) = error.split_once("HERE").unwrap();
    vec![
        ("a whole object that is not UTF-8", whole("{\"a\":\"", 0xff)),
        ("an event that is not UTF-8", ended("data: ", &[0xff], "\n\n")),
        ("an error of many values", ended(error, b"1,", &format!("1{behind}"))),
        ("a whole error of many values", ended("{\"error\":[", b"1,", "1]}")),
        ("letters", body("x", b'x')),
        ("an object", body("{\"a\":\"", b'x')),
        ("a field", body("data: ", b'x')),
        ("a call", body(&format!("{}{in_call}", begun(wire)), b'x')),
    ]
}

/// The most memory that this process has had, in KiB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

async fn measure() {
    let start = peak();
    println!("{start:>8} KiB at the start");
    for wire in WIRES {
        for (name, body) in bodies(wire) {
            let transport: Arc<dyn Transport> = Server::new([ok(body)]);
            let provider = wire.provider("http://h", &move |mut setup| {
                setup.transport = Some(Arc::clone(&transport));
                setup.retry = RetryPolicy::NONE;
                setup
            });
            let error = provider.complete(Request::prompt("x")).await.unwrap_err();
            let peak = peak() - start;
            println!("{peak:>8} KiB more after {}, {name}: {:?}", wire.name, error.code());
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
    assert!(said.contains("KiB more after anthropic"), "nothing was measured: {said}");
    forgeline_testkit::say(
        said.lines().rev().find(|line| line.contains("KiB")).unwrap_or_default(),
    );
}
