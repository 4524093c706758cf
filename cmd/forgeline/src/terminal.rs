//! The terminal on stdin: its state is changed while an answer streams, and given back.

#[cfg(unix)]
pub use unix::Terminal;

#[cfg(unix)]
mod unix {
    use std::io;

    use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};

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

        /// Changes nothing.
        #[must_use]
        pub fn quiet() -> Quiet {
            Quiet
        }
    }
}
