//! The database of a bench.

use crate::postgres::PostgresServer;

/// The server of a bench.
#[derive(Debug)]
#[non_exhaustive]
pub enum BenchServer {
    /// The server of all tests of this process.
    Shared(&'static PostgresServer),
    /// A server that the bench may restart and kill.
    Own(Box<PostgresServer>),
    /// A server and its standby.
    Pair(Box<PostgresServer>, Box<PostgresServer>),
}

impl BenchServer {
    pub(super) fn get(&self) -> &PostgresServer {
        match self {
            Self::Shared(server) => server,
            Self::Own(server) | Self::Pair(server, _) => server,
        }
    }

    /// Creates a database, and returns its URL, with the host of the standby.
    pub(super) fn database(&self) -> String {
        let url = self.get().database();
        match self {
            Self::Shared(_) | Self::Own(_) => url,
            Self::Pair(_, standby) => format!("{url}&host={}", standby.folder().display()),
        }
    }

    /// Stops the server as a crash of its machine does, and starts it with the same data.
    ///
    /// # Panics
    ///
    /// Panics when other tests use the server.
    pub fn restart(&mut self) {
        self.own().restart();
    }

    /// Kills the main process of the server, and starts it with the same data.
    ///
    /// # Panics
    ///
    /// As [`restart`](Self::restart).
    pub fn kill(&mut self) {
        let server = self.own();
        server.kill();
        server.resume();
    }

    /// Makes each write wait for the standby.
    ///
    /// # Panics
    ///
    /// Panics when the server does not say so.
    pub fn wait_for_standby(&self) {
        self.get().wait_for_standby();
    }

    /// Lets the standby receive nothing more.
    ///
    /// # Panics
    ///
    /// Panics when there is none.
    pub fn stop_following(&self) {
        match self {
            Self::Pair(_, standby) => standby.stop_following(),
            Self::Shared(_) | Self::Own(_) => panic!("there is one server"),
        }
    }

    /// Kills the main process of the server, and promotes the standby.
    ///
    /// # Panics
    ///
    /// Panics when there is none.
    pub fn fail_over(&mut self) {
        self.own().kill();
        match self {
            Self::Pair(server, standby) => {
                standby.promote();
                std::mem::swap(server, standby);
            }
            Self::Shared(_) | Self::Own(_) => panic!("there is one server"),
        }
    }

    fn own(&mut self) -> &mut PostgresServer {
        match self {
            Self::Own(server) | Self::Pair(server, _) => server,
            Self::Shared(_) => panic!("the server is shared"),
        }
    }
}
