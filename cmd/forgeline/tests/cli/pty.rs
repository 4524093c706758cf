//! Runs the real binary on a terminal of its own, as a person does.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    process::{Child, Command},
    sync::mpsc::{Receiver, sync_channel},
    thread,
    time::{Duration, Instant},
};

use nix::pty::Winsize;

use crate::process::forget_vendors;

/// Longest wait for something on the screen, whatever else moves on it meanwhile: only a test that fails waits so long.
const PATIENCE: Duration = Duration::from_secs(30);

/// Ctrl-C, as a terminal sends it.
pub(crate) const CTRL_C: &str = "\x03";
/// Ctrl-D.
pub(crate) const CTRL_D: &str = "\x04";

/// A process and the person's side of its terminal. What is on the screen is taken only while one of
/// the methods waits for it: a terminal that nobody looks at is soon full.
pub(crate) struct Pty {
    pub(crate) child: Child,
    keys: File,
    screen: Receiver<Vec<u8>>,
    /// What was taken and not looked at yet.
    rest: Vec<u8>,
}

impl Pty {
    /// Starts the command on a new terminal, which is its controlling one: keys send signals.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::started(arguments, None, |command| {
            command.env_remove("NO_COLOR");
        })
    }

    /// Starts the command on a terminal with so many columns, without colour.
    pub(crate) fn plain(arguments: &[&str], columns: u16) -> Self {
        let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        Self::started(arguments, Some(&size), |command| {
            command.env("NO_COLOR", "1");
        })
    }

    fn started(arguments: &[&str], size: Option<&Winsize>, set: impl Fn(&mut Command)) -> Self {
        let terminal = nix::pty::openpty(size, None).unwrap();
        let slave = File::from(terminal.slave);
        let mut command = Command::new("setsid");
        command.args(["--ctty", env!("CARGO_BIN_EXE_forgeline")]).args(arguments);
        forget_vendors(&mut command);
        command.env("TERM", "xterm");
        set(&mut command);
        command.stdin(slave.try_clone().unwrap()).stdout(slave.try_clone().unwrap());
        let child = command.stderr(slave).spawn().unwrap();
        let keys = File::from(terminal.master);
        let mut glass = keys.try_clone().unwrap();
        let (sender, screen) = sync_channel(4);
        thread::spawn(move || {
            let mut piece = [0; 4096];
            // Linux fails the read once the other side is closed.
            while let Ok(length) = glass.read(&mut piece)
                && sender.send(piece[..length].to_vec()).is_ok()
            {}
        });
        Self { child, keys, screen, rest: Vec::new() }
    }

    /// Presses keys.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Looks at the screen until it shows `text`, and returns everything up to it.
    pub(crate) fn until(&mut self, text: &str) -> String {
        let mut seen = std::mem::take(&mut self.rest);
        let (mut from, until) = (0, Instant::now() + PATIENCE);
        loop {
            let found = seen[from..].windows(text.len()).position(|at| at == text.as_bytes());
            if let Some(at) = found {
                self.rest = seen.split_off(from + at + text.len());
                return String::from_utf8_lossy(&seen).into_owned();
            }
            from = (seen.len() + 1).saturating_sub(text.len());
            seen.extend(self.more(text, until));
        }
    }

    /// Looks at this many bytes of the screen.
    pub(crate) fn past(&mut self, bytes: usize) {
        let until = Instant::now() + PATIENCE;
        while self.rest.len() < bytes {
            let more = self.more("more", until);
            self.rest.extend(more);
        }
        self.rest.clear();
    }

    fn more(&self, what: &str, until: Instant) -> Vec<u8> {
        let more = self.screen.recv_timeout(until.saturating_duration_since(Instant::now()));
        more.unwrap_or_else(|error| panic!("no {what:?} on the screen: {error}"))
    }

    /// Looks on without a word until the end; the process and its end are the caller's.
    pub(crate) fn look_on(self) -> Child {
        let Self { child, keys, screen, .. } = self;
        thread::spawn(move || {
            while screen.recv().is_ok() {}
            drop(keys);
        });
        child
    }

    /// Looks away; the terminal stays.
    pub(crate) fn look_away(self) -> (Child, impl Sized) {
        (self.child, (self.keys, self.screen))
    }
}
