//! A model on this machine, in a thread of the process that measures: what it costs is not counted.

use std::{io, net::SocketAddr, thread, time::Duration};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    runtime::Builder,
    time::sleep,
};

use super::{
    answer::{self, Answer},
    latency::{PACED, STAMPED},
    watch,
};
use crate::{Result, fault};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                    transfer-encoding: chunked\r\nconnection: close\r\n\r\n";

/// An answer that waits until its browser is there, and one of which each event waits until the browser has the one before.
pub(super) const HELD: &str = "held";
pub(super) const EACH: &str = "each";

/// Between two events of a live answer.
pub(super) const BEAT: Duration = Duration::from_millis(100);

/// Serves until the process ends.
pub(super) fn start() -> Result<SocketAddr> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    // It ends with the process.
    thread::spawn(move || drop(runtime.block_on(serve(listener))));
    Ok(address)
}

async fn serve(listener: std::net::TcpListener) -> Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (connection, _) = listener.accept().await?;
        tokio::spawn(async move {
            // A client that gave up has told why itself.
            drop(respond(connection).await);
        });
    }
}

/// One request, one response.
async fn respond(connection: TcpStream) -> Result<()> {
    connection.set_nodelay(true)?;
    let mut connection = BufReader::new(connection);
    let (path, body) = request(&mut connection).await?;
    let mut words = path.split('/').skip(1);
    let (kind, count) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let count: usize = count.parse()?;
    if kind == watch::READ {
        return watch::answer(connection, count, &words.collect::<Vec<_>>().join("/")).await;
    }
    let is_told = body.contains(r#""role":"tool""#);
    // A short answer to what the tool said.
    let (kind, count) = if is_told { ("text", 1) } else { (kind, count) };
    connection.write_all(HEAD.as_bytes()).await?;
    let (kind, fault) = kind.split_once('!').unwrap_or((kind, ""));
    let answer = if kind == "calls" { Answer::Call } else { Answer::Text };
    connection.write_all(framed(&answer.first()).as_bytes()).await?;
    if kind == STAMPED {
        return Ok(PACED.send(connection.into_inner().into_std()?)?);
    }
    if kind == "live" {
        for delta in answer.deltas().into_iter().take(count) {
            sleep(BEAT).await;
            connection.write_all(framed(&answer.event(&delta)).as_bytes()).await?;
        }
        // Until the client goes away.
        connection.read_u8().await?;
        return Ok(());
    }
    let mut deltas = answer.deltas();
    fault::spoil(fault, &mut deltas);
    let together = if fault == fault::MERGED { 2 } else { 1 };
    let events: Vec<_> = deltas.iter().map(|delta| answer.event(delta)).collect();
    let deltas: Vec<_> = events.chunks(together).map(|events| framed(&events.concat())).collect();
    if kind == EACH {
        for (at, delta) in deltas.iter().cycle().take(count).enumerate() {
            watch::has_seen(at).await?;
            connection.write_all(delta.as_bytes()).await?;
        }
        let end: String = answer.last().iter().map(|event| framed(event)).collect();
        connection.write_all(format!("{end}0\r\n\r\n").as_bytes()).await?;
        return Ok(connection.shutdown().await?);
    }
    if kind == HELD {
        watch::has_seen(0).await?;
    }
    let all = deltas.concat();
    for _ in 0..count / answer::DELTAS {
        connection.write_all(all.as_bytes()).await?;
    }
    let rest = deltas.into_iter().take(count % answer::DELTAS);
    let end: String = rest.chain(answer.last().iter().map(|event| framed(event))).collect();
    connection.write_all(format!("{end}0\r\n\r\n").as_bytes()).await?;
    connection.shutdown().await?;
    Ok(())
}

/// Reads a request; gives its path and its body.
pub(crate) async fn request(connection: &mut BufReader<TcpStream>) -> io::Result<(String, String)> {
    let mut line = String::new();
    connection.read_line(&mut line).await?;
    let path = line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        line.clear();
        connection.read_line(&mut line).await?;
        let Some((name, value)) = line.split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    let mut body = vec![0; length];
    connection.read_exact(&mut body).await?;
    Ok((path, String::from_utf8(body).map_err(io::Error::other)?))
}

/// `event` as a chunk of an HTTP body.
pub(super) fn framed(event: &str) -> String {
    format!("{:x}\r\n{event}\r\n", event.len())
}
