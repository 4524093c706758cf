//! The terminal on stdin: its state is changed while an answer streams, and given back.

#[cfg(unix)]
pub use unix::Terminal;

#[cfg(unix)]
mod unix {
    use std::{io, os::fd::AsFd as _};

    use nix::{
        poll::{PollFd, PollFlags, PollTimeout, poll},
        sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr},
        unistd::read,
    };

    /// More than the longest line that a terminal keeps.
    const PIECE_BYTES: usize = 8 << 10;

    /// The state in which the program found the terminal.
    #[derive(Debug)]
    pub struct Terminal(Option<Termios>);

    /// A terminal that does not show what is typed, while this is held.
    #[derive(Debug)]
    pub struct Quiet(Terminal);

    impl Terminal {
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

        /// Returns the next line that was typed, as far as there is one, without a wait; an empty one at
        /// the end of the input. What is not a whole line yet stays in the terminal.
        #[must_use]
        pub fn typed() -> Option<Vec<u8>> {
            let stdin = io::stdin();
            let mut looked = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
            if poll(&mut looked, PollTimeout::ZERO) == Ok(0) {
                return None;
            }
            let mut piece = vec![0; PIECE_BYTES];
            // A terminal that is gone has nothing more to say.
            let length = read(stdin.as_fd(), &mut piece).unwrap_or_default();
            piece.truncate(length);
            Some(piece)
        }

        /// Stops showing what is typed: it would break into the answer. The line editor shows it when
        /// its turn comes.
        #[must_use]
        pub fn quiet() -> Quiet {
            let found = Self::of_stdin();
            let quiet = found.0.clone().map(|mut state| {
                state.local_flags.remove(LocalFlags::ECHO | LocalFlags::ECHONL);
                state
            });
            Self(quiet).restore();
            Quiet(found)
        }
    }

    impl Drop for Quiet {
        fn drop(&mut self) {
            self.0.restore();
        }
    }
}

#[cfg(not(unix))]
pub use other::Terminal;

#[cfg(not(unix))]
mod other {
    /// The state in which the program found the terminal, which it does not change here.
    #[derive(Debug)]
    pub struct Terminal;

    /// A terminal that shows what is typed, here.
    #[derive(Debug)]
    pub struct Quiet;

    impl Terminal {
        /// Returns the present state.
        #[must_use]
        pub fn of_stdin() -> Self {
            Self
        }

        /// Restores the state.
        pub fn restore(&self) {}

        /// Returns nothing: here, the line editor alone reads what is typed.
        #[must_use]
        pub fn typed() -> Option<Vec<u8>> {
            None
        }

        /// Changes nothing.
        #[must_use]
        pub fn quiet() -> Quiet {
            Quiet
        }
    }
}
