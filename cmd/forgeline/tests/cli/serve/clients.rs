//! Clients that others made.

use std::process::{Command, Stdio};

use forgeline_testkit::{
    say,
    service::{client, python},
};

use super::started::Started;

fn output(mut command: Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

// Covers: E-04
#[test]
fn clients_of_each_protocol_read_decide_run_stop_and_resume() {
    let (Some(mut command), Some(mut reader)) = (client("clients.mjs"), python("durable.py"))
    else {
        return;
    };
    let serve = Started::demo();
    command.arg(serve.link.trim_end_matches('/'));
    let printed = output(command);
    let run = printed.lines().find_map(|line| line.strip_prefix("run ")).unwrap();
    reader.arg(run);
    let printed = printed.clone() + &output(reader);
    let done: Vec<_> = printed.lines().filter(|line| line.starts_with("ok ")).collect();
    assert_eq!(done.len(), 11, "{printed}");
    say(format!("clients of the service: {} scenarios", done.len()));
}
