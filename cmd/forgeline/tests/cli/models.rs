//! `forgeline models`

use forgeline_testkit::server::{ScriptedServer, Seen, Step};
use serde_json::json;
use tokio::task::block_in_place;

use crate::process::run;

fn list(status: u16, body: &str) -> Vec<Step> {
    let head = Step::Head(status, vec![("content-type", "application/json".to_owned())]);
    vec![head, Step::chunk(body), Step::End]
}

#[tokio::test(flavor = "multi_thread")]
async fn models_are_listed_with_what_is_known_of_them() {
    let ids =
        r#"{"data":[{"id":"gpt-4o"},{"id":"own","max_model_len":4096},{"id":"bad\u001b[2J"}]}"#;
    let answers = vec![list(200, ids), list(200, ids), list(404, "{}"), list(401, "{}")];
    let mut server = ScriptedServer::start(answers).await;
    let url = server.url();
    let models = |flags: &[&str]| {
        block_in_place(|| run(&[&["models", "--base-url", &url], flags].concat(), b""))
    };
    let shown = models(&[]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let want = "\
MODEL        WINDOW  ANSWER  LIST PRICE PER MILLION TOKENS
gpt-4o      128,000  16,384  $2.5 in, $10 out
own           4,096       -  -
bad\\x1b[2J        -       -  -
";
    assert_eq!(shown.stdout, want);
    let Seen::Request { head, body } = server.seen().await else { panic!("no request") };
    assert!(head.starts_with("GET /v1/models ") && body.is_empty(), "{head}");
    let rows = models(&["--json", "-m", "o"]).lines();
    let want = json!({ "id": "own", "context_tokens": 4096, "max_output_tokens": null, "prices": null, "seen": null });
    assert_eq!((rows.len(), &rows[1]), (2, &want));
    assert_eq!(
        (&rows[0]["prices"]["input"], &rows[0]["context_tokens"]),
        (&json!(2.5), &json!(128_000))
    );
    for advice in ["a list of models at this address", "check the key"] {
        let failed = models(&[]);
        assert_eq!((failed.code, failed.stdout.as_str()), (Some(1), ""), "{failed:?}");
        assert!(failed.stderr.contains(advice), "{}", failed.stderr);
    }
    let demo = run(&["models", "--provider", "demo"], b"");
    assert!(demo.code == Some(0) && demo.stdout.contains("demo"), "{demo:?}");
}
