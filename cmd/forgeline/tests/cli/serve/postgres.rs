//! `serve --postgres`, of one node.

use std::fs;

use forgeline_testkit::{pooler::PostgresPooler, postgres::PostgresServer};
use serde_json::{Value, json};

use super::started::Started;
use crate::{
    flags::file,
    process::{forgeline, run},
};

/// A password that the server, which trusts everyone, does not ask for.
const PASSWORD: &str = "planted-password";

/// Returns the URL of a new database, with the password, and its name.
fn database(server: &PostgresServer) -> (String, String) {
    let url = server.database();
    let name = url.split(['/', '?']).find(|part| part.starts_with("test_")).unwrap().to_owned();
    (url.replace("tests@", &format!("tests:{PASSWORD}@")), name)
}

#[test]
fn what_is_kept_in_a_shared_database_is_there_after_a_restart() {
    let Some(server) = PostgresServer::shared() else { return };
    let (url, name) = database(server);
    let mut said = String::new();
    for seen in
        ["has no schema yet; a start creates version 2", "version 2 of the schema, the newest"]
    {
        let checked = run(&["serve", "--provider", "demo", "--check", "--postgres", &url], b"");
        assert_eq!(checked.code, Some(0), "{checked:?}");
        assert!(checked.stderr.contains(seen) && checked.stderr.contains(&name), "{checked:?}");
        let serve = Started::with(&["--provider", "demo", "--postgres", &url, "--dev"]);
        let run = serve.begin("What is 6*7?");
        assert!(serve.answer(&run).contains("6*7 = 42"));
        let ready = serve.get("/ready").body;
        assert!(ready.contains("\"postgres_notifications\",\"status\":\"healthy\""), "{ready}");
        said.push_str(&(checked.stderr + &ready));
        loop {
            let line = serve.line();
            said.push_str(&line);
            if line.contains("a run has ended") {
                break;
            }
        }
        assert_eq!(serve.end("-TERM"), Some(0));
    }
    assert!(said.contains("PostgreSQL is connected") && !said.contains(PASSWORD), "{said}");
    let sessions = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'");
    // The database learns a moment after its end that a service has closed its sessions.
    server.wait_for("postgres", &sessions, "0");
}

#[test]
fn what_a_caller_has_in_a_shared_database_is_erased() {
    let Some(server) = PostgresServer::shared() else { return };
    let (url, _) = database(server);
    let serve = Started::with(&["--provider", "demo", "--postgres", &url, "--deltas", "async"]);
    let id = serve.begin("Who are you?");
    serve.answer(&id);
    assert_eq!(serve.end("-TERM"), Some(0));
    let ask = |more: &[&str]| {
        let all = ["erase", "local", "--scope", "local", "--postgres", &url];
        let outcome = run(&[&all, more].concat(), b"");
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        assert!(!format!("{outcome:?}").contains(PASSWORD), "{outcome:?}");
        outcome.stdout
    };
    assert_eq!(ask(&["--dry-run"]), "1 conversation, 2 messages, 1 run, 0 streams\n");
    assert_eq!(ask(&[]), "1 conversation, 2 messages, 1 run, 0 streams\n");
    assert_eq!(ask(&[]), "0 conversations, 0 messages, 0 runs, 0 streams\n");
}

#[test]
fn a_node_behind_a_pooler_says_that_its_readers_poll() {
    let Some(server) = PostgresServer::shared() else { return };
    let Some(pooler) = PostgresPooler::start("serve", server) else { return };
    let direct = server.database();
    let shared = pooler.url(&direct);
    let rows = [
        (&["--postgres", &shared][..], "degraded", "readers look every 10 ms"),
        (&["--postgres", &shared, "--postgres-direct", &direct], "ready", "readers are notified"),
    ];
    for (flags, status, want) in rows {
        let serve = Started::with(&[&["--provider", "demo"], flags].concat());
        serve.says(want);
        let ready = serve.get("/ready");
        assert_eq!((ready.status, &ready.json()["status"]), (200, &json!(status)), "{ready:?}");
        let advice = "set the direct URL of the server";
        assert_eq!(ready.body.contains(advice), status == "degraded", "{ready:?}");
        let run = serve.begin("What is 6*7?");
        assert!(serve.answer(&run).contains("6*7 = 42"));
        assert_eq!(serve.end("-TERM"), Some(0));
    }
}

