//! Skills: the flag, the usual folders, and what is said about them.

use std::{fs, path::PathBuf};

use forgeline_testkit::server::{ScriptedServer, Step};
use serde_json::json;

use crate::{
    flags::body,
    process::run,
    run::{answer, ask, delta},
};

/// Writes a skill into a folder of skills below the folder of tests.
fn skill(folder: &str, name: &str, text: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(folder);
    fs::create_dir_all(path.join(name)).unwrap();
    fs::write(path.join(name).join("SKILL.md"), text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn skills_are_listed_shown_as_they_load_and_bad_ones_are_named() {
    let given =
        skill("skills-given", "pdf", "---\nname: pdf\ndescription: Given.\n---\nAsk first.");
    skill("skills-given", "bad", "---\nname: good\n---\n");
    let own = "---\nname: pdf\ndescription: Of the project.\n---\n";
    skill("skills-root/.agents/skills", "pdf", own);
    let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("skills-root");
    let function = json!({ "name": "load_skill", "arguments": "{\"name\":\"pdf\"}" });
    let call = json!([{ "index": 0, "id": "c", "function": function }]);
    let first = vec![
        Step::stream(),
        delta(&json!({ "tool_calls": call }), Some("tool_calls")),
        Step::chunk("data: [DONE]\n\n"),
        Step::End,
    ];
    let mut server = ScriptedServer::start(vec![first, answer("Filled.")]).await;
    let flags = ["--skills", &given, "--root", root.to_str().unwrap()];
    let outcome = ask(&server, &flags);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "Filled.\n"), "{outcome:?}");
    let bad = format!(
        "skill left out: {given}/bad/SKILL.md:2: the name `good` is not that of the folder"
    );
    let second = format!(".agents/skills/pdf: it is not used: `{given}/pdf` has the same name");
    for said in [bad.as_str(), &second, "skills: pdf", "● load_skill", "Ask first."] {
        assert!(outcome.stderr.contains(said), "{said}: {}", outcome.stderr);
    }
    let sent = body(&mut server).await;
    let system = sent["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("<description>Given.</description>"), "{system}");
}

#[tokio::test(flavor = "multi_thread")]
async fn skills_of_the_project_are_found_from_a_folder_in_it_unless_it_is_left_out() {
    let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("skills-project");
    skill("skills-project/.agents/skills", "zip", "---\nname: zip\ndescription: Packs.\n---\n");
    fs::create_dir_all(root.join(".git")).unwrap();
    fs::create_dir_all(root.join("server")).unwrap();
    let (folder, given) = (
        root.join("server"),
        skill("skills-of-mine", "tar", "---\nname: tar\ndescription: Packs.\n---\n"),
    );
    for (flags, has_zip) in [(&[][..], true), (&["--no-project"], false)] {
        let server = ScriptedServer::start(vec![answer("Done.")]).await;
        let folders = ["--root", folder.to_str().unwrap(), "--skills", &given];
        let outcome = ask(&server, &[&folders, flags].concat());
        let line = outcome.stderr.lines().find(|line| line.starts_with("skills: ")).unwrap();
        assert!(line.contains("tar") && line.contains("zip") == has_zip, "{line}");
    }
}

#[test]
fn a_folder_of_skills_that_is_not_there_is_wrong_usage() {
    let outcome = run(&["run", "--provider", "demo", "--skills", "no/such/folder", "Hi"], b"");
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    let said = "--skills no/such/folder is not a folder; name an existing one";
    assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
}
