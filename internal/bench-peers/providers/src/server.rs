//! A model on this machine: answers every request with as many deltas as its path says.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::exit,
    thread,
};

use crate::{Result, answer, report};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                    transfer-encoding: chunked\r\nconnection: close\r\n\r\n";

/// Prints the port, then serves until standard input ends, as it does when the parent is gone.
pub(crate) fn serve() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    report::say(&listener.local_addr()?.port().to_string());
    thread::spawn(|| {
        drop(io::copy(&mut io::stdin(), &mut io::sink()));
        exit(0);
    });
    for connection in listener.incoming() {
        let connection = connection?;
        thread::spawn(|| {
            // A client that gave up has told why itself.
            drop(respond(connection));
        });
    }
    Ok(())
}

/// One request, one response.
fn respond(mut connection: TcpStream) -> Result<()> {
    let Some(count) = deltas_asked_for(&mut BufReader::new(&connection))? else {
        connection.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")?;
        return Ok(());
    };
    connection.write_all(HEAD.as_bytes())?;
    let deltas: Vec<_> = answer::deltas()
        .into_iter()
        .map(|delta| answer::framed(&answer::delta_event(delta)))
        .collect();
    let (all, once) = (deltas.concat(), |count: usize| deltas.iter().take(count));
    connection.write_all(answer::framed(&answer::first_event()).as_bytes())?;
    for _ in 0..count / answer::DELTAS {
        connection.write_all(all.as_bytes())?;
    }
    let rest: String = once(count % answer::DELTAS).map(String::as_str).collect();
    let end: String = answer::last_events().iter().map(|event| answer::framed(event)).collect();
    connection.write_all(format!("{rest}{end}0\r\n\r\n").as_bytes())?;
    Ok(())
}

/// Reads a request to its end; gives the number at the start of its path, if one stands there.
fn deltas_asked_for(request: &mut impl BufRead) -> Result<Option<usize>> {
    let mut line = String::new();
    request.read_line(&mut line)?;
    let path = line.split_whitespace().nth(1).unwrap_or_default();
    let count = path.split('/').nth(1).and_then(|count| count.parse().ok());
    let mut length = 0;
    loop {
        line.clear();
        request.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse()?;
        }
    }
    io::copy(&mut request.take(length), &mut io::sink())?;
    Ok(count)
}
