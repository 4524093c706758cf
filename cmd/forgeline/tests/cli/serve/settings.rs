//! The configuration and the tokens of `serve`.

use std::fs;

use forgeline_testkit::server::{ScriptedServer, Seen};
use serde_json::json;
use tokio::task::block_in_place;

use super::started::Started;
use crate::{
    flags::{body, file},
    process::run,
    project::project,
    run::answer,
};

// Covers: T-96
#[test]
fn a_configuration_is_looked_at_whole_before_anything_begins() {
    let wrong = file(
        "wrong.toml",
        b"listen = \"0.0.0.0:0\"\nprot = 1\n[limits]\nruns = 0\n[agents.a]\nprovider = \"demo\"\nmcp = \"nowhere.json\"\n",
    );
    for (arguments, want) in [(&["--check"][..], 1), (&[], 2)] {
        let outcome = run(&[&["serve", "--config", &wrong], arguments].concat(), b"");
        assert_eq!(outcome.code, Some(want), "{outcome:?}");
        for said in ["toml:2: prot", "toml:4: limits.runs", "toml:5: agents.a", "nowhere.json"] {
            assert!(outcome.stderr.contains(said), "{said}: {}", outcome.stderr);
        }
    }
    let right = file("right.toml", b"[agents.a]\nprovider = \"demo\"\n");
    let outcome = run(&["serve", "--config", &right, "--check"], b"");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let reached = ["serve", "--config", &right, "--check", "--listen", "0.0.0.0:0"];
    assert_eq!(run(&reached, b"").code, Some(1), "other machines need tokens");
}

// Rows: N-65
#[test]
fn n65_an_agent_takes_the_history_of_a_client_where_it_is_set() {
    let config = |text: &str| {
        let text = format!("no_auth = true\n[agents.a]\nprovider = \"demo\"\n{text}");
        file("history.toml", text.as_bytes())
    };
    let of = |role: &str, text: &str| json!({ "role": role, "parts": [{ "type": "text", "text": text }] });
    let said = json!([of("user", "a"), of("assistant", "b"), of("user", "What is 6 * 7?")]);
    for (text, taken) in [("", 0), ("client_history = false\n", 0), ("client_history = true\n", 2)]
    {
        let serve = Started::with(&["--config", &config(text)]);
        let sent = serve.post("/api/chat", &json!({ "id": "c", "messages": said })).body;
        assert!(sent.contains("42"), "{sent}");
        assert_eq!(sent.contains("history_not_read"), taken == 0, "{text}: {sent}");
        let page = serve.get("/v1/conversations/c").json();
        let first = &page["page"]["messages"][0]["message"]["parts"][0]["text"];
        assert_eq!(first, if taken > 0 { "a" } else { "What is 6 * 7?" }, "{text}: {page}");
    }
    let flag = Started::with(&["--provider", "demo", "--client-history"]);
    let sent = flag.post("/api/chat", &json!({ "id": "c", "messages": said })).body;
    assert!(!sent.contains("history_not_read"), "{sent}");
    let outcome = run(&["run", "--provider", "demo", "--client-history", "Hello."], b"");
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("--client-history works only with `serve`"), "{outcome:?}");
}

#[test]
fn agents_limits_and_tokens_come_from_the_configuration() {
    let tokens = file("tokens.txt", b"");
    let new = |arguments: &[&str]| {
        let outcome = run(&[&["token"], arguments, &["--file", &tokens]].concat(), b"");
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        outcome.stdout.trim().to_owned()
    };
    let ann = new(&["ann", "--scope", "team-a", "--permission", "service.observe"]);
    let eve = new(&["eve"]);
    let kept = fs::read_to_string(&tokens).unwrap();
    assert!(kept.lines().count() == 2 && !kept.contains(&ann) && !kept.contains(&eve), "{kept}");
    let config = format!(
        "tokens = {tokens:?}\ndev = true\n[limits]\nruns_per_minute = 1\n\
         [agents.second]\nprovider = \"demo\"\n[agents.first]\nprovider = \"demo\"\nno_tools = true\n"
    );
    let config = file("several.toml", config.as_bytes());
    let serve = Started::with(&["--config", &config]);
    assert_eq!(serve.get("/v1/agents").status, 401);
    let ask = |method: &str, path: &str, token: &str, body: &str| {
        let mut connection = serve.connect().unwrap();
        let more = format!("authorization: Bearer {token}\r\ncontent-type: application/json\r\n");
        connection.ask(method, path, &more, body);
        connection.answer()
    };
    let agents = ask("GET", "/v1/agents", &ann, "").json();
    assert_eq!(agents["agents"][0]["name"], "second", "in the order of the file");
    assert_eq!(agents["agents"][1]["name"], "first");
    assert_eq!(ask("GET", "/dev/latency", &ann, "").status, 200);
    assert_eq!(ask("GET", "/metrics", &eve, "").status, 403);
    assert_eq!(ask("GET", "/ready", &eve, "").status, 200);
    let body = json!({ "input": "Hello", "agent": "first" }).to_string();
    assert_eq!(ask("POST", "/v1/runs", &ann, &body).status, 202);
    let second = ask("POST", "/v1/runs", &ann, &body);
    assert_eq!((second.status, second.header("retry-after").is_some()), (429, true));
    assert_eq!(ask("POST", "/v1/runs", &eve, &body).status, 202);
}

