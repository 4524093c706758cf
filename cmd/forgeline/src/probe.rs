//! The search for a local server that runs models.

use std::{
    io::{Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::vendors::ProviderName;

/// The ports that are looked at, by preference, and the protocols of each: Ollama; llama.cpp; LM Studio; vLLM; another llama.cpp;
/// the server of Hugind; `SGLang`.
const PORTS: [(u16, &[ProviderName]); 7] = [
    (11434, &[ProviderName::Ollama, ProviderName::Openai]),
    (8080, &[ProviderName::Openai]),
    (1234, &[ProviderName::Openai]),
    (8000, &[ProviderName::Openai]),
    (8081, &[ProviderName::Openai]),
    (9931, &[ProviderName::Openai]),
    (30000, &[ProviderName::Openai]),
];
/// The time limit for a port; all are looked at in the same time.
const PATIENCE: Duration = Duration::from_millis(300);
/// Longest answer that is read, in bytes.
const MAX_ANSWER_BYTES: usize = 256 << 10;

/// A server that answered with its models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    /// The provider that speaks its protocol.
    pub provider: ProviderName,
    /// The base URL of its API.
    pub base_url: String,
    /// The first of its models.
    pub model: String,
}

/// Returns the first local server that lists a model.
///
/// The look is a GET without a prompt, a key or cookies, to loopback only. Ollama is asked for its own
/// list first, since its own protocol has thinking and options that its OpenAI-compatible one lacks.
#[must_use]
pub fn find_local_server() -> Option<LocalServer> {
    look_at_all(&PORTS)
}

/// The ports that are looked at, for messages.
#[must_use]
pub fn ports() -> String {
    let ports = PORTS.map(|(port, _)| port.to_string());
    let (last, others) = ports.split_last().map_or(("", &[][..]), |(last, rest)| (last, rest));
    format!("{} or {last}", others.join(", "))
}

/// Looks at all ports at once; the first of them that lists a model wins.
fn look_at_all(ports: &[(u16, &[ProviderName])]) -> Option<LocalServer> {
    let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    thread::scope(|scope| {
        let look = |&(port, protocols)| scope.spawn(move || look(at(port), protocols));
        let looks: Vec<_> = ports.iter().map(look).collect();
        let mut found = looks.into_iter().map(|look| look.join().ok().flatten());
        found.find_map(|server| server)
    })
}

/// Asks in each of these protocols in turn.
fn look(address: SocketAddr, protocols: &[ProviderName]) -> Option<LocalServer> {
    let deadline = Instant::now() + PATIENCE;
    protocols.iter().find_map(|&provider| {
        let is_ollama = provider == ProviderName::Ollama;
        let (base, path) = if is_ollama { ("", "/api/tags") } else { ("/v1", "/v1/models") };
        let model = ask(address, path, deadline)?;
        Some(LocalServer { provider, base_url: format!("http://{address}{base}"), model })
    })
}

/// Requests the model list at `path` and returns the first model.
fn ask(address: SocketAddr, path: &str, deadline: Instant) -> Option<String> {
    let left = || deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
    let mut stream = TcpStream::connect_timeout(&address, left()?).ok()?;
    stream.set_write_timeout(Some(left()?)).ok()?;
    // HTTP/1.0: the answer comes in one piece and ends with the connection.
    let request =
        format!("GET {path} HTTP/1.0\r\nHost: {address}\r\nAccept: application/json\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    loop {
        stream.set_read_timeout(Some(left()?)).ok()?;
        let length = stream.read(&mut piece).ok()?;
        answer.extend_from_slice(piece.get(..length)?);
        let model = first_model(&answer);
        if model.is_some() || length == 0 || answer.len() > MAX_ANSWER_BYTES {
            return model;
        }
    }
}

/// Returns the first model of a whole HTTP response with a model list; `None` while more may come.
fn first_model(answer: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(answer).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?;
    if status != "200" {
        return None;
    }
    let list: Value = serde_json::from_str(body).ok()?;
    let model = list.pointer("/data/0/id").or_else(|| list.pointer("/models/0/name"))?.as_str()?;
    (!model.is_empty()).then(|| model.to_owned())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Gives these answers, one a connection; the requests come back.
    fn serve(answers: &'static [&'static str]) -> (SocketAddr, thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let answer = move |answer: &str| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 512];
            let length = stream.read(&mut request).unwrap();
            let (head, tail) = answer.as_bytes().split_at(answer.len() / 2);
            stream.write_all(head).unwrap();
            stream.write_all(tail).unwrap();
            String::from_utf8_lossy(&request[..length]).into_owned()
        };
        (address, thread::spawn(move || answers.iter().map(|text| answer(text)).collect()))
    }

    #[test]
    fn only_a_model_list_counts_as_a_server() {
        #[rustfmt::skip]
        let cases: [(&str, &[&str], Option<&str>); 5] = [
            ("list",        &["HTTP/1.0 200 OK\r\nA: b\r\n\r\n{\"object\":\"list\",\"data\":[{\"id\":\"m1\"},{\"id\":\"m2\"}]}"], Some("m1")),
            ("no models",   &["HTTP/1.0 200 OK\r\n\r\n{\"data\":[]}"],            None),
            ("a web page",  &["HTTP/1.0 200 OK\r\n\r\n<html></html>"],            None),
            ("not found",   &["HTTP/1.0 404 Not Found\r\n\r\n{\"data\":[{\"id\":\"m\"}]}"], None),
            ("no HTTP",     &["hello"],                                           None),
        ];
        for (name, answers, want) in cases {
            let (address, server) = serve(answers);
            let found = look(address, &[ProviderName::Openai]);
            let request = server.join().unwrap().concat();
            assert!(request.starts_with("GET /v1/models "), "{request}");
            assert_eq!(found.as_ref().map(|server| server.model.as_str()), want, "{name}");
            assert!(found.is_none_or(|server| server.base_url == format!("http://{address}/v1")));
        }
    }

    // Rows: N-38
    #[test]
    fn the_first_of_the_ports_that_lists_a_model_wins_whatever_the_others_do() {
        const LIST: &str = "HTTP/1.0 200 OK\r\n\r\n{\"data\":[{\"id\":\"m\"}]}";
        // A server that says nothing, one that is gone, one that is none, and two that list models.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let served = [&["hello"][..], &[LIST], &[LIST]].map(serve);
        let [none, first, second] = [0, 1, 2].map(|at: usize| served[at].0.port());
        let openai: &[ProviderName] = &[ProviderName::Openai];
        let ports = [silent.local_addr().unwrap().port(), gone, none, first, second];
        let found = look_at_all(&ports.map(|port| (port, openai))).unwrap();
        assert_eq!(found.base_url, format!("http://127.0.0.1:{first}/v1"));
        for (_, server) in served {
            assert_eq!(server.join().unwrap().len(), 1, "each is asked once");
        }
        assert_eq!(look_at_all(&[(gone, openai)]), None);
        assert_eq!(super::ports(), "11434, 8080, 1234, 8000, 8081, 9931 or 30000");
    }

    #[test]
    fn ollama_is_asked_in_its_own_protocol_and_others_at_its_port_in_openais() {
        const TAGS: &str =
            "HTTP/1.0 200 OK\r\n\r\n{\"models\":[{\"name\":\"a:1b\",\"size\":1},{\"name\":\"b\"}]}";
        const MISSING: &str = "HTTP/1.0 404 Not Found\r\n\r\nnothing here";
        const LIST: &str = "HTTP/1.0 200 OK\r\n\r\n{\"data\":[{\"id\":\"m\"}]}";
        let protocols = [ProviderName::Ollama, ProviderName::Openai];
        #[rustfmt::skip]
        let cases: [(&[&str], ProviderName, &str, &str); 2] = [
            (&[TAGS],          ProviderName::Ollama, "",    "a:1b"),
            (&[MISSING, LIST], ProviderName::Openai, "/v1", "m"),
        ];
        for (answers, provider, base, model) in cases {
            let (address, server) = serve(answers);
            let found = look(address, &protocols).unwrap();
            assert_eq!(server.join().unwrap().len(), answers.len());
            let base_url = format!("http://{address}{base}");
            assert_eq!(found, LocalServer { provider, base_url, model: model.to_owned() });
        }
    }
}
