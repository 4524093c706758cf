//! The commands of the guide.

use std::{
    fs,
    process::{Command, Stdio},
};

use forgeline_testkit::say;
use serde_json::Value;

use super::started::Started;

#[test]
fn curl_begins_and_resumes_a_run_as_the_guide_shows() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/clients.md");
    let page = fs::read_to_string(page).unwrap();
    let commands: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("$ curl ")).collect();
    let [begins, resumes] = commands[..] else { panic!("{commands:?}") };
    if Command::new("curl").arg("--version").stdout(Stdio::null()).status().is_err() {
        say("not run: the guide's commands with curl, which is not installed");
        return;
    }
    let serve = Started::demo();
    let at = |arguments: &str| {
        let arguments = arguments.replace("http://127.0.0.1:8787/", &serve.link);
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("curl --noproxy '*' --max-time 60 {arguments}"));
        let output = shell.stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{arguments}: {text}{:?}", output.stderr);
        text
    };
    let begun: Value = serde_json::from_str(&at(begins)).unwrap();
    let run = begun["run_id"].as_str().unwrap();
    let whole = serve.get(&format!("/v1/runs/{run}/events")).body;
    let rest = at(&resumes.replace("RUN_ID", run));
    let ids: Vec<_> = rest.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
    assert_eq!(ids.first(), Some(&"4"), "{rest}");
    let behind = whole.split_once("id: 4\n").map(|(_, behind)| behind).unwrap();
    assert_eq!(rest.split_once("id: 4\n").map(|(_, behind)| behind), Some(behind));
    assert!(behind.contains("event: run_end\n"), "{behind}");
}
