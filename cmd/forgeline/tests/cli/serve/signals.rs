//! The files that a running service reads again, and those that it keeps from a second one.

use std::fs;

use super::started::Started;
use crate::process::run;

/// A folder of this test alone.
fn folder(name: &str) -> String {
    let folder = format!("{}/signals-{name}", env!("CARGO_TARGET_TMPDIR"));
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Adds a token to a file; returns it.
fn token(name: &str, file: &str) -> String {
    let outcome = run(&["token", name, "--file", file], b"");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    outcome.stdout.trim().to_owned()
}

fn status(serve: &Started, token: &str) -> u16 {
    let mut connection = serve.connect().unwrap();
    connection.ask("GET", "/v1/agents", &format!("authorization: Bearer {token}\r\n"), "");
    connection.answer().status
}

// Rows: N-64
#[cfg(unix)]
#[test]
fn n64_a_tokens_file_is_read_again_and_a_hangup_ends_nothing() {
    let tokens = format!("{}/tokens.txt", folder("tokens"));
    let ann = token("ann", &tokens);
    let serve = Started::with(&["--provider", "demo", "--tokens", &tokens]);
    let first = fs::read_to_string(&tokens).unwrap();
    // Without a signal, a while after it was written.
    let bob = token("bob", &tokens);
    assert_eq!(status(&serve, &ann), 200);
    serve.says("the tokens file was read again");
    assert_eq!((status(&serve, &ann), status(&serve, &bob)), (200, 200));
    // With a signal, at once; what cannot be used changes nothing.
    fs::write(&tokens, format!("{first}nonsense\n")).unwrap();
    serve.signal("-HUP");
    serve.says("the tokens file cannot be used");
    assert_eq!((status(&serve, &ann), status(&serve, &bob)), (200, 200));
    fs::write(&tokens, first).unwrap();
    serve.signal("-HUP");
    serve.says("the tokens file was read again");
    assert_eq!((status(&serve, &ann), status(&serve, &bob)), (200, 401));
    assert_eq!(serve.end("-TERM"), Some(0));
}

// Rows: N-64
#[cfg(unix)]
#[test]
fn n64_a_hangup_ends_no_service_without_a_tokens_file_either() {
    let serve = Started::demo();
    serve.signal("-HUP");
    assert_eq!(serve.get("/ready").status, 200);
    let id = serve.begin("What is 6*7?");
    assert!(serve.answer(&id).contains("42"));
    assert_eq!(serve.end("-TERM"), Some(0));
}

// Rows: N-64
#[cfg(unix)]
#[test]
fn n64_a_second_service_on_the_same_database_is_refused_by_whatever_link() {
    let folder = folder("links");
    let path = |name: &str| format!("{folder}/{name}");
    let serve = Started::with(&["--provider", "demo", "--database", &path("service.db")]);
    std::os::unix::fs::symlink(path("service.db"), path("soft.db")).unwrap();
    std::os::unix::fs::symlink(&folder, path("folder")).unwrap();
    let refused = |name: &str| {
        let flags = ["serve", "--listen", "127.0.0.1:0", "--no-auth", "--provider", "demo"];
        run(&[&flags[..], &["--database", &path(name)]].concat(), b"")
    };
    for name in ["service.db", "soft.db", "folder/service.db", "folder/soft.db"] {
        let outcome = refused(name);
        assert_eq!(outcome.code, Some(2), "{name}: {outcome:?}");
        assert!(outcome.stderr.contains("another process has"), "{name}: {outcome:?}");
    }
    fs::hard_link(path("service.db"), path("hard.db")).unwrap();
    let outcome = refused("hard.db");
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("hard links"), "{outcome:?}");
    assert_eq!(serve.end("-TERM"), Some(0));
}
