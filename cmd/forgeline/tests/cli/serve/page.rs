//! `useChat` in a page, in Chromium.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::Stdio,
};

use forgeline_testkit::{say, service::page};

use super::started::{Started, host};

/// The scenarios of the script; a test that leaves one out fails.
const SCENARIOS: usize = 15;

// Covers: E-04, E-41
// Rows: N-65
#[test]
fn a_page_with_use_chat_does_all_that_it_may() {
    for major in [7, 6] {
        check(major);
    }
}

fn check(major: u32) {
    let Some(mut command) = page(major) else { return };
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let first = lines.next().unwrap();
    let model = first.strip_prefix("model ").unwrap();
    let demo = Started::with(&["--provider", "demo", "--helpers"]);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("page-{major}"));
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).unwrap();
    let database = folder.join("service.db");
    let flags = ["--no-auth", "--provider", "openai", "--base-url", model, "--model", "m"];
    let flags = [&flags[..], &["--database", database.to_str().unwrap()]].concat();
    let mut slow = Started::exactly(&flags);
    let address = host(&slow.link).to_owned();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{}\n{}", demo.link, slow.link).unwrap();
    let mut printed = Vec::new();
    for line in lines {
        if line == "restart" {
            assert_eq!(slow.end("-KILL"), None);
            slow = Started::at(&address, &flags);
            writeln!(stdin, "restarted").unwrap();
        }
        printed.push(line);
    }
    assert!(child.wait().unwrap().success(), "{printed:#?}");
    let done = printed.iter().filter(|line| line.starts_with("ok useChat: ")).count();
    assert_eq!(done, SCENARIOS, "{printed:#?}");
    say(format!("useChat of ai {major} in a page: {done} scenarios"));
}
