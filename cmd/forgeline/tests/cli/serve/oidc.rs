//! Callers of a login server that others made.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

use forgeline_testkit::{say, service::python};
use serde_json::{Value, json};

use super::{http::Answer, started::Started};
use crate::{flags::file, process::run};

/// A login server, which ends with this.
struct LoginServer {
    issuer: String,
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl LoginServer {
    /// Starts one whose tokens are valid for this time.
    fn start(seconds: i64) -> Option<Self> {
        let mut command = python("login_server.py")?;
        command.arg(seconds.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut server =
            Self { issuer: String::new(), child, stdin, stdout: BufReader::new(stdout) };
        server.issuer = server.line();
        Some(server)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Returns a token for a person.
    fn token(&mut self, person: &str, audience: &str, claims: &Value) -> String {
        writeln!(self.stdin, "{person} {audience} {claims}").unwrap();
        self.line()
    }

    /// Returns the configuration of a service that accepts its tokens.
    fn config(&self, name: &str) -> String {
        let issuer = &self.issuer;
        let text = format!(
            "[oidc]\nissuer = \"{issuer}\"\naudience = \"forgeline\"\nscope_claim = \"org\"\npermission_claim = \"roles\"\n\
             permissions = [\"operator = service.observe\"]\n[agents.demo]\nprovider = \"demo\"\n"
        );
        file(name, text.as_bytes())
    }
}

impl Drop for LoginServer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn ask(serve: &Started, method: &str, path: &str, token: &str, body: &str) -> Answer {
    let mut connection = serve.connect().unwrap();
    let head = format!("authorization: Bearer {token}\r\ncontent-type: application/json\r\n");
    connection.ask(method, path, &head, body);
    connection.answer()
}

#[test]
fn callers_of_a_login_server_have_its_scopes_and_roles_and_no_others() {
    let Some(mut server) = LoginServer::start(3_600) else { return };
    let claims = |org: &str, role: &str| json!({ "org": org, "roles": [role] });
    let ann = server.token("ann", "forgeline", &claims("team-a", "operator"));
    let bob = server.token("bob", "forgeline", &claims("team-a", "reader"));
    let eve = server.token("eve", "forgeline", &claims("team-b", "operator"));
    let other = server.token("ann", "other", &claims("team-a", "operator"));
    let outside = server.token("ann", "forgeline", &json!({}));
    let config = server.config("oidc.toml");
    let checked = run(&["serve", "--config", &config, "--check"], b"");
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let serve = Started::with(&["--config", &config]);
    let input = json!({ "input": "What is 6 * 7?" }).to_string();
    let begun = ask(&serve, "POST", "/v1/runs", &ann, &input);
    assert_eq!(begun.status, 202, "{begun:?}");
    let run_path = format!("/v1/runs/{}", begun.json()["run_id"].as_str().unwrap());
    let events = ask(&serve, "GET", &format!("{run_path}/events"), &ann, "");
    assert!(events.body.contains("event: run_end\n"), "{events:?}");
    for (token, path, status) in [
        (&ann, &*run_path, 200),
        (&eve, &run_path, 404),
        (&other, &run_path, 401),
        (&outside, &run_path, 401),
        (&ann, "/metrics", 200),
        (&bob, "/metrics", 403),
        (&eve, "/metrics", 200),
        (&ann.replace('.', "-"), "/metrics", 401),
    ] {
        assert_eq!(ask(&serve, "GET", path, token, "").status, status, "{path}");
    }
    let refused = ask(&serve, "GET", &run_path, &other, "");
    assert_eq!(refused.json()["code"], "invalid_token");
    assert_eq!(refused.json()["detail"], "the token is not accepted: it is not for `forgeline`");
    say("an OpenID Connect provider: 12 requests of its callers");
}

#[test]
fn an_expired_token_asks_to_log_in_again_and_a_login_server_that_is_gone_to_look_at_its_issuer() {
    let Some(mut server) = LoginServer::start(-120) else { return };
    let late = server.token("ann", "forgeline", &json!({ "org": "team-a" }));
    let config = server.config("oidc_late.toml");
    let serve = Started::with(&["--config", &config]);
    let refused = ask(&serve, "GET", "/v1/conversations", &late, "");
    assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Bearer")));
    assert_eq!(refused.json()["detail"], "the token is not accepted: it has expired; log in again");
    drop(server);
    let text = fs::read_to_string(&config).unwrap();
    let gone = run(&["serve", "--config", &config, "--check"], b"");
    assert_eq!(gone.code, Some(1));
    assert!(gone.stderr.contains("check the issuer"), "{text} {}", gone.stderr);
}
