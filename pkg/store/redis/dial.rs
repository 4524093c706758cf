//! Connections to the server.

use std::{io::ErrorKind, sync::Arc, time::Duration};

use redis::{
    AsyncConnectionConfig, Cmd, ConnectionAddr, RedisConnectionInfo, Value,
    aio::MultiplexedConnection,
};
use rustls::{ClientConfig, pki_types::ServerName};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    task::AbortHandle,
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::{errors::CommandFailure, setup::RedisOptions};
use crate::{StoreError, servers::tls};

/// Maximum wait for a connection.
const CONNECTING: Duration = Duration::from_secs(3);

/// Maximum number of commands of a connection that wait for their replies.
const MAX_WAITING: usize = 1_024;

/// Makes connections with the same options.
pub(super) struct RedisDialer {
    options: RedisOptions,
    tls: Arc<ClientConfig>,
}

/// A connection, shared by the commands of a process. It is closed when the last clone is dropped.
#[derive(Clone)]
pub(super) struct RedisSession {
    connection: MultiplexedConnection,
    driver: Arc<DriverGuard>,
}

/// Ends the task of a connection when it is dropped.
struct DriverGuard(AbortHandle);

impl Drop for DriverGuard {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl RedisSession {
    /// Returns `true` once the connection is lost.
    pub(super) fn is_closed(&self) -> bool {
        self.driver.0.is_finished()
    }

    /// Returns `true` if both are the same connection.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.driver, &other.driver)
    }

    /// Executes a command once, and waits for its reply as long as `most`.
    pub(super) async fn ask(&self, command: &Cmd, most: Duration) -> Result<Value, CommandFailure> {
        let mut connection = self.connection.clone();
        let Ok(done) = timeout(most, connection.send_packed_command(command)).await else {
            return Err(CommandFailure::lost(&format!("no reply within {most:?}")));
        };
        done.and_then(Value::extract_error).map_err(|error| CommandFailure::of(&error))
    }
}

impl RedisDialer {
    pub(super) fn new(options: RedisOptions) -> Result<Self, StoreError> {
        options.connection()?;
        let tls = Arc::new(tls::client_config(options.root_certificates.as_deref())?);
        Ok(Self { options, tls })
    }

    /// Returns `true` if a password leaves this machine without TLS.
    pub(super) fn is_readable(&self) -> bool {
        let Ok(place) = self.options.connection() else { return false };
        let ConnectionAddr::Tcp(host, _) = &place.address else { return false };
        let is_near = matches!(host.as_str(), "localhost" | "127.0.0.1" | "::1" | "[::1]");
        !is_near && !place.is_secured && place.login.password().is_some()
    }

    /// Connects.
    pub(super) async fn dial(&self) -> Result<RedisSession, CommandFailure> {
        match timeout(CONNECTING, self.connect()).await {
            Ok(done) => done.map_err(CommandFailure::of_connecting),
            Err(_) => {
                Err(CommandFailure::unreachable(&format!("no connection within {CONNECTING:?}")))
            }
        }
    }

    async fn connect(&self) -> Result<RedisSession, CommandFailure> {
        let place = self.options.connection().map_err(CommandFailure::Refused)?;
        let login = &place.login;
        match &place.address {
            ConnectionAddr::Tcp(host, port) if place.is_secured => {
                open(login, self.secured(bare(host), *port).await?).await
            }
            ConnectionAddr::Tcp(host, port) => open(login, tcp(bare(host), *port).await?).await,
            #[cfg(unix)]
            ConnectionAddr::Unix(path) => {
                let stream = tokio::net::UnixStream::connect(path).await;
                open(login, stream.map_err(|error| CommandFailure::unreachable(&error))?).await
            }
            _ => Err(CommandFailure::Refused(StoreError::unavailable(
                "the address in the URL of Redis cannot be used on this system; expected rediss://user@host:6379/0",
            ))),
        }
    }

    async fn secured(&self, host: &str, port: u16) -> Result<TlsStream<TcpStream>, CommandFailure> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| {
            CommandFailure::Refused(StoreError::unavailable(
                "the host in the URL of Redis is not a name of DNS; expected one that its certificate has",
            ))
        })?;
        let stream = tcp(host, port).await?;
        let secured = TlsConnector::from(Arc::clone(&self.tls)).connect(name, stream).await;
        secured.map_err(|error| {
            if error.kind() == ErrorKind::InvalidData {
                // A certificate that is refused would be refused again.
                return CommandFailure::Refused(StoreError::unavailable(format!("Redis: {error}")));
            }
            CommandFailure::unreachable(&error)
        })
    }
}

/// Returns an address of IPv6 without the brackets that it has in a URL.
fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

async fn tcp(host: &str, port: u16) -> Result<TcpStream, CommandFailure> {
    let connected = TcpStream::connect((host, port)).await;
    let stream = connected.map_err(|error| CommandFailure::unreachable(&error))?;
    stream.set_nodelay(true).map_err(|error| CommandFailure::unreachable(&error))?;
    Ok(stream)
}

async fn open<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    login: &RedisConnectionInfo,
    stream: S,
) -> Result<RedisSession, CommandFailure> {
    // Waits are limited here, for each command.
    let config =
        AsyncConnectionConfig::new().set_response_timeout(None).set_concurrency_limit(MAX_WAITING);
    let opened = MultiplexedConnection::new_with_config(login, stream, config).await;
    let (connection, driver) = opened.map_err(|error| CommandFailure::of(&error))?;
    let driver = Arc::new(DriverGuard(tokio::spawn(driver).abort_handle()));
    Ok(RedisSession { connection, driver })
}
