//! A proxy of others that runs with the configuration of the docs.

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Read},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
};

use forgeline_testkit::say;

use crate::serve::http::Connection;

/// The address of the service that the docs show.
const SHOWN: &str = "127.0.0.1:8787";

/// Starts that are tried, as another program may take a port that was free.
const ATTEMPTS: usize = 5;

/// A proxy that is known to the docs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Nginx,
    Caddy,
}

impl Kind {
    pub(super) const ALL: [Self; 2] = [Self::Nginx, Self::Caddy];

    /// Its file in `docs/deploy`, which the page on deploying shows.
    fn file(self) -> &'static str {
        match self {
            Self::Nginx => "nginx.conf",
            Self::Caddy => "Caddyfile",
        }
    }

    /// Its name, as a program.
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Caddy => "caddy",
        }
    }

    /// What it says once it takes connections.
    fn ready(self) -> &'static str {
        match self {
            Self::Nginx => "start worker processes",
            Self::Caddy => "serving initial configuration",
        }
    }

    /// A site as people have one, which compresses what it can, with this block in it.
    fn site(self, block: &str, port: u16) -> String {
        match self {
            Self::Nginx => format!(
                "daemon off;\nworker_processes 1;\npid nginx.pid;\nerror_log stderr notice;\n\
                 events {{}}\nhttp {{\naccess_log off;\nclient_body_temp_path body;\nproxy_temp_path proxy;\n\
                 fastcgi_temp_path fastcgi;\nuwsgi_temp_path uwsgi;\nscgi_temp_path scgi;\n\
                 gzip on;\ngzip_proxied any;\ngzip_min_length 1;\ngzip_types *;\n\
                 server {{\nlisten 127.0.0.1:{port};\n{block}\n}}\n}}\n"
            ),
            Self::Caddy => format!(
                "{{\nadmin off\nauto_https off\n}}\n\
                 http://127.0.0.1:{port} {{\nencode {{\ngzip\nminimum_length 1\n\
                 match {{\nheader Content-Type *\n}}\n}}\n{block}\n}}\n"
            ),
        }
    }

    /// Returns `true` if the program is installed; says what is left out if it is not.
    ///
    /// # Panics
    ///
    /// When it is missing although the environment variable `FORGELINE_REQUIRE_SERVICE` is set.
    pub(super) fn is_installed(self) -> bool {
        let is_there = self.path().is_some();
        if !is_there {
            let name = self.program();
            let reason = format!("{name} is not installed; on Debian: apt-get install {name}");
            assert!(env::var_os("FORGELINE_REQUIRE_SERVICE").is_none(), "{reason}");
            say(format!("not run: the service behind {name}; {reason}"));
        }
        is_there
    }

    /// Where it is: nginx is in a folder that only administrators search.
    fn path(self) -> Option<PathBuf> {
        let folders = env::var_os("PATH").unwrap_or_default();
        let folders =
            env::split_paths(&folders).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
        folders.into_iter().map(|it| it.join(self.program())).find(|it| it.is_file())
    }
}

/// The block of this file of the docs, for a service at another address.
fn block(file: &str, service: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/deploy");
    let block = fs::read_to_string(Path::new(folder).join(file)).unwrap();
    assert_eq!(block.matches(SHOWN).count(), 1, "{file}: {block}");
    block.replace(SHOWN, service)
}

/// A proxy that runs, and ends with this.
pub(super) struct Proxy {
    child: Child,
    /// The lines that it writes to stderr.
    said: Receiver<String>,
    pub(super) host: String,
}

impl Proxy {
    /// Starts it before the service at this host.
    pub(super) fn start(kind: Kind, service: &str) -> Self {
        let block = block(kind.file(), service);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("proxies");
        let folder = folder.join(format!("{}-{}", kind.program(), service.replace(':', "-")));
        fs::create_dir_all(&folder).unwrap();
        let mut said = String::new();
        for _ in 0..ATTEMPTS {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let site = folder.join("site");
            fs::write(&site, kind.site(&block, port)).unwrap();
            let mut command = Command::new(kind.path().unwrap());
            match kind {
                Kind::Nginx => command.arg("-p").arg(&folder).arg("-c").arg(&site),
                Kind::Caddy => {
                    command.args(["run", "--adapter", "caddyfile", "--config"]).arg(&site)
                }
            };
            command
                .env("HOME", &folder)
                .env("XDG_DATA_HOME", &folder)
                .env("XDG_CONFIG_HOME", &folder);
            let command = command.current_dir(&folder).stdin(Stdio::null()).stdout(Stdio::null());
            let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
            match wait(child.stderr.take().unwrap(), kind.ready()) {
                Ok(said) => return Self { child, said, host: format!("127.0.0.1:{port}") },
                Err(lines) => said = lines,
            }
            child.wait().unwrap();
        }
        panic!("{kind:?} does not start: {said}");
    }

    pub(super) fn connect(&self) -> Connection {
        Connection::to(&self.host).unwrap()
    }
}

/// Waits until a program says this, and reads on so that it can go on; what it said when it ends before.
fn wait(stderr: impl Read + Send + 'static, ready: &str) -> Result<Receiver<String>, String> {
    let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
    let mut said = String::new();
    for line in lines.by_ref() {
        if line.contains(ready) {
            let (sender, receiver) = mpsc::channel();
            thread::spawn(move || lines.for_each(|line| drop(sender.send(line))));
            return Ok(receiver);
        }
        said.push_str(&line);
        said.push('\n');
    }
    Err(said)
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // A test that fails shows what the proxy said.
        if thread::panicking() {
            let said: Vec<String> = self.said.try_iter().collect();
            say(format!("the proxy, {:?}: {}", self.child.try_wait(), said.join("\n")));
        }
        // The workers of nginx end with a signal that it can hear.
        let id = self.child.id().to_string();
        drop(Command::new("kill").args(["-TERM", &id]).status());
        drop(self.child.wait());
    }
}
