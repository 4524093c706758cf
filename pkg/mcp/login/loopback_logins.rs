//! Logins with a browser on this machine.

use std::{fmt, io, net::Ipv4Addr, sync::Arc, time::Duration};

use futures_core::future::BoxFuture;
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::timeout,
};

use super::mcp_logins::{McpLogin, McpLoginError, McpLogins};

/// Maximum length of the head of a browser's request, in bytes.
const MAX_HEAD_BYTES: usize = 16 << 10;

/// Maximum number of simultaneous browser connections; others wait.
const MAX_CONNECTIONS: usize = 32;

/// Maximum wait for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// The path of the redirect URL.
const PATH: &str = "/callback";

/// The page that the browser shows at the end.
const DONE: &str = "You can close this window and go back to the program.";

/// A function that shows the page of a login, given the name of the server and the URL.
type ShowPage = Arc<dyn Fn(&str, &str) + Send + Sync>;

/// A login with a browser on this machine, which listens on a free port of `127.0.0.1` for the answer.
///
/// # Examples
///
/// ```no_run
/// use forgeline::agent::mcp::{LoopbackLogins, McpConfig, McpOptions};
///
/// # fn example(text: &str) -> Result<(), forgeline::agent::mcp::McpConfigError> {
/// let login = LoopbackLogins::new(|server, page| eprintln!("log in to {server}: {page}"));
/// let config = McpConfig::parse(text)?;
/// let options = McpOptions::default().logins(login);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct LoopbackLogins {
    show: ShowPage,
}

impl LoopbackLogins {
    /// Creates a login that shows the page with this function, which receives the name of the server and the URL.
    pub fn new(show: impl Fn(&str, &str) + Send + Sync + 'static) -> Self {
        Self { show: Arc::new(show) }
    }
}

impl fmt::Debug for LoopbackLogins {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("LoopbackLogins")
    }
}

impl McpLogins for LoopbackLogins {
    fn begin(&self, server: &str) -> BoxFuture<'static, Result<Box<dyn McpLogin>, McpLoginError>> {
        let (show, server) = (Arc::clone(&self.show), server.to_owned());
        Box::pin(async move {
            let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
            let bound = bound.and_then(|listener| Ok((listener.local_addr()?.port(), listener)));
            let (port, listener) = bound.map_err(|error| not_listening(&error))?;
            Ok(Box::new(LoopbackLogin { listener, port, server, show }) as Box<dyn McpLogin>)
        })
    }
}

/// A login that waits for the browser.
struct LoopbackLogin {
    listener: TcpListener,
    port: u16,
    server: String,
    show: ShowPage,
}

impl McpLogin for LoopbackLogin {
    fn redirect_uri(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    fn answer(self: Box<Self>, page: &str) -> BoxFuture<'static, Result<String, McpLoginError>> {
        (self.show)(&self.server, page);
        let state = parameter(page.split_once('?').map_or("", |(_, query)| query), "state");
        let state = state.map(str::to_owned);
        Box::pin(async move {
            let mut open = FuturesUnordered::new();
            loop {
                tokio::select! {
                    biased;
                    answered = open.next(), if !open.is_empty() => {
                        if let Some(Ok(Ok(Some(answer)))) = answered {
                            return Ok(format!("http://127.0.0.1:{}{answer}", self.port));
                        }
                    }
                    // Browsers open connections that they do not use, and request images; any page can send them here.
                    accepted = self.listener.accept(), if open.len() < MAX_CONNECTIONS => {
                        let (stream, _) = accepted.map_err(|error| not_listening(&error))?;
                        open.push(timeout(HEAD_TIMEOUT, answer_of(stream, state.as_deref())));
                    }
                }
            }
        })
    }
}

/// Answers one request of the browser; returns its target if that is the answer to the login.
async fn answer_of(mut stream: TcpStream, state: Option<&str>) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > MAX_HEAD_BYTES || stream.read_buf(&mut head).await? == 0 {
            return Ok(None);
        }
    }
    let head = String::from_utf8_lossy(&head);
    let target = head.strip_prefix("GET ").and_then(|rest| rest.split(' ').next());
    let query = target.and_then(|target| target.strip_prefix(PATH)?.strip_prefix('?'));
    let is_answer =
        query.is_some_and(|query| state.is_some() && parameter(query, "state") == state);
    let (status, body) = if is_answer { ("200 OK", DONE) } else { ("404 Not Found", "") };
    let length = body.len();
    let response = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    // The answer counts whether or not the browser waits for its page.
    let _written = stream.write_all(response.as_bytes()).await;
    Ok(target.filter(|_| is_answer).map(str::to_owned))
}

/// Returns a parameter of a query, as written.
fn parameter<'q>(query: &'q str, name: &str) -> Option<&'q str> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find_map(|(key, value)| (key == name).then_some(value))
}

fn not_listening(error: &io::Error) -> McpLoginError {
    McpLoginError::new(format!("the answer of the browser cannot be waited for: {error}"))
}
