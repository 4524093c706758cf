//! A process with a journal is killed at any moment, and others finish its run.

use std::{
    collections::BTreeMap,
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread::yield_now,
    time::{Duration, Instant},
};

use forgeline::types::{MessageRole, ToolResult, Transcript};

/// The moments at which a process is killed; `make kills` asks for more.
fn moments() -> u64 {
    env::var("FORGELINE_KILLS").map_or(20, |moments| moments.parse().unwrap())
}

/// A folder of this test's own.
fn folder(name: &str) -> PathBuf {
    let folder = env::temp_dir().join(format!("forgeline-killed-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The bytes that the process has written.
fn written(folder: &Path) -> u64 {
    let bytes = |name| fs::metadata(folder.join(name)).map_or(0, |file| file.len());
    bytes("journal") + bytes("ran")
}

/// Starts the process and kills it a while after it has written so many bytes; returns what it printed if
/// it came to its end.
fn run(folder: &Path, kill: Option<(u64, Duration)>) -> Option<Transcript> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_journaled"));
    let mut child = command.arg(folder).stdout(Stdio::piped()).spawn().unwrap();
    if let Some((bytes, pause)) = kill {
        while written(folder) < bytes && child.try_wait().unwrap().is_none() {
            yield_now();
        }
        let reached = Instant::now();
        while reached.elapsed() < pause {
            yield_now();
        }
        // It may have come to its end.
        child.kill().unwrap();
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() || kill.is_some(), "the process fails");
    serde_json::from_slice(&output.stdout).ok()
}

/// How often each call of each tool ran: by the tool, then by the key of the call.
fn executions(folder: &Path) -> BTreeMap<String, BTreeMap<String, usize>> {
    let mut counts = BTreeMap::<_, BTreeMap<_, _>>::new();
    for line in fs::read_to_string(folder.join("ran")).unwrap_or_default().lines() {
        let (tool, key) = line.split_once(' ').unwrap();
        *counts.entry(tool.to_owned()).or_default().entry(key.to_owned()).or_default() += 1;
    }
    counts
}

/// Checks that a call has the result of an undisturbed run, or may have run and was not run again.
/// Returns `true` when it was interrupted.
fn check_result(result: &ToolResult, want: &ToolResult, at: &str) -> bool {
    if result == want {
        return false;
    }
    assert_eq!((&result.call_id, &result.name), (&want.call_id, &want.name), "{at}");
    assert_eq!(result.name, "once", "{at}: what may run again does");
    assert!(result.content.starts_with("This call was interrupted"), "{at}: {result:?}");
    true
}

/// Checks a conversation against that of an undisturbed run, and what ran.
fn check(folder: &Path, messages: &Transcript, want: &Transcript, at: &str) {
    assert_eq!(messages.len(), want.len(), "{at}");
    let (mut calls, mut interrupted) = (0, 0);
    for (message, want) in messages.iter().zip(want.iter()) {
        if want.role != MessageRole::Tool {
            assert_eq!(message, want, "{at}");
            continue;
        }
        let (results, wanted) = (message.tool_results(), want.tool_results());
        assert_eq!(message.parts.len(), want.parts.len(), "{at}");
        for (result, want) in results.zip(wanted) {
            calls += usize::from(result.name == "once");
            interrupted += usize::from(check_result(result, want, at));
        }
    }
    let ran = executions(folder);
    let (once, again) = (&ran["once"], &ran["again"]);
    assert!(once.values().all(|count| *count == 1), "{at}: {once:?}");
    assert!((calls - interrupted..=calls).contains(&once.len()), "{at}: {once:?}");
    assert_eq!(again.len(), calls / 2, "{at}: a call that runs again has the same key: {again:?}");
}

// Covers: T-66
#[test]
fn a_process_that_is_killed_at_any_moment_is_finished_by_another() {
    let started = Instant::now();
    let whole = folder("whole");
    let want = run(&whole, None).unwrap();
    check(&whole, &want, &want, "undisturbed");
    assert!(executions(&whole)["again"].values().all(|count| *count == 1));
    let (total, moments) = (written(&whole), moments());
    let (mut put_away, mut torn) = (0, 0);
    for moment in 0..moments {
        let folder = folder(&moment.to_string());
        let first = total * moment / moments;
        let second = first + (total - first) * (moment * 7 % 10) / 10;
        let mut ended = None;
        for (place, bytes) in [first, second].into_iter().enumerate() {
            let pause = Duration::from_micros((moment * 397 + place as u64 * 211) % 1_500);
            ended = run(&folder, Some((bytes, pause)));
            put_away += usize::from(ended.is_none());
            // What a process that is killed while it writes leaves behind.
            if ended.is_none() && moment % 2 == 0 {
                let mut options = fs::OpenOptions::new();
                let journal = options.append(true).create(true).open(folder.join("journal"));
                journal.unwrap().write_all(b"{\"n\":7,\"dig").unwrap();
                torn += 1;
            }
        }
        let at = format!("moment {moment}");
        // A process that was killed behind its last word has ended the run.
        let again = run(&folder, None).unwrap();
        check(&folder, &again, &want, &at);
        assert!(ended.is_none_or(|ended| ended == again), "{at}");
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::remove_dir_all(&whole).unwrap();
    let elapsed = started.elapsed();
    println!("{put_away} processes of {} were killed, {torn} in a line: {elapsed:?}", moments * 2);
    assert!(put_away >= torn && torn > 0, "no process was killed in time");
}
