//! Looks for a local server that speaks OpenAI's protocol.

use std::{
    io::{Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use serde_json::Value;

/// Where Ollama and llama.cpp listen by default.
const PORTS: [u16; 2] = [11434, 8080];
/// How long one port may take in all.
const PATIENCE: Duration = Duration::from_millis(300);
/// Longest answer that is read, in bytes.
const MAX_ANSWER_BYTES: usize = 256 << 10;

/// A server that answered with its models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    /// Where its API starts.
    pub base_url: String,
    /// The first of its models.
    pub model: String,
}

/// The first local server that lists a model.
///
/// The look is a GET without a prompt, a key or cookies, to loopback only.
#[must_use]
pub fn find_local_server() -> Option<LocalServer> {
    PORTS.into_iter().find_map(|port| ask(SocketAddr::from((Ipv4Addr::LOCALHOST, port))))
}

fn ask(address: SocketAddr) -> Option<LocalServer> {
    let deadline = Instant::now() + PATIENCE;
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    // HTTP/1.0: the answer comes in one piece and ends with the connection.
    let request =
        format!("GET /v1/models HTTP/1.0\r\nHost: {address}\r\nAccept: application/json\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let left =
            deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
        stream.set_read_timeout(Some(left)).ok()?;
        let length = stream.read(&mut piece).ok()?;
        answer.extend_from_slice(piece.get(..length)?);
        let model = first_model(&answer);
        if model.is_some() || length == 0 || answer.len() > MAX_ANSWER_BYTES {
            return Some(LocalServer { base_url: format!("http://{address}/v1"), model: model? });
        }
    }
}

/// The first model of a whole HTTP answer with a model list; `None` while more may come.
fn first_model(answer: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(answer).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?;
    if status != "200" {
        return None;
    }
    let list: Value = serde_json::from_str(body).ok()?;
    let model = list.get("data")?.as_array()?.first()?.get("id")?.as_str()?;
    (!model.is_empty()).then(|| model.to_owned())
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, thread};

    use super::*;

    #[test]
    fn only_a_model_list_counts_as_a_server() {
        #[rustfmt::skip]
        let cases = [
            ("list",        "HTTP/1.0 200 OK\r\nA: b\r\n\r\n{\"object\":\"list\",\"data\":[{\"id\":\"m1\"},{\"id\":\"m2\"}]}", Some("m1")),
            ("no models",   "HTTP/1.0 200 OK\r\n\r\n{\"data\":[]}",            None),
            ("a web page",  "HTTP/1.0 200 OK\r\n\r\n<html></html>",            None),
            ("not found",   "HTTP/1.0 404 Not Found\r\n\r\n{\"data\":[{\"id\":\"m\"}]}", None),
            ("no HTTP",     "hello",                                           None),
        ];
        for (name, answer, want) in cases {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let server = thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = [0; 512];
                let length = stream.read(&mut request).unwrap();
                let (head, tail) = answer.as_bytes().split_at(answer.len() / 2);
                stream.write_all(head).unwrap();
                stream.write_all(tail).unwrap();
                String::from_utf8_lossy(&request[..length]).into_owned()
            });
            let found = ask(address);
            let request = server.join().unwrap();
            assert!(request.starts_with("GET /v1/models "), "{request}");
            assert_eq!(found.as_ref().map(|server| server.model.as_str()), want, "{name}");
            assert!(found.is_none_or(|server| server.base_url == format!("http://{address}/v1")));
        }
    }
}
