//! llama.cpp's own server, offline, over a model with random weights: its text is noise and partly
//! invalid UTF-8, but the protocol is real.
//!
//! The server is a Python package, which `make llama-setup` installs; `llama/server.py` starts it.

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Once, mpsc},
    thread,
    time::Duration,
};

/// The script that writes the model and serves it.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/llama/server.py");

/// The script that serves a model with a vocabulary of words.
const WORDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/llama/vocabulary.py");

/// A running server with one model; dropping it ends the server.
#[derive(Debug)]
pub struct LlamaServer {
    child: Child,
    /// The base URL, such as `http://127.0.0.1:40123/v1`.
    pub base_url: String,
}

impl LlamaServer {
    /// Starts the server in `folder`; each of `boosts`, such as `<|im_end|>=2`, makes a token likelier.
    ///
    /// Returns `None` and prints the reason when the server is not installed.
    ///
    /// # Panics
    ///
    /// Panics when it does not start, and when it is not installed although the environment variable
    /// `FORGELINE_REQUIRE_LLAMA` is set.
    #[must_use]
    pub fn start(folder: &Path, boosts: &[&str]) -> Option<Self> {
        Self::of_script(SCRIPT, folder, boosts)
    }

    /// Starts the server in `folder` with a model of this vocabulary, a token a line in hexadecimal, for its
    /// `/tokenize`; see [`start`](Self::start).
    ///
    /// # Panics
    ///
    /// As for that.
    #[must_use]
    pub fn with_vocabulary(folder: &Path, tokens: &str) -> Option<Self> {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("words.hex"), tokens).unwrap();
        Self::of_script(WORDS, folder, &["words.hex"])
    }

    fn of_script(script: &str, folder: &Path, arguments: &[&str]) -> Option<Self> {
        static NOTICE: Once = Once::new();
        let python = match installed() {
            Ok(python) => python,
            Err(reason) => {
                assert!(env::var_os("FORGELINE_REQUIRE_LLAMA").is_none(), "{reason}");
                NOTICE.call_once(|| {
                    crate::say(format!("not run: the tests against llama.cpp's server; {reason}"));
                });
                return None;
            }
        };
        fs::create_dir_all(folder).unwrap();
        // The second argument ends the server after ten minutes if this process is killed.
        let mut child = Command::new(&python)
            .args([script, "600"])
            .args(arguments)
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

/// Returns the Python interpreter that has the server's packages; else says what is missing.
fn installed() -> Result<PathBuf, String> {
    let in_target =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/llama-venv/bin/python");
    let python = match env::var_os("FORGELINE_LLAMA_PYTHON") {
        Some(path) => PathBuf::from(path),
        None if in_target.is_file() => in_target,
        None => PathBuf::from("python3"),
    };
    let probe = Command::new(&python).args(["-c", "import xllamacpp, gguf, numpy"]).output();
    match probe {
        Ok(output) if output.status.success() => Ok(python),
        _ => Err(format!(
            "{} lacks the packages xllamacpp, gguf and numpy; run `make llama-setup`, or name another \
             interpreter in FORGELINE_LLAMA_PYTHON",
            python.display(),
        )),
    }
}
