//! Clients that others made.

use std::process::{Command, Stdio};

use forgeline_testkit::{
    say,
    service::{client, client_of_others, python},
};

use serde_json::Value;

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

// Covers: H-35
#[test]
fn the_official_clients_of_openai_use_an_agent_as_a_model() {
    let (Some(node), Some(python)) = (client("openai_service.mjs"), python("openai_service.py"))
    else {
        return;
    };
    let serve = Started::demo();
    for mut command in [python, node] {
        command.arg(serve.link.trim_end_matches('/'));
        say(output(command).trim_end());
    }
}

#[test]
fn clients_of_others_hold_a_conversation_and_stay_away_behind_its_end() {
    let [sum, approval, question, last] = [
        "What is 6 * 7?",
        "Call notes.keep with \"Buy milk.\"",
        "Use ask_user: \"Which colour?\"",
        "What is 2 * 3?",
    ];
    let serve = Started::demo();
    let ask = |script: &str, route: &str, prompt: &str| -> Option<Value> {
        let mut command = client_of_others(script)?;
        command.arg(format!("{}{route}", serve.link)).arg(prompt);
        Some(serde_json::from_str(&output(command)).unwrap())
    };
    // What waits for its reader does not keep the next message of the conversation waiting.
    for (prompt, part) in [
        (sum, "6 * 7 = 42"),
        (approval, "approval-requested"),
        (question, "input-available"),
        (last, "2 * 3 = 6"),
    ] {
        let Some(read) = ask("ui_stream_client.mjs", "api/chat", prompt) else { return };
        let parts = read["message"]["parts"].to_string();
        assert!(parts.contains(part), "{prompt}: {read}");
    }
    // An interrupt, which only `resume` answers, comes last.
    for (prompt, told) in
        [(sum, "6 * 7 = 42"), (question, "ask_user"), (last, "2 * 3 = 6"), (approval, "notes.keep")]
    {
        let read = ask("agui_client.mjs", "agui", prompt).unwrap();
        assert!(read.get("error").is_none() && read["types"].to_string().contains("RUN_FINISHED"));
        assert!(read["newMessages"].to_string().contains(told), "{prompt}: {read}");
    }
    let run = serve.begin("What is 6 * 7?");
    serve.answer(&run);
    let read = ask("eventsource_client.mjs", &format!("v1/runs/{run}/events"), "6").unwrap();
    let last = read.as_array().unwrap().last().unwrap();
    assert_eq!((&last["code"], &last["readyState"]), (&204.into(), &2.into()), "{read}");
    say("clients of others: two conversations and a reader");
}
