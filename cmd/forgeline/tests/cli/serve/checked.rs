//! What `serve --check` tells, and what it does not show.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _, process::Stdio};

use crate::{
    flags::file,
    process::{Outcome, finish, forgeline},
};

/// Runs `serve` with these arguments and variables.
fn serve(arguments: &[&str], variables: &[(&str, &[u8])]) -> Outcome {
    let mut command = forgeline(&[&["serve"], arguments].concat());
    for (name, value) in variables {
        command.env(name, OsStr::from_bytes(value));
    }
    finish(command.stdin(Stdio::piped()).spawn().unwrap(), b"")
}

#[test]
fn a_secret_in_the_place_of_a_path_a_name_or_an_address_is_not_shown() {
    const SECRETS: [&str; 3] = ["1986abcd", "live-secret", "pass-word"];
    let token = format!("fl_{}", "1986abcd".repeat(8));
    let key = "sk-live-secret123";
    let set = |text: String| file(&format!("secret-{}.toml", text.len()), text.as_bytes());
    let files = [
        format!("tokens = {token:?}\n"),
        format!("database = {token:?}\n\n"),
        format!("listen = {token:?}\n\n\n"),
        "origins = \"https://ann:pass-word@a.example?key=live-secret\"\n".to_owned(),
        format!("[agents.a]\napi_key_env = {key:?}\n"),
        format!("[agents.a]\nprovider = {key:?}\n\n"),
        format!("[agents.a]\nprovider = \"demo\"\nmcp = {key:?}\n"),
        format!("[agents.a]\nprovider = \"openai\"\napi_key = {key:?}\n"),
    ];
    let mut outcomes: Vec<_> =
        files.into_iter().map(|text| serve(&["--check", "--config", &set(text)], &[])).collect();
    for name in ["TOKENS", "DATABASE", "LISTEN", "DEV", "ORIGINS", "LIMITS_RUNS"] {
        let name = format!("FORGELINE_{name}");
        let arguments = ["--check", "--provider", "demo"];
        outcomes.push(serve(&arguments, &[(&name, token.as_bytes())]));
    }
    for flag in ["--tokens", "--database", "--config", "--mcp", "--api-key-env"] {
        outcomes.push(serve(&["--check", flag, &token], &[]));
    }
    for outcome in outcomes {
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        let reported = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(!SECRETS.iter().any(|secret| reported.contains(secret)), "{reported}");
        assert!(reported.contains("error: "), "{reported}");
    }
}

#[test]
fn variables_that_cannot_be_read_or_are_misspelt_keep_the_service_from_starting() {
    let rows: [(&str, &[u8], &str); 6] = [
        ("FORGELINE_TOKENS", b"/p/\xff", "FORGELINE_TOKENS: expected valid UTF-8"),
        ("FORGELINE_LISTEN", b"\xff", "FORGELINE_LISTEN: expected valid UTF-8"),
        ("FORGELINE_TOKENS", b"", "FORGELINE_TOKENS: expected the path of a file"),
        (
            "FORGELINE_TOKEN",
            b"t.txt",
            "FORGELINE_TOKEN: unknown variable; expected FORGELINE_TOKENS",
        ),
        ("FORGELINE_AUTH_TOKENS", b"\xff", "FORGELINE_AUTH_TOKENS: unknown variable"),
        ("FORGELINE_AGENTS_A_MODEL", b"m", "expected a table [agents.NAME] in the file"),
    ];
    for (name, value, want) in rows {
        for (arguments, code) in
            [(&["--provider", "demo", "--check"][..], 1), (&["--provider", "demo"], 2)]
        {
            let outcome = serve(arguments, &[(name, value)]);
            assert_eq!(outcome.code, Some(code), "{name}: {outcome:?}");
            assert!(outcome.stderr.contains(want), "{name}: {outcome:?}");
        }
    }
    let other = serve(&["--provider", "demo", "--check"], &[("FORGELINE_BOGUS", b"\xff")]);
    assert_eq!(other.code, Some(0), "{other:?}");
    // The one who runs the tests may have set others.
    let reported = other.stderr.lines().find(|line| line.contains("unknown variables: "));
    assert!(reported.is_some_and(|line| line.contains("FORGELINE_BOGUS")), "{other:?}");
}