#[test]
fn the_password_of_a_database_is_in_no_message() {
    let far = format!("postgres://ann:{PASSWORD}@127.0.0.1:9/app");
    let config = file("far.toml", format!("postgres = {far:?}\n").as_bytes());
    let wrong = format!("mysql://ann:{PASSWORD}@host/app");
    let at = format!("postgres://ann:p@{PASSWORD}@127.0.0.1:9/app");
    let password = file("password-of-postgres.txt", PASSWORD.as_bytes());
    #[rustfmt::skip]
    let rows: [(&[&str], &str); 8] = [
        (&["--postgres", &far],                              "cannot use the database 127.0.0.1/app"),
        (&["--config", &config],                             "cannot use the database 127.0.0.1/app"),
        (&["--postgres", &wrong],                            "--postgres: expected a URL such as postgres://"),
        (&["--postgres", &at],                               "write it as %40"),
        (&["--postgres-direct", &far],                       "need `postgres`"),
        (&["--deltas", "async"],                             "`deltas` needs `postgres`"),
        (&["--config", &config, "--database", "a.db"],       "`postgres` and `database` exclude each other"),
        (&["--postgres", "postgres://ann@127.0.0.1:9/app", "--postgres-password-file", &password, "--root", env!("CARGO_TARGET_TMPDIR")], "password-of-postgres.txt"),
    ];
    for (arguments, want) in rows {
        for (more, code) in [(&["--check"][..], 1), (&[], 2)] {
            let all =
                [&["serve", "--listen", "127.0.0.1:0", "--provider", "demo"], arguments, more];
            let outcome = run(&all.concat(), b"");
            assert_eq!(outcome.code, Some(code), "{arguments:?}: {outcome:?}");
            let reported = format!("{}{}", outcome.stdout, outcome.stderr);
            assert!(reported.contains(want), "{arguments:?}: {reported}");
            assert!(!reported.contains(PASSWORD), "{reported}");
        }
    }
    let both = run(&["serve", "--postgres", &far, "--database", "a.db"], b"");
    assert_eq!(both.code, Some(2), "{both:?}");
    assert!(both.stderr.contains("cannot be used with") && !both.stderr.contains(PASSWORD));
    let variable = forgeline(&["serve", "--provider", "demo", "--check"])
        .env("FORGELINE_POSTGRES", &far)
        .output()
        .unwrap();
    let reported = String::from_utf8(variable.stderr).unwrap();
    assert!(reported.contains("127.0.0.1/app") && !reported.contains(PASSWORD), "{reported}");
}

#[test]
fn a_password_comes_from_a_file_or_a_variable() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.database();
    let missing = concat!(env!("CARGO_TARGET_TMPDIR"), "/no-password.txt");
    let file = ["serve", "--provider", "demo", "--check", "--postgres-password-file", missing];
    let outcome = run(&[&file[..], &["--postgres", &url]].concat(), b"");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains("the password file"), "{outcome:?}");
    fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/password.txt"), format!("{PASSWORD}\n"))
        .unwrap();
    let password = concat!(env!("CARGO_TARGET_TMPDIR"), "/password.txt");
    let serve = Started::with(&[
        "--provider",
        "demo",
        "--postgres",
        &url,
        "--postgres-password-file",
        password,
    ]);
    let reply: Value = serve.post("/v1/runs", &json!({ "input": "Hello" })).json();
    assert!(reply["run_id"].is_string(), "{reply}");
    let outcome = forgeline(&["serve", "--provider", "demo", "--check", "--postgres", &url])
        .env("FORGELINE_POSTGRES_PASSWORD", PASSWORD)
        .output()
        .unwrap();
    assert!(outcome.status.success(), "{outcome:?}");
}
