//! A terminal of 80 columns without colour.

use std::fs;

use forgeline_testkit::server::ScriptedServer;
use serde_json::json;
use tokio::task::block_in_place;

use crate::{
    approve::{arguments, call, folder},
    flood::ended,
    pty::{CTRL_D, Pty},
    run::answer,
};

const COLUMNS: u16 = 80;

/// What a person sees of lines that are written over each other, without what moves the cursor.
fn lines(shown: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut signs = shown.chars();
    while let Some(sign) = signs.next() {
        if sign == '\u{1b}' {
            let rest = signs.by_ref().skip_while(|it| *it == '[' || *it == '?');
            let end = rest.take_while(|it| !it.is_ascii_alphabetic()).last();
            assert!(end.is_none_or(|it| it.is_ascii_digit() || it == ';'), "{end:?}");
            continue;
        }
        plain.push(sign);
    }
    plain.split(['\n', '\r']).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_reads_well_in_80_columns_without_colour() {
    let root = folder("narrow");
    let (skill, tool) = ("skill-".repeat(10) + "last", "tool_with_a_long_name_".repeat(5));
    let skills = root.join("skills");
    fs::create_dir_all(skills.join(&skill)).unwrap();
    let text = format!("---\nname: {skill}\ndescription: Long.\n---\n{}", "Ask first. ".repeat(40));
    fs::write(skills.join(&skill).join("SKILL.md"), text).unwrap();
    let long = json!({ "text": "x".repeat(300), "words": "word ".repeat(60) });
    let mut answers = vec![
        call("helper", &json!({ "task": "Look at every single item now. ".repeat(6) })),
        call(&tool, &long),
        answer("Helped."),
        call("load_skill", &json!({ "name": skill })),
        answer(
            &(0..450).map(|at| format!("Line {at} is as it is.\n")).collect::<Vec<_>>().concat(),
        ),
    ];
    answers.extend((0..12).map(|_| answer("Fine.")));
    let server = ScriptedServer::start(answers).await;
    let url = server.url();
    let skills = skills.to_str().unwrap();
    let flags = ["--helpers", "--skills", skills, "--context", "6000", "--summarize-at", "50"];
    let shown = block_in_place(|| {
        let mut pty = Pty::plain(&arguments("chat", &url, &root, &flags), COLUMNS);
        let mut shown = pty.until("› ");
        for _ in 0..2 {
            pty.press("hi\r");
            shown += &pty.until("window: ");
            shown += &pty.until("› ");
        }
        pty.press(CTRL_D);
        assert_eq!(ended(pty.look_on()), Some(0));
        shown
    });
    let lines = lines(&shown);
    for line in &lines {
        assert!(line.chars().count() <= usize::from(COLUMNS), "{line:?} in\n{shown}");
    }
    let all = lines.join("\n");
    for part in [
        "● helper",
        "  ▸ helper begins",
        "  ◂ helper: done",
        "● load_skill",
        "summarized: ",
        "window: ~",
    ] {
        assert!(all.contains(part), "{part:?} in\n{all}");
    }
    // No name is lost.
    let joined: String = all.split_whitespace().collect();
    assert!(joined.contains(&skill), "{all}");
    assert!(
        !shown.contains("\u{1b}[1m") && !shown.contains("\u{1b}[2m") && !shown.contains("\u{1b}[3")
    );
}