// Rows: N-45
#[test]
fn n45_an_agent_of_the_file_trusts_servers_of_its_own_file() {
    let servers = file("trusted.json", br#"{"mcpServers":{"bills":{"command":"/bin/true"}}}"#);
    for (trusted, code, want) in [
        ("[\"bills\"]", 0, "the configuration is valid"),
        ("[\"bills.read\", \"mcp.bills\"]", 0, "the configuration is valid"),
        ("[\"mails\"]", 1, "agents.a: --trust-mcp: there is no MCP server mails"),
        ("[\"sk-live-secret123\"]", 1, "which looks like a secret; expected one of: bills"),
        ("[\"bills.\"]", 1, "expected the name of a server, or SERVER.TOOL"),
    ] {
        let agent = format!("provider = \"demo\"\nmcp = {servers:?}\ntrust_mcp = {trusted}\n");
        let text = format!("[agents.a]\n{agent}");
        let config = file(&format!("trust-{}-{code}.toml", trusted.len()), text.as_bytes());
        let outcome = serve(&["--check", "--config", &config], &[]);
        assert_eq!(outcome.code, Some(code), "{trusted}: {outcome:?}");
        let reported = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(reported.contains(want), "{trusted}: {reported}");
    }
}

#[test]
fn check_lists_all_errors_of_a_start() {
    let wrong = file(
        "whole.toml",
        b"listen = \"x\"\ndatabase = \"/nope/d/x.db\"\n[limits]\nheaders = 200\nhead_bytes = 200000\n\
          [agents.a]\nprovider = \"demo\"\napprove = \"bogus\"\n[agents.b]\nprovider = \"demo\"\napprove = \"mcp.x.y\"\n",
    );
    let outcome = serve(&["--check", "--config", &wrong], &[]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    for want in [
        "toml:1: listen: expected an address",
        "/nope/d",
        "toml:4: limits.headers: expected a number from 1 to 100, not 200",
        "toml:5: limits.head_bytes: expected a number from 1 to ",
        "toml:6: agents.a: --approve: unknown tool bogus",
        "toml:9: agents.b: --approve: unknown tool mcp.x.y",
    ] {
        assert!(outcome.stderr.contains(want), "{want}: {}", outcome.stderr);
    }
    let demo = ["--check", "--provider", "demo"];
    let set = [("FORGELINE_LISTEN", &b"x"[..]), ("FORGELINE_DATABASE", b"/nope/d/x.db")];
    let outcome = serve(&demo, &set);
    let reported = ["FORGELINE_LISTEN: expected an address", "/nope/d"];
    assert!(reported.iter().all(|want| outcome.stderr.contains(want)), "{outcome:?}");
    // A file that cannot be read hides nothing either.
    let outcome = serve(&["--check", "--config", "nope.toml", "--database", "/nope/d/x.db"], &[]);
    let reported = ["cannot read nope.toml", "/nope/d"];
    assert!(reported.iter().all(|want| outcome.stderr.contains(want)), "{outcome:?}");
    let outcome = serve(&[&demo[..], &["--approve", "bogus"]].concat(), &[]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains("unknown tool bogus"), "{outcome:?}");
    let outcome = serve(&[&demo[..], &["--approve", "notes.keep,calculator"]].concat(), &[]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    for empty in ["", ":memory:"] {
        let text = format!("database = {empty:?}\n");
        let config = file(&format!("empty-{}.toml", empty.len()), text.as_bytes());
        for (arguments, code) in [(&["--check"][..], 1), (&[], 2)] {
            let arguments = [&["--provider", "demo", "--config", &config], arguments].concat();
            let outcome = serve(&arguments, &[]);
            assert_eq!(outcome.code, Some(code), "{outcome:?}");
            assert!(outcome.stderr.contains("database"), "{outcome:?}");
        }
    }
}
