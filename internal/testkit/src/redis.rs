//! Private servers of Redis, each on a Unix socket in a temporary folder, with an append-only file.
//!
//! Debian has one (`apt-get install redis-server`); Valkey's is as good.

use std::{
    env, fs,
    io::{Read as _, Write as _},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Once, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Runs a server until this process ends, however it does, and then removes its folder unless it holds a file `keep`. Arguments: the folder, the command
/// of the server.
const GUARD: &str = r#"
folder=$1; shift
# A signal to the whole group, such as Ctrl-C, ends the tests; the guard cleans up after them.
trap '' HUP INT TERM
"$@" >>"$folder/log" 2>&1 &
server=$!
cat >/dev/null
kill -KILL "$server" 2>/dev/null
wait "$server"
[ -e "$folder/keep" ] || rm -rf "$folder"
"#;

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A running server; dropping it ends the server and removes its folder, and so does the end of this process.
#[derive(Debug)]
pub struct RedisServer {
    program: PathBuf,
    folder: PathBuf,
    settings: Vec<String>,
    guard: Child,
}

impl RedisServer {
    /// Returns a server for all tests of this process.
    ///
    /// Returns `None` and prints the reason when none is installed.
    ///
    /// # Panics
    ///
    /// Panics when it does not start, and when none is installed although the environment variable
    /// `FORGELINE_REQUIRE_REDIS` is set.
    #[must_use]
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<RedisServer>> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(&[])).as_ref()
    }

    /// Starts a server with additional settings such as `--requirepass word`; `None` when none is installed.
    ///
    /// # Panics
    ///
    /// Panics when it does not start within a minute.
    #[must_use]
    pub fn start(settings: &[&str]) -> Option<Self> {
        let program = program()?;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = format!("forgeline-redis-{}-{count}", std::process::id());
        let folder = env::temp_dir().join(folder);
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).unwrap();
        let settings: Vec<_> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let guard = guard(&program, &folder, &settings);
        let server = Self { program, folder, settings, guard };
        server.wait_until_ready();
        Some(server)
    }

    /// Kills the server.
    ///
    /// # Panics
    ///
    /// Panics when its folder cannot be written.
    pub fn stop(&mut self) {
        fs::write(self.folder.join("keep"), "").unwrap();
        drop(self.guard.stdin.take());
        self.guard.wait().unwrap();
    }

    /// Starts the server that was stopped with the same data.
    ///
    /// # Panics
    ///
    /// Panics when it was not stopped, or does not start within a minute.
    pub fn resume(&mut self) {
        fs::remove_file(self.folder.join("keep")).unwrap();
        self.guard = guard(&self.program, &self.folder, &self.settings);
        self.wait_until_ready();
    }

    /// Returns the URL of the server.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis+unix://{}", self.socket().display())
    }

    /// Returns the socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    /// Returns the folder with the socket and the data.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the first line of the answer to a command without quotes, such as `DBSIZE`; `None` if the server does not answer.
    #[must_use]
    pub fn ask(&self, command: &str) -> Option<String> {
        let mut stream = UnixStream::connect(self.socket()).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        stream.write_all(format!("{command}\r\n").as_bytes()).ok()?;
        let (mut answer, mut byte) = (Vec::new(), [0]);
        while !answer.ends_with(b"\r\n") {
            stream.read_exact(&mut byte).ok()?;
            answer.extend(byte);
        }
        Some(String::from_utf8_lossy(&answer).trim_end().to_owned())
    }

    fn wait_until_ready(&self) {
        let began = Instant::now();
        loop {
            match self.ask("PING") {
                Some(answer) if answer == "+PONG" || answer.starts_with("-NOAUTH") => return,
                Some(_) | None => {}
            }
            let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            assert!(began.elapsed() < Duration::from_mins(1), "Redis does not start: {log}");
            thread::yield_now();
        }
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        drop(self.guard.wait());
        drop(fs::remove_dir_all(&self.folder));
    }
}

/// Returns the program of the server that is installed; `FORGELINE_REDIS` names another one.
///
/// Prints the reason when there is none.
///
/// # Panics
///
/// Panics when there is none although the environment variable `FORGELINE_REQUIRE_REDIS` is set.
#[must_use]
pub fn program() -> Option<PathBuf> {
    static NOTICE: Once = Once::new();
    let given = env::var_os("FORGELINE_REDIS").map(PathBuf::from);
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = env::split_paths(&path).collect();
    let names = ["redis-server", "valkey-server"];
    let installed = names.iter().flat_map(|name| folders.iter().map(move |it| it.join(name)));
    let found = given.into_iter().chain(installed).find(|program| program.is_file());
    if found.is_none() {
        let reason = "no server is installed; install Debian's `redis-server`";
        assert!(env::var_os("FORGELINE_REQUIRE_REDIS").is_none(), "Redis: {reason}");
        NOTICE.call_once(|| crate::say(format!("not run: Redis; {reason}")));
    }
    found
}

/// Returns the first number of a server's version.
#[must_use]
pub fn version(program: &Path) -> Option<u32> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split_once("v=")?.1.split('.').next()?.parse().ok()
}

fn guard(program: &Path, folder: &Path, settings: &[String]) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", GUARD, "sh"]).arg(folder).arg(program);
    command.args(["--port", "0", "--unixsocket"]).arg(folder.join("socket"));
    command.arg("--dir").arg(folder);
    command.args(["--appendonly", "yes", "--save", "", "--loglevel", "warning"]);
    command.args(settings.iter().flat_map(|setting| setting.split(' ')));
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}
