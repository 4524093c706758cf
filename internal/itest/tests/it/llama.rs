//! The pipeline against llama.cpp's own server, offline: the model is random, so its text is noise
//! and partly invalid UTF-8, but the protocol is real.
//!
//! The server is a Python package; `make llama-setup` installs it. Without it the tests say that
//! they skip, and with `FORGELINE_REQUIRE_LLAMA` set they fail instead.

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use forgeline::{
    agent::core::{StreamOptions, process_stream},
    llm::{
        Provider as _, ProviderError, Request, ToolChoice, ToolSpec,
        openai::OpenAi,
        parser::{ThinkingDialect, ToolDialect},
    },
    types::{CallOutcome, Completion, CompletionBuilder, ErrorCode, FinishReason},
};
use serde_json::{Value, json};

use super::source::root;

/// The server with one model; it ends with this value.
struct Server {
    child: Child,
    /// Such as `http://127.0.0.1:40123/v1`.
    base_url: String,
}

impl Server {
    /// Starts the server with a model in which the given tokens are likelier; `None` when it is not
    /// installed and nobody insists.
    fn start(name: &str, weights: &[&str]) -> Option<Self> {
        let (python, kit) = match installed() {
            Ok(found) => found,
            Err(reason) => {
                assert!(env::var_os("FORGELINE_REQUIRE_LLAMA").is_none(), "{reason}");
                println!("skipped: {reason}");
                return None;
            }
        };
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("llama").join(name);
        fs::create_dir_all(&folder).unwrap();
        let template = kit.join("Qwen-Qwen2.5-7B-Instruct.jinja");
        fs::copy(template, folder.join("chat_template.jinja")).unwrap();
        let made = Command::new(&python)
            .arg(kit.join("make_tiny_gguf.py"))
            .arg("tiny.gguf")
            .args(weights)
            .current_dir(&folder)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        // The last argument ends the server after ten minutes if this process is killed.
        let mut child = Command::new(&python)
            .arg(kit.join("serve.py"))
            .args(["tiny.gguf", "0", "600"])
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (sender, url) = mpsc::channel();
        let lines = BufReader::new(child.stdout.take().unwrap()).split(b'\n');
        // Reads to the end, so that the server never waits for its log to be read.
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).into_owned();
                if let Some(url) = line.strip_prefix("url ") {
                    sender.send(url.trim().to_owned()).ok();
                }
            }
        });
        let mut server = Self { child, base_url: String::new() };
        let url = url.recv_timeout(Duration::from_mins(1)).expect("the server prints its address");
        server.base_url = format!("{url}/v1");
        Some(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The Python that has the server, and the folder with its scripts; else what is missing.
fn installed() -> Result<(PathBuf, PathBuf), String> {
    let kit = root().join("../shared/offline-llm");
    if !kit.join("serve.py").is_file() {
        return Err(format!("{} is missing", kit.display()));
    }
    let kit = kit.canonicalize().map_err(|error| error.to_string())?;
    let in_target = root().join("target/llama-venv/bin/python");
    let python = match env::var_os("FORGELINE_LLAMA_PYTHON") {
        Some(path) => PathBuf::from(path),
        None if in_target.is_file() => in_target,
        None => PathBuf::from("python3"),
    };
    let probe = Command::new(&python).args(["-c", "import xllamacpp, gguf, numpy"]).output();
    match probe {
        Ok(output) if output.status.success() => Ok((python, kit)),
        _ => Err(format!(
            "{} lacks the packages xllamacpp, gguf and numpy; run `make llama-setup`, or name another \
             interpreter in FORGELINE_LLAMA_PYTHON",
            python.display(),
        )),
    }
}

/// All chunks of one answer.
async fn answer(provider: &OpenAi, request: Request) -> Result<Completion, ProviderError> {
    let chunks = provider.stream_completion(request).await?;
    let options = StreamOptions::default().tools(ToolDialect::NONE);
    let mut events = Vec::new();
    let completion = process_stream(chunks, &options, |event| events.push(event)).await;
    let text = CompletionBuilder::from_events(&events).text;
    assert_eq!(text, completion.text, "the events say what the completion says");
    Ok(completion)
}

fn provider(server: &Server) -> OpenAi {
    let builder = OpenAi::builder().base_url(server.base_url.as_str());
    builder.thinking(ThinkingDialect::NONE).build().unwrap()
}

#[tokio::test]
async fn noise_streams_to_its_end() {
    let Some(server) = Server::start("noise", &["<|im_end|>=2"]) else { return };
    let provider = provider(&server);
    let (mut replaced, mut bytes) = (0, 0);
    for seed in 1..=8 {
        let request = Request::prompt("Hello").max_tokens(400).temperature(1.0).seed(seed);
        let completion = answer(&provider, request).await.unwrap();
        assert!(completion.complete, "seed {seed}: {:?}", completion.error);
        assert_eq!(completion.error, None, "seed {seed}");
        let reason = completion.finish_reason.unwrap();
        assert!(matches!(reason, FinishReason::Stop | FinishReason::Length), "{reason:?}");
        bytes += completion.text.len();
        replaced += completion.text.matches('\u{FFFD}').count();
    }
    assert!(replaced > 0, "random bytes are not all UTF-8");
    println!("read {bytes} bytes of noise, {replaced} replacement characters among them");
}

#[tokio::test]
async fn native_calls_stream_and_obey_their_schema() {
    let weights = ["<tool_call>\n=30", "<|im_end|>=31"];
    let Some(server) = Server::start("calls", &weights) else { return };
    let schema = json!({
        "type": "object",
        "properties": {
            "city": {"enum": ["Paris", "Tokyo"]},
            "days": {"type": "integer", "minimum": 1, "maximum": 9},
        },
        "required": ["city", "days"],
    });
    let tool = ToolSpec::new("get_weather", "Tells the weather.", schema);
    let request = Request::prompt("How is the weather in Paris?")
        .tools([tool])
        .tool_choice(ToolChoice::Required)
        .max_tokens(300)
        .seed(3);
    let completion = answer(&provider(&server), request).await.unwrap();
    assert!(completion.complete, "{:?}", completion.error);
    assert_eq!(completion.finish_reason, Some(FinishReason::ToolCalls));
    assert!(!completion.tool_calls.is_empty());
    for call in &completion.tool_calls {
        assert_eq!((call.name.as_str(), &call.outcome), ("get_weather", &CallOutcome::Complete));
        let arguments: Value = serde_json::from_str(&call.arguments_raw).unwrap();
        assert!(["Paris", "Tokyo"].contains(&arguments["city"].as_str().unwrap()), "{arguments}");
        assert!((1..=9).contains(&arguments["days"].as_i64().unwrap()), "{arguments}");
    }
    println!("{} calls obey their schema", completion.tool_calls.len());
}

#[tokio::test]
async fn a_refused_request_is_a_typed_error_with_the_servers_words() {
    let Some(server) = Server::start("refusal", &["<|im_end|>=2"]) else { return };
    let provider = provider(&server);
    let wrong = Request::prompt("Hello").extra("messages", 3);
    let error = answer(&provider, wrong).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidRequest, "{error}");
    assert!(error.to_string().contains("400") && error.to_string().contains("messages"), "{error}");
    assert!(!error.is_retryable());
    // The server has room for 2,048 tokens; a byte of this prompt is at least half of one.
    let long = Request::prompt("0123456789 ".repeat(1000));
    let error = answer(&provider, long).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ContextExceeded, "{error}");
}

#[test]
fn the_command_shows_the_noise_and_exits_with_success() {
    let Some(server) = Server::start("command", &["<|im_end|>=2"]) else { return };
    let output = Command::new(command())
        .args(["run", "--provider", "openai", "--base-url", &server.base_url, "hello"])
        .env_remove("OPENAI_API_KEY")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (text, log) = (String::from_utf8(output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{log}");
    let text = text.expect("what is shown is UTF-8");
    assert!(!text.trim().is_empty(), "{log}");
    let is_hidden = |c: char| c.is_control() && c != '\n' && c != '\t';
    assert!(!text.contains(is_hidden), "control characters are shown escaped: {text:?}");
}

/// The command of this workspace, built as the tests are.
fn command() -> PathBuf {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--workspace", "--bin", "forgeline", "--profile", "test"])
        .current_dir(root())
        .status()
        .unwrap();
    assert!(built.success(), "the command builds");
    let tests = env::current_exe().unwrap();
    tests.ancestors().nth(2).unwrap().join("forgeline")
}
