//! The files of the service and the roots of its agents; who may call it.

use std::{fs, path::Path, time::Instant};

use forgeline_testkit::server::{ScriptedServer, Seen, Step};
use serde_json::{Value, json};
use tokio::task::block_in_place;

use super::started::Started;
use crate::{
    flags::body,
    flood::SOON,
    process::{forgeline, run},
    run::{answer, delta},
};

fn folder(name: &str) -> String {
    let path = format!("{}/{name}", env!("CARGO_TARGET_TMPDIR"));
    drop(fs::remove_dir_all(&path));
    fs::create_dir_all(format!("{path}/root/sub")).unwrap();
    path
}

/// The names of the tools that a request offers.
fn tools(sent: &Value) -> Vec<String> {
    let tools = sent["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

// Rows: N-60
#[tokio::test(flavor = "multi_thread")]
async fn n60_a_service_has_file_tools_only_if_they_are_asked_for() {
    let folder = folder("own-asked");
    let root = format!("{folder}/root");
    let rows: [(&[&str], &str, bool); 5] = [
        (&[], "files_", false),
        (&["--skills", &root], "files_", false),
        (&["--root", &root], "files_read", true),
        (&["--root", &root, "--write"], "files_remove", true),
        (&["--root", &root, "--allow-command", "ls"], "command_run", true),
    ];
    for (flags, name, has) in rows {
        let mut server = ScriptedServer::start(vec![answer("Done.")]).await;
        let url = server.url();
        let all = [&["--base-url", &url, "--model", "my-own", "--no-project"], flags].concat();
        block_in_place(|| {
            let serve = Started::with(&all);
            serve.answer(&serve.begin("Look around."))
        });
        let names = tools(&body(&mut server).await);
        assert_eq!(names.iter().any(|it| it.starts_with(name)), has, "{flags:?}: {names:?}");
    }
    let hidden = run(&["serve", "--provider", "demo", "--hidden", "--check"], b"");
    assert_eq!(hidden.code, Some(1), "{hidden:?}");
    assert!(hidden.stderr.contains("--root DIR"), "{hidden:?}");
}

// Rows: N-60
#[test]
fn n60_a_service_whose_files_are_below_a_root_does_not_start() {
    let folder = folder("own-below");
    let (root, at) = (format!("{folder}/root"), |name: &str| format!("{folder}/{name}"));
    let made = run(&["token", "ann", "--file", &at("root/tokens.txt")], b"");
    assert_eq!(made.code, Some(0), "{made:?}");
    fs::copy(at("root/tokens.txt"), at("tokens.txt")).unwrap();
    fs::write(at("root/mcp.json"), "{}").unwrap();
    std::os::unix::fs::symlink("root/tokens.txt", at("link.txt")).unwrap();
    std::os::unix::fs::symlink("../tokens.txt", at("root/out.txt")).unwrap();
    let config = |name: &str, text: &str| {
        fs::write(
            at(name),
            format!("no_auth = true\n[agents.a]\nprovider = \"demo\"\nroot = {root:?}\n{text}"),
        )
        .unwrap();
        at(name)
    };
    let inside = config("root/serve.toml", "");
    let of_agent = config(
        "agent.toml",
        "mcp = \"mcp.json\"\n".replace("mcp.json", &at("root/mcp.json")).as_str(),
    );
    let outside = config("serve.toml", "");
    let rooted = ["--root", &root];
    let rows: [(&[&str], bool); 12] = [
        (&["--tokens", &at("root/tokens.txt")], false),
        (&["--tokens", &at("link.txt")], false),
        (&["--tokens", &at("root/out.txt")], false),
        (&["--tokens", &at("root/sub/../tokens.txt"), "--write"], false),
        (&["--tokens", &at("root/tokens.txt"), "--allow-command", "ls"], false),
        (&["--database", &at("root/service.db")], false),
        (&["--database", &at("root/sub/new.db")], false),
        (&["--mcp", &at("root/mcp.json")], false),
        (&["--tokens", &at("tokens.txt"), "--database", &at("service.db")], true),
        (&["--config", &inside], false),
        (&["--config", &of_agent], false),
        (&["--config", &outside], true),
    ];
    for (flags, is_right) in rows {
        let demo: &[&str] = if flags.contains(&"--config") { &[] } else { &["--provider", "demo"] };
        let all = [&["serve", "--listen", "127.0.0.1:0"], demo, &rooted, flags].concat();
        let checked = run(&[&all, &["--check"][..]].concat(), b"");
        assert_eq!(checked.code, Some(i32::from(!is_right)), "{flags:?}: {checked:?}");
        if !is_right {
            let started = run(&all, b"");
            assert_eq!(started.code, Some(2), "{flags:?}: {started:?}");
            for outcome in [checked, started] {
                assert!(outcome.stderr.contains("is a file of this program"), "{outcome:?}");
            }
        }
    }
    // The log, where it goes into a file.
    let log = fs::File::create(at("root/forgeline.log")).unwrap();
    let all = ["serve", "--listen", "127.0.0.1:0", "--provider", "demo", "--root", &root];
    let status = forgeline(&all).stderr(log).status().unwrap();
    assert_eq!(status.code(), Some(2));
    let log = fs::read_to_string(at("root/forgeline.log")).unwrap();
    assert!(log.contains("forgeline.log is a file of this program"), "{log}");
    // Without file tools, nothing is reached.
    let none = ["serve", "--provider", "demo", "--check", "--tokens", &at("root/tokens.txt")];
    assert_eq!(run(&none, b"").code, Some(0));
}

// Rows: N-60
#[tokio::test(flavor = "multi_thread")]
async fn n60_a_caller_reaches_no_file_of_the_service_through_a_hard_link() {
    let folder = folder("own-linked");
    let (root, database) = (format!("{folder}/root"), format!("{folder}/service.db"));
    let chunk = |delta: Value, end: Value| -> String {
        let choice = json!([{ "index": 0, "delta": delta, "finish_reason": end }]);
        format!("data: {}\n\n", json!({ "choices": choice }))
    };
    let call = json!({ "tool_calls": [{ "index": 0, "id": "c", "type": "function", "function": {
        "name": "files_read", "arguments": "{\"path\":\"linked.txt\"}" } }] });
    let calls = vec![
        Step::stream(),
        Step::chunk(chunk(call, Value::Null)),
        Step::chunk(chunk(json!({}), json!("tool_calls"))),
        Step::chunk("data: [DONE]\n\n"),
        Step::End,
    ];
    let mut server = ScriptedServer::start(vec![calls, answer("Done.")]).await;
    let url = server.url();
    block_in_place(|| {
        let flags = ["--base-url", &url, "--model", "m", "--root", &root, "--database", &database];
        let serve = Started::with(&flags);
        // It is made after the start, beside a database that is in use.
        fs::hard_link(&database, Path::new(&root).join("linked.txt")).unwrap();
        serve.answer(&serve.begin("Read it."))
    });
    server.seen().await;
    let Seen::Request { body, .. } = server.seen().await else { panic!("no second request") };
    let sent = String::from_utf8_lossy(&body);
    assert!(sent.contains("is a file of this program"), "{sent}");
}

/// A call of a tool, as a model writes it.
fn calls(name: &str, arguments: &Value) -> Vec<Step> {
    let call = json!({ "index": 0, "id": "c", "type": "function", "function": { "name": name, "arguments": arguments.to_string() } });
    vec![
        Step::stream(),
        delta(&json!({ "tool_calls": [call] }), None),
        delta(&json!({}), Some("tool_calls")),
        Step::chunk("data: [DONE]\n\n"),
        Step::End,
    ]
}

/// A folder of skills, with one and a group of one.
fn skills(folder: &str) -> String {
    let skills = format!("{folder}/skills");
    for (place, name) in [("notes", "notes"), ("group/lists", "lists")] {
        fs::create_dir_all(format!("{skills}/{place}/references")).unwrap();
        let text = format!("---\nname: {name}\ndescription: About {name}.\n---\nWrite.\n");
        fs::write(format!("{skills}/{place}/SKILL.md"), text).unwrap();
    }
    skills
}

// Rows: N-60
#[test]
fn n60_a_service_whose_files_are_in_a_folder_of_skills_does_not_start() {
    let folder = folder("own-skills");
    let (skills, at) = (skills(&folder), |name: &str| format!("{folder}/{name}"));
    let made = run(&["token", "ann", "--file", &at("tokens.txt")], b"");
    assert_eq!(made.code, Some(0), "{made:?}");
    for place in ["skills/tokens.txt", "skills/notes/tokens.txt", "skills/group/lists/tokens.txt"] {
        fs::copy(at("tokens.txt"), at(place)).unwrap();
    }
    fs::create_dir_all(at("elsewhere/linked")).unwrap();
    fs::write(
        at("elsewhere/linked/SKILL.md"),
        "---\nname: linked\ndescription: Far.\n---\nWrite.\n",
    )
    .unwrap();
    fs::copy(at("tokens.txt"), at("elsewhere/linked/tokens.txt")).unwrap();
    fs::create_dir_all(at("more")).unwrap();
    let link = std::os::unix::fs::symlink::<&str, String>;
    link("../elsewhere/linked", at("more/linked")).unwrap();
    link("skills/notes/tokens.txt", at("link.txt")).unwrap();
    link("../../tokens.txt", at("skills/notes/out.txt")).unwrap();
    fs::write(at("skills/notes/mcp.json"), "{\"mcpServers\":{}}").unwrap();
    let config = |place: &str| {
        fs::write(
            at(place),
            format!("no_auth = true\n[agents.a]\nprovider = \"demo\"\nskills = [{skills:?}]\n"),
        )
        .unwrap();
        at(place)
    };
    let (inside, outside) = (config("skills/notes/serve.toml"), config("serve.toml"));
    let (more, in_skills) = (at("more"), ["--skills", skills.as_str()]);
    let rows: [(&[&str], bool); 12] = [
        (&["--tokens", &at("skills/notes/tokens.txt")], false),
        (&["--tokens", &at("skills/tokens.txt")], false),
        (&["--tokens", &at("skills/group/lists/tokens.txt")], false),
        (&["--tokens", &at("link.txt")], false),
        (&["--tokens", &at("skills/notes/out.txt")], false),
        (&["--tokens", &at("elsewhere/linked/tokens.txt"), "--skills", &more], false),
        (&["--database", &at("skills/notes/service.db")], false),
        (&["--mcp", &at("skills/notes/mcp.json")], false),
        (&["--config", &inside], false),
        (&["--config", &outside], true),
        (&["--tokens", &at("tokens.txt"), "--database", &at("service.db")], true),
        (&["--tokens", &at("skills/notes/tokens.txt"), "--no-tools"], true),
    ];
    for (flags, is_right) in rows {
        let demo: &[&str] = if flags.contains(&"--config") { &[] } else { &["--provider", "demo"] };
        let all = [&["serve", "--listen", "127.0.0.1:0", "--no-project"], demo, &in_skills, flags]
            .concat();
        let checked = run(&[&all, &["--check"][..]].concat(), b"");
        assert_eq!(checked.code, Some(i32::from(!is_right)), "{flags:?}: {checked:?}");
        if !is_right {
            let started = run(&all, b"");
            assert_eq!(started.code, Some(2), "{flags:?}: {started:?}");
            for outcome in [checked, started] {
                assert!(outcome.stderr.contains("is a file of this program"), "{outcome:?}");
            }
        }
    }
}

// Rows: N-60
#[tokio::test(flavor = "multi_thread")]
async fn n60_no_tool_shows_a_file_of_the_service_by_any_name() {
    let folder = folder("own-reached");
    let (root, skills, at) =
        (format!("{folder}/root"), skills(&folder), |name: &str| format!("{folder}/{name}"));
    let made = run(&["token", "ann", "--file", &at("tokens.txt")], b"");
    let token = made.stdout.trim().to_owned();
    let secret = fs::read_to_string(at("tokens.txt")).unwrap();
    let digest = secret.split_whitespace().next().unwrap().to_owned();
    let outside = at("tokens.txt");
    let rows = [
        ("load_skill", json!({ "name": "notes", "path": "hard.txt" })),
        ("load_skill", json!({ "name": "notes", "path": "./references/../hard.txt" })),
        ("load_skill", json!({ "name": "notes", "path": "soft.txt" })),
        ("load_skill", json!({ "name": "notes", "path": outside })),
        ("load_skill", json!({ "name": "notes", "path": "../../tokens.txt" })),
        ("load_skill", json!({ "name": "lists", "path": "references/hard.txt" })),
        ("load_skill", json!({ "name": "../notes", "path": "hard.txt" })),
        ("files_read", json!({ "path": "hard.txt" })),
        ("files_read", json!({ "path": "sub/soft.txt" })),
        ("files_read", json!({ "path": "../tokens.txt" })),
        ("files_read", json!({ "path": outside })),
        ("files_search", json!({ "query": "sha256:" })),
        ("command_run", json!({ "command": ["cat", "hard.txt"] })),
        ("command_run", json!({ "command": ["cat", "../tokens.txt"] })),
        ("command_run", json!({ "command": ["cat", outside] })),
        ("command_run", json!({ "command": ["cat", "sub/soft.txt"] })),
    ];
    let scripts =
        rows.iter().flat_map(|(tool, arguments)| [calls(tool, arguments), answer("Done.")]);
    let mut server = ScriptedServer::start(scripts.collect()).await;
    let url = server.url();
    let header = format!("authorization: Bearer {token}\r\ncontent-type: application/json\r\n");
    block_in_place(|| {
        let flags = [
            "--base-url",
            &url,
            "--model",
            "m",
            "--root",
            &root,
            "--skills",
            &skills,
            "--no-project",
        ];
        let more = ["--tokens", &outside, "--allow-command", "cat", "--approve", "command.run"];
        let serve = Started::with(&[&flags[..], &more].concat());
        // They are made after the start.
        for place in
            ["root/hard.txt", "skills/notes/hard.txt", "skills/group/lists/references/hard.txt"]
        {
            fs::hard_link(&outside, at(place)).unwrap();
        }
        for place in ["root/sub/soft.txt", "skills/notes/soft.txt"] {
            std::os::unix::fs::symlink(&outside, at(place)).unwrap();
        }
        for (tool, arguments) in &rows {
            let mut connection = serve.connect().unwrap();
            connection.ask(
                "POST",
                "/v1/runs",
                &header,
                &json!({ "input": "Read it." }).to_string(),
            );
            let begun = connection.answer();
            assert_eq!(begun.status, 202, "{begun:?}");
            let run = begun.json()["run_id"].as_str().unwrap().to_owned();
            let mut connection = serve.connect().unwrap();
            connection.ask("GET", &format!("/v1/runs/{run}/events"), &header, "");
            let events = connection.answer().body;
            assert!(events.contains("event: tool_result"), "{tool} {arguments}: {events}");
            assert!(!events.contains(&digest), "{tool} {arguments}: {events}");
        }
    });
    for (tool, arguments) in &rows {
        server.seen().await;
        let Seen::Request { body, .. } = server.seen().await else { panic!("no second request") };
        let sent = String::from_utf8_lossy(&body);
        assert!(!sent.contains(&digest), "{tool} {arguments}: {sent}");
    }
}

// Rows: N-60
#[tokio::test(flavor = "multi_thread")]
async fn n60_instructions_that_are_a_file_of_the_service_are_left_out() {
    let folder = folder("own-instructions");
    let (root, tokens) = (format!("{folder}/root"), format!("{folder}/tokens.txt"));
    let made = run(&["token", "ann", "--file", &tokens], b"");
    let header = format!(
        "authorization: Bearer {}\r\ncontent-type: application/json\r\n",
        made.stdout.trim()
    );
    fs::hard_link(&tokens, format!("{root}/AGENTS.md")).unwrap();
    let mut server = ScriptedServer::start(vec![answer("Done.")]).await;
    let url = server.url();
    block_in_place(|| {
        let flags = ["--base-url", &url, "--model", "m", "--root", &root, "--tokens", &tokens];
        let serve = Started::with(&flags);
        serve.says("AGENTS.md` is a file of this program");
        let mut connection = serve.connect().unwrap();
        let input = json!({ "input": "Read it." }).to_string();
        connection.ask("POST", "/v1/runs", &header, &input);
        let begun = connection.answer();
        assert_eq!(begun.status, 202, "{begun:?}");
        let run = begun.json()["run_id"].as_str().unwrap().to_owned();
        let mut connection = serve.connect().unwrap();
        connection.ask("GET", &format!("/v1/runs/{run}/events"), &header, "");
        assert!(connection.answer().body.contains("event: run_end"));
    });
    let sent = body(&mut server).await.to_string();
    assert!(sent.contains("is a file of this program") && !sent.contains("sha256"), "{sent}");
}

// Rows: N-61
#[test]
fn n61_without_tokens_a_start_token_is_made() {
    let serve = Started::exactly(&["--provider", "demo"]);
    let (page, token) = serve.link.split_once("#token=").expect("a token in the address");
    assert!(page.starts_with("http://127.0.0.1:") && token.starts_with("fl_"), "{}", serve.link);
    serve.says("no tokens file");
    let ask = |more: &str| {
        let mut connection = serve.connect().unwrap();
        connection.ask("GET", "/v1/agents", more, "");
        connection.answer().status
    };
    let given = format!("authorization: Bearer {token}\r\n");
    let rows = [
        (String::new(), 401),
        ("authorization: Bearer fl_00\r\n".to_owned(), 401),
        // As a plain proxy sends it.
        ("x-forwarded-for: 192.0.2.1\r\n".to_owned(), 401),
        (given.clone(), 200),
        (format!("{given}x-forwarded-for: 192.0.2.1\r\n"), 200),
    ];
    for (more, want) in rows {
        assert_eq!(ask(&more), want, "{more}");
    }
    let mut connection = serve.connect().unwrap();
    connection.ask("GET", "/metrics", &given, "");
    assert_eq!(connection.answer().status, 200, "it may do all");
    let other = Started::exactly(&["--provider", "demo"]);
    assert_ne!(other.link.split_once("#token=").unwrap().1, token, "each start makes its own");
}

// Rows: N-61
#[test]
fn n61_no_auth_is_a_word_of_its_own() {
    let open = Started::exactly(&["--provider", "demo", "--no-auth"]);
    assert!(!open.link.contains("token"), "{}", open.link);
    open.says("--no-auth: every program on this machine");
    assert_eq!(open.get("/v1/agents").status, 200);
    let folder = folder("own-open");
    let tokens = format!("{folder}/tokens.txt");
    run(&["token", "ann", "--file", &tokens], b"");
    let at = |name: &str, text: &str| {
        let path = format!("{folder}/{name}");
        fs::write(&path, text).unwrap();
        path
    };
    let both = at("both.toml", &format!("no_auth = true\ntokens = {tokens:?}\n"));
    let alone = at("alone.toml", "no_auth = true\n");
    let wrong = at("wrong.toml", "no_auth = \"perhaps\"\n");
    let demo = ["serve", "--provider", "demo", "--check"];
    let rows: [(&[&str], Option<i32>, &str); 5] = [
        (&["--no-auth", "--tokens", &tokens], Some(2), "cannot be used with"),
        (&["--config", &both], Some(1), "excludes a tokens file"),
        (&["--config", &wrong], Some(1), "wrong.toml:1: no_auth: expected true or false"),
        (&["--config", &alone], Some(0), ""),
        (&["--config", &alone, "--listen", "0.0.0.0:0"], Some(1), "--tokens FILE"),
    ];
    for (flags, code, said) in rows {
        let outcome = run(&[&demo, flags].concat(), b"");
        assert_eq!(outcome.code, code, "{flags:?}: {outcome:?}");
        assert!(outcome.stderr.contains(said), "{flags:?}: {outcome:?}");
    }
    let served = Started::exactly(&["--provider", "demo", "--config", &alone]);
    assert_eq!(served.get("/v1/agents").status, 200);
}

// Rows: N-62
#[test]
fn n62_the_wait_for_approval_is_set_and_is_of_days() {
    let folder = folder("own-wait");
    let config = format!("{folder}/serve.toml");
    let text = "no_auth = true\n[agents.a]\nprovider = \"demo\"\napproval_timeout = \"0.2\"\n";
    fs::write(&config, text).unwrap();
    let rows: [(&[&str], bool); 3] = [
        (&["--provider", "demo", "--no-auth", "--approval-timeout", "0.2s"], true),
        (&["--config", &config], true),
        (&["--provider", "demo", "--no-auth"], false),
    ];
    for (flags, ends) in rows {
        let serve = Started::exactly(flags);
        let run = serve.begin("Call notes.keep with \"Buy milk.\"");
        serve.until(&run, "tool_approval_request");
        if ends {
            serve.until(&run, "run_end");
        }
        let look = || serve.get(&format!("/v1/runs/{run}")).json();
        let (begun, mut state) = (Instant::now(), look());
        // The record of a run follows the last of its events.
        while ends && ["running", "waiting"].iter().any(|it| state["status"] == *it) {
            assert!(begun.elapsed() < SOON, "{flags:?}: {state}");
            state = look();
        }
        assert_eq!(state["status"] == "completed", ends, "{flags:?}: {state}");
    }
    for time in ["0", "soon", "1w"] {
        let flags = ["serve", "--provider", "demo", "--check", "--approval-timeout", time];
        let outcome = run(&flags, b"");
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert!(outcome.stderr.contains("such as 90, 15m, 12h or 7d"), "{outcome:?}");
    }
}
