//! Recordings of programs that were killed, and of files that rotted: what is whole plays, and the rest is said.

use std::{fs, path::PathBuf, sync::Arc};

use forgeline::{
    llm::{RetryPolicy, transport::Transport},
    testing::{
        record::{Recording, RecordingError, RecordingTransport},
        replay::{ChunkSizes, ReplayTransport},
    },
    types::ErrorCode,
};

use super::{
    WIRES, Wire, begun,
    scenario::whole,
    server::{Answer, Body, End, Outcome, Server, ask, ok},
};

async fn over(wire: &Wire, transport: Arc<dyn Transport>) -> Outcome {
    let provider = wire.provider("http://h", &move |mut setup| {
        setup.transport = Some(Arc::clone(&transport));
        setup.retry = RetryPolicy::NONE;
        setup
    });
    ask(&*provider).await
}

/// Records a whole answer, one that breaks, and a refusal; returns the file.
async fn recorded(wire: &Wire) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.rec", wire.name));
    let breaks = ok(Body::new(begun(wire)).end(End::Breaks));
    let refuses = Answer::Status(403, Vec::new(), Body::new("nön"));
    let server = Server::new([ok(Body::new(whole(wire))), breaks, refuses]);
    let recorder = RecordingTransport::overwrite(&path, server).unwrap();
    for _ in 0..3 {
        over(wire, Arc::new(recorder.clone())).await;
    }
    assert_eq!(recorder.flush().unwrap(), 3, "{}", wire.name);
    fs::read(path).unwrap()
}

/// Plays each exchange in pieces of this size; returns the text and the kind of the error of each.
async fn played(
    wire: &Wire,
    recording: &Recording,
    sizes: &ChunkSizes,
) -> Vec<(String, Option<ErrorCode>)> {
    let transport = ReplayTransport::new(recording.clone()).lenient().chunks(sizes.clone());
    let transport: Arc<dyn Transport> = Arc::new(transport);
    let mut outcomes = Vec::new();
    for _ in recording.exchanges() {
        let outcome = over(wire, Arc::clone(&transport)).await;
        outcomes.push((outcome.text, outcome.error.map(|error| error.code())));
    }
    outcomes
}

// Found: R7
#[tokio::test(start_paused = true)]
async fn a_recording_plays_up_to_the_exchange_in_which_it_was_cut() {
    for wire in WIRES {
        let name = wire.name;
        let file = recorded(wire).await;
        let want = [
            ("kept".to_owned(), None),
            ("kept".to_owned(), Some(ErrorCode::Connect)),
            (String::new(), Some(ErrorCode::Auth)),
        ];
        let lines: Vec<usize> = (1..=file.len()).filter(|at| file[at - 1] == b'\n').collect();
        assert_eq!(lines.len(), 4, "{name}");
        for cut in 0..=file.len() {
            // A line whose line end alone is missing is whole.
            let whole = lines.iter().filter(|end| cut + 1 >= **end).count();
            let begun = lines.iter().rfind(|end| **end <= cut).copied().unwrap_or_default();
            match Recording::from_bytes(&file[..cut]) {
                Ok(recording) => {
                    assert_eq!(recording.exchanges().len(), whole - 1, "{name}, cut at {cut}");
                    let is_cut = cut > begun && !lines.contains(&(cut + 1));
                    let place = is_cut.then_some(begun as u64);
                    assert_eq!(recording.cut_at(), place, "{name}, cut at {cut}");
                    if lines.contains(&cut) || cut % 97 == 0 {
                        let played = played(wire, &recording, &ChunkSizes::Whole).await;
                        assert_eq!(played, want[..whole - 1], "{name}, cut at {cut}");
                    }
                }
                Err(RecordingError::Cut { offset, .. }) => {
                    assert_eq!((whole, offset), (1, lines[0] as u64), "{name}, cut at {cut}");
                }
                Err(RecordingError::Empty | RecordingError::NotARecording) => {
                    assert!(cut <= lines[0], "{name}, cut at {cut}");
                }
                Err(error) => panic!("{name}, cut at {cut}: {error}"),
            }
        }
        let recording = Recording::from_bytes(&file).unwrap();
        for sizes in [ChunkSizes::Bytes(1), ChunkSizes::Bytes(7)] {
            assert_eq!(played(wire, &recording, &sizes).await, want, "{name}");
        }
        // Whatever a byte becomes, it is read or refused with the place.
        for (at, byte) in file.iter().enumerate().step_by(5) {
            for other in [0, b'"', b'\\', b'{', b'9', b'\n', 0xff, byte ^ 1] {
                let mut rotten = file.clone();
                rotten[at] = other;
                if let Err(RecordingError::Line { line, .. }) = Recording::from_bytes(&rotten) {
                    assert!((2..=6).contains(&line), "{name}, {other} at {at}: line {line}");
                }
            }
        }
    }
}