#[test]
fn logs_have_ids_and_neither_tokens_nor_what_was_said() {
    let tokens = file("logged.txt", b"");
    let token = run(&["token", "ann", "--file", &tokens], b"").stdout.trim().to_owned();
    let serve = Started::with(&["--provider", "demo", "--tokens", &tokens]);
    let mut connection = serve.connect().unwrap();
    let more = format!(
        "authorization: Bearer {token}\r\ncontent-type: application/json\r\nx-request-id: planted-request\r\n"
    );
    let body = json!({ "input": "planted-prompt 6*7" }).to_string();
    connection.ask("POST", "/v1/runs?planted-query", &more, &body);
    assert_eq!(connection.answer().status, 400);
    connection.ask("GET", "/health?planted-query", &more, "");
    assert_eq!(connection.answer().status, 200);
    connection.ask("POST", "/v1/runs", &more, &body);
    let run = connection.answer().json()["run_id"].as_str().unwrap().to_owned();
    let mut lines = Vec::new();
    while !lines.iter().any(|line: &String| line.contains("a run has ended")) {
        lines.push(serve.line());
    }
    let begins = lines.iter().find(|line| line.contains("a run begins")).unwrap();
    let begins: serde_json::Value = serde_json::from_str(begins).unwrap();
    assert_eq!(begins["run_id"], json!(run));
    assert_eq!(begins["span"]["request_id"], "planted-request", "{begins}");
    let all = lines.concat();
    for secret in [token.as_str(), "planted-prompt", "planted-query"] {
        assert!(!all.contains(secret), "{secret}: {all}");
    }
}

#[test]
fn what_is_kept_in_a_database_is_there_after_a_restart() {
    let folder = concat!(env!("CARGO_TARGET_TMPDIR"), "/serve-database");
    drop(fs::remove_dir_all(folder));
    fs::create_dir_all(folder).unwrap();
    let path = format!("{folder}/service.db");
    for _ in 0..2 {
        let serve = Started::with(&["--provider", "demo", "--database", &path]);
        let run = serve.begin("What is 6*7?");
        assert!(serve.answer(&run).contains("6*7 = 42"));
        assert_eq!(serve.end("-TERM"), Some(0));
        assert!(!fs::exists(format!("{path}-wal")).unwrap(), "all is in one file");
    }
    // A file that is not a database is reported at once, and is not changed.
    let foreign = format!("{folder}/foreign.db");
    fs::write(&foreign, "This is a text, and no database at all. ".repeat(200)).unwrap();
    let before = fs::read(&foreign).unwrap();
    let arguments =
        ["serve", "--provider", "demo", "--listen", "127.0.0.1:0", "--database", &foreign];
    let outcome = run(&arguments, b"");
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("cannot be read"), "{outcome:?}");
    assert!(outcome.stderr.contains(&foreign), "{outcome:?}");
    assert_eq!(fs::read(&foreign).unwrap(), before);
    let bad = format!("{folder}/no/folder/service.db");
    let outcome =
        run(&["serve", "--provider", "demo", "--listen", "127.0.0.1:0", "--database", &bad], b"");
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_served_agent_follows_the_instructions_of_its_project() {
    let root = project("project-served");
    for (flags, follows) in [(&[][..], true), (&["--no-project"], false)] {
        let mut server = ScriptedServer::start(vec![answer("Done.")]).await;
        let url = server.url();
        let at = ["--base-url", &url, "--model", "my-own", "--root", root.to_str().unwrap()];
        let said = block_in_place(|| {
            let serve = Started::with(&[&at, flags].concat());
            serve.answer(&serve.begin("What is to be done?"))
        });
        let sent = body(&mut server).await;
        let system = sent["messages"][0]["content"].as_str().unwrap();
        assert_eq!((said.as_str(), system.contains("Prices are in cents.")), ("Done.", follows));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_chooses_among_the_models_of_the_configuration() {
    let chosen = [(None, "small-1"), (Some("large-2"), "large-2"), (Some("small-1"), "small-1")];
    let mut server = ScriptedServer::start(chosen.map(|_| answer("Hello.")).to_vec()).await;
    let config = format!(
        "no_auth = true\n[agents.a]\nprovider = \"openai\"\nbase_url = \"{}/v1\"\nmodel = \"small-1\"\nmodels = [\"large-1\", \"large-2\"]\n",
        server.url()
    );
    let config = file("models.toml", config.as_bytes());
    let serve = block_in_place(|| Started::with(&["--config", &config]));
    for (model, want) in chosen {
        let text = block_in_place(|| {
            let mut body = json!({ "input": "Hi" });
            if let Some(model) = model {
                body["model"] = json!(model);
            }
            let begun = serve.post("/v1/runs", &body).json();
            serve.answer(begun["run_id"].as_str().unwrap())
        });
        assert_eq!(text, "Hello.");
        let Seen::Request { body, .. } = server.seen().await else { panic!("no request") };
        let asked: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(asked["model"], want);
    }
    block_in_place(|| {
        let agents = serve.get("/v1/agents").json();
        assert_eq!(agents["agents"][0]["models"], json!(["small-1", "large-1", "large-2"]));
        let refused = serve.post("/v1/runs", &json!({ "input": "Hi", "model": "huge-1" }));
        let names = "choose one of `small-1`, `large-1`, `large-2`";
        assert!(refused.status == 400 && refused.body.contains(names), "{refused:?}");
    });
}

#[test]
fn models_to_choose_from_go_with_the_service_and_a_provider_that_has_several() {
    let outcome = run(&["run", "--provider", "demo", "--models", "a", "Hi"], b"");
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("works only with `serve`"), "{outcome:?}");
    let outcome = run(&["serve", "--provider", "demo", "--models", "a", "--check"], b"");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains("the demo has one"), "{outcome:?}");
}

