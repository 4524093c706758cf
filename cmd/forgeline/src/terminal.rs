//! The terminal on stdin: its state is changed while an answer streams, and given back.

#[cfg(unix)]
pub use unix::{TerminalState, TypedLines};

#[cfg(unix)]
mod unix {
    use std::{
        fs::File,
        io::{self, ErrorKind, Read as _},
        os::{fd::AsFd, unix::fs::OpenOptionsExt as _},
    };

    use nix::{
        libc::{O_NOCTTY, O_NONBLOCK},
        sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr},
        unistd::ttyname,
    };

    /// More than the longest line that a terminal keeps.
    const PIECE_BYTES: usize = 8 << 10;

    /// The state in which the program found the terminal.
    #[derive(Debug)]
    pub struct TerminalState(Option<Termios>);

    /// A terminal that does not show what is typed, while this is held.
    #[derive(Debug)]
    pub struct EchoOff(TerminalState);

    impl TerminalState {
        /// Returns the present state; nothing where stdin is not a terminal.
        #[must_use]
        pub fn of_stdin() -> Self {
            Self(tcgetattr(io::stdin()).ok())
        }

        /// Restores the state, as far as that can be done.
        pub fn restore(&self) {
            if let Some(state) = &self.0 {
                let _restored = tcsetattr(io::stdin(), SetArg::TCSANOW, state);
            }
        }

        /// Stops showing what is typed: it would break into the answer. The line editor shows it when
        /// its turn comes.
        #[must_use]
        pub fn quiet() -> EchoOff {
            let found = Self::of_stdin();
            let quiet = found.0.clone().map(|mut state| {
                state.local_flags.remove(LocalFlags::ECHO | LocalFlags::ECHONL);
                state
            });
            Self(quiet).restore();
            EchoOff(found)
        }
    }

    impl Drop for EchoOff {
        fn drop(&mut self) {
            self.0.restore();
        }
    }

    /// The lines that are typed, read without a wait.
    ///
    /// The terminal is opened once more: a read of stdin would wait for the next line where a signal has
    /// thrown away the one that was there.
    #[derive(Debug)]
    pub struct TypedLines(Option<File>);

    impl TypedLines {
        /// Opens the terminal on stdin; without one, there are no lines.
        #[must_use]
        pub fn of_stdin() -> Self {
            Self::of_terminal(io::stdin())
        }

        fn of_terminal(terminal: impl AsFd) -> Self {
            let mut options = File::options();
            options.read(true).custom_flags(O_NONBLOCK | O_NOCTTY);
            let by_name = ttyname(terminal).ok().map(|path| options.open(path));
            // The terminal of another user, as after `su`, opens as the process's own only.
            let open = by_name.map(|open| open.or_else(|_| options.open("/dev/tty")));
            Self(open.and_then(Result::ok))
        }

        /// Returns the next line, as far as there is one; an empty one at the end of the input. What is not
        /// a whole line yet stays in the terminal.
        pub fn take(&mut self) -> Option<Vec<u8>> {
            let mut piece = vec![0; PIECE_BYTES];
            let length = match self.0.as_mut()?.read(&mut piece) {
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) if error.kind() == ErrorKind::Interrupted => return None,
                // A terminal that is gone has nothing more to say.
                Err(_) => 0,
            };
            piece.truncate(length);
            Some(piece)
        }
    }

    #[cfg(test)]
    mod tests {
        use std::io::Write as _;

        use super::*;

        #[test]
        fn a_line_is_read_when_it_is_whole_and_no_look_waits() {
            let pty = nix::pty::openpty(None, None).unwrap();
            let (mut keys, mut typed) =
                (File::from(pty.master), TypedLines::of_terminal(&pty.slave));
            assert_eq!(typed.take(), None);
            keys.write_all(b"ha").unwrap();
            assert_eq!(typed.take(), None, "half a line");
            keys.write_all(b"lf\nthrown away").unwrap();
            assert_eq!(typed.take().as_deref(), Some(&b"half\n"[..]));
            // Ctrl-C throws away what was typed.
            keys.write_all(b"\x03").unwrap();
            assert_eq!(typed.take(), None);
            keys.write_all(b"\x04").unwrap();
            assert_eq!(typed.take().as_deref(), Some(&b""[..]), "the end of the input");
        }
    }
}

#[cfg(not(unix))]
pub use other::{TerminalState, TypedLines};

#[cfg(not(unix))]
mod other {
    /// The state in which the program found the terminal, which it does not change here.
    #[derive(Debug)]
    pub struct TerminalState;

    /// A terminal that shows what is typed, here.
    #[derive(Debug)]
    pub struct EchoOff;

    impl TerminalState {
        /// Returns the present state.
        #[must_use]
        pub fn of_stdin() -> Self {
            Self
        }

        /// Restores the state.
        pub fn restore(&self) {}

        /// Changes nothing.
        #[must_use]
        pub fn quiet() -> EchoOff {
            EchoOff
        }
    }

    /// No lines: here, the line editor alone reads what is typed.
    #[derive(Debug)]
    pub struct TypedLines;

    impl TypedLines {
        /// Returns no lines.
        #[must_use]
        pub fn of_stdin() -> Self {
            Self
        }

        /// Returns nothing.
        pub fn take(&mut self) -> Option<Vec<u8>> {
            None
        }
    }
}
