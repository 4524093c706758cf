//! llama.cpp's own server, offline, over a random model: its text is noise and partly invalid UTF-8,
//! but the protocol is real.
//!
//! The server is a Python package; `make llama-setup` installs it.

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

/// The server with one model; it ends with this value.
#[derive(Debug)]
pub struct LlamaServer {
    child: Child,
    /// Such as `http://127.0.0.1:40123/v1`.
    pub base_url: String,
}

impl LlamaServer {
    /// Starts the server in `folder` with a model in which the given tokens are likelier.
    ///
    /// `None` when it is not installed; the reason is printed.
    ///
    /// # Panics
    ///
    /// When it does not start, and when it is not installed although the environment variable
    /// `FORGELINE_REQUIRE_LLAMA` is set.
    #[must_use]
    pub fn start(folder: &Path, weights: &[&str]) -> Option<Self> {
        let (python, kit) = match installed() {
            Ok(found) => found,
            Err(reason) => {
                assert!(env::var_os("FORGELINE_REQUIRE_LLAMA").is_none(), "{reason}");
                crate::say(format!("skipped: {reason}"));
                return None;
            }
        };
        fs::create_dir_all(folder).unwrap();
        let template = kit.join("Qwen-Qwen2.5-7B-Instruct.jinja");
        fs::copy(template, folder.join("chat_template.jinja")).unwrap();
        let made = Command::new(&python)
            .arg(kit.join("make_tiny_gguf.py"))
            .arg("tiny.gguf")
            .args(weights)
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        // The last argument ends the server after ten minutes if this process is killed.
        let mut child = Command::new(&python)
            .arg(kit.join("serve.py"))
            .args(["tiny.gguf", "0", "600"])
            .current_dir(folder)
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

impl Drop for LlamaServer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The Python that has the server, and the folder with its scripts; else what is missing.
fn installed() -> Result<(PathBuf, PathBuf), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let kit = root.join("../shared/offline-llm");
    if !kit.join("serve.py").is_file() {
        return Err(format!("{} is missing", kit.display()));
    }
    let kit = kit.canonicalize().map_err(|error| error.to_string())?;
    let in_target = root.join("target/llama-venv/bin/python");
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