#[test]
fn what_a_caller_has_in_a_database_is_erased_from_its_file() {
    let folder = concat!(env!("CARGO_TARGET_TMPDIR"), "/serve-erase");
    fs::remove_dir_all(folder).ok();
    fs::create_dir_all(folder).unwrap();
    let path = format!("{folder}/service.db");
    let tokens = format!("{folder}/tokens.txt");
    let mut said = Vec::new();
    for caller in ["ann", "bob"] {
        let made = run(&["token", caller, "--scope", "team-a", "--file", &tokens], b"");
        let serve =
            Started::with(&["--provider", "demo", "--database", &path, "--tokens", &tokens]);
        let token = made.stdout.trim();
        let more = format!("authorization: Bearer {token}\r\ncontent-type: application/json\r\n");
        let body = json!({ "input": format!("planted-of-{caller}") }).to_string();
        let mut connection = serve.connect().unwrap();
        connection.ask("POST", "/v1/runs", &more, &body);
        let begun = connection.answer();
        assert_eq!(begun.status, 202);
        let run_id = begun.json()["run_id"].as_str().unwrap().to_owned();
        let mut events = serve.connect().unwrap();
        events.ask("GET", &format!("/v1/runs/{run_id}/events"), &more, "");
        assert!(events.answer().body.contains("event: run_end\n"));
        let ask = ["erase", caller, "--scope", "team-a", "--database", &path];
        let held = run(&ask, b"");
        assert_eq!(held.code, Some(2), "{held:?}");
        assert!(held.stderr.contains("another process has"), "{held:?}");
        assert_eq!(serve.end("-TERM"), Some(0));
        said.push(run_id);
    }
    let has = |text: &str| {
        let file = fs::read(&path).unwrap();
        file.windows(text.len()).any(|at| at == text.as_bytes())
    };
    let ask = |more: &[&str]| {
        let all = ["erase", "ann", "--scope", "team-a", "--database", &path];
        let outcome = run(&[&all, more].concat(), b"");
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        outcome.stdout
    };
    assert_eq!(ask(&["--dry-run"]), "1 conversation, 2 messages, 1 run, 0 streams\n");
    assert!(has("planted-of-ann") && has("planted-of-bob"));
    assert_eq!(ask(&[]), "1 conversation, 2 messages, 1 run, 0 streams\n");
    assert!(!has("planted-of-ann"), "nothing of it is left in the file");
    assert!(has("planted-of-bob") && has(&said[1]), "what others have stays");
    assert_eq!(ask(&[]), "0 conversations, 0 messages, 0 runs, 0 streams\n");
    let missing = run(&["erase", "ann", "--database", &format!("{folder}/none.db")], b"");
    assert_eq!(missing.code, Some(2), "{missing:?}");
    assert!(missing.stderr.contains("there is no database"), "{missing:?}");
    fs::remove_dir_all(folder).ok();
}
