//! Bodies: what arrives late, in odd pieces, without end or cut off, whatever it says.

use std::time::Duration;

use forgeline::{
    llm::{RetryPolicy, TimeoutKind},
    types::ErrorCode,
};

use super::{
    SECOND, Wire, begun,
    scenario::{MOST_BYTES, Scenario, one, play, several, times, whole},
    server::{Body, End, ok},
};

/// How often a piece comes again that never ends.
const EVER: usize = 1 << 24;

fn scenarios() -> Vec<Scenario> {
    let mut table = empty();
    table.extend(slow());
    table.extend(endless());
    table.extend(cut());
    table.extend(odd());
    table
}

/// Bodies that hold nothing.
fn empty() -> Vec<Scenario> {
    let nothing = |name: &str, body: &'static str| {
        several(format!("a body of {name}"), move |_| vec![ok(Body::new(body)); 3])
            .fails(ErrorCode::EndedEarly)
            .nothing()
            .asks(3)
            .takes(1..=1)
    };
    let events = |name: &str, body: &'static str| nothing(name, body).only(|wire| !wire.is_lines());
    vec![
        nothing("nothing", ""),
        nothing("blanks", "   \t  "),
        nothing("line ends", "\n\r\n\n\n"),
        nothing("a mark", "\u{feff}"),
        nothing("a mark and line ends", "\u{feff}\n\n"),
        events("comments", ": a\n\n: b\n\n"),
        events("an event without data", "event: x\nid: 1\n\n"),
        events("empty data", "data\n\ndata:\n\ndata: \n\n"),
        events("half a field", "dat"),
        several("comments alone", |wire| vec![ok(Body::new(wire.comment.repeat(9))); 3])
            .fails(ErrorCode::EndedEarly)
            .nothing()
            .asks(3)
            .takes(1..=1),
    ]
}

/// Bodies that take their time.
fn slow() -> Vec<Scenario> {
    let half = Duration::from_millis(500);
    vec![
        one("nothing comes", |_| ok(Body::new("").end(End::Stalls)))
            .late(TimeoutKind::FirstByte)
            .nothing()
            .takes(5..=5),
        one("stalls behind a comment", |wire| ok(Body::new(wire.comment).end(End::Stalls)))
            .late(TimeoutKind::Idle)
            .nothing()
            .takes(7..=7),
        one("stalls behind a word", |wire| ok(Body::new(begun(wire)).end(End::Stalls)))
            .late(TimeoutKind::Idle)
            .takes(7..=7),
        one("stalls in an event", |wire| {
            let next = wire.delta("x");
            let body = format!("{}{}", begun(wire), share(&next, 2, 1));
            ok(Body::new(body).end(End::Stalls))
        })
        .late(TimeoutKind::Idle)
        .takes(7..=7),
        one("stalls behind the end", |wire| ok(Body::new(whole(wire)).end(End::Stalls)))
            .takes(0..=2),
        one("stalls behind the end, with its own time", |wire| {
            ok(Body::new(whole(wire)).end(End::Stalls))
        })
        .times(times().after_finish(half))
        .takes(0..=0),
        one("breaks behind the end", |wire| ok(Body::new(whole(wire)).end(End::Breaks))),
        one("breaks behind a word", |wire| ok(Body::new(begun(wire)).end(End::Breaks)))
            .fails(ErrorCode::Connect),
        one("a word every four seconds", |wire| {
            let words = std::iter::repeat_n(wire.delta("."), 9);
            let mut body = Body::new(begun(wire));
            body.pieces.extend(words.chain([wire.end.to_owned()]).map(Into::into));
            ok(body.every(4 * SECOND))
        })
        .text("kept.........")
        .takes(44..=44),
        one("a byte fifty times a second", |wire| {
            ok(Body::bytewise(whole(wire).as_bytes()).every(Duration::from_millis(20)))
        })
        .takes(1..=18),
        one("a byte every four seconds", |wire| {
            ok(Body::bytewise(whole(wire).as_bytes()).every(4 * SECOND))
        })
        .fails(ErrorCode::Timeout)
        .any_text()
        .takes(20..=200),
    ]
}

/// A body that says nothing new for ever, every half second.
fn forever(
    name: &str,
    begin: fn(&Wire) -> String,
    piece: impl Fn(&Wire) -> String + 'static,
) -> Scenario {
    one(format!("{name} for ever"), move |wire| {
        ok(Body::new(begin(wire)).again(piece(wire), EVER).every(SECOND / 2))
    })
}

/// Bodies without end.
fn endless() -> Vec<Scenario> {
    type Piece = fn(&Wire) -> String;
    let text = |text: &'static str| move |_: &Wire| text.to_owned();
    let mut table = vec![
        forever("blanks", begun, text(" ")),
        forever("line ends", begun, text("\n")),
        forever("line ends of two bytes", begun, text("\r\n")),
        forever("comments", begun, |wire| wire.comment.to_owned()),
        forever("empty data", begun, text("data:\n\n")).only(|wire| !wire.is_lines()),
        forever("names", begun, text("event: ping\n\n")).only(|wire| !wire.is_lines()),
        forever("ids", begun, text("id: 7\n")).only(|wire| !wire.is_lines()),
        forever("waits", begun, text("retry: 1\n\n")).only(|wire| !wire.is_lines()),
        forever("unknown fields", begun, text("x: y\n\n")).only(|wire| !wire.is_lines()),
        forever("NULs", begun, text("\0")),
    ];
    table = table.into_iter().map(|row| row.late(TimeoutKind::Content).takes(20..=22)).collect();
    table.push(
        forever(
            "comments before a word,",
            |wire| wire.comment.to_owned(),
            |wire| wire.comment.to_owned(),
        )
        .late(TimeoutKind::Content)
        .nothing()
        .takes(20..=22),
    );
    table.push(
        forever("words", begun, |wire| wire.delta("x"))
            .late(TimeoutKind::Total)
            .begins("keptxxx")
            .takes(200..=200),
    );
    let behind: [(&str, Piece); 5] = [
        ("blanks behind the end", |_| " ".to_owned()),
        ("line ends behind the end", |_| "\n".to_owned()),
        ("comments behind the end", |wire| wire.comment.to_owned()),
        ("words behind the end", |wire| wire.delta("no")),
        ("a line behind the end", |_| "x".repeat(100)),
    ];
    for (name, piece) in behind {
        table.push(forever(name, whole, piece).begins("kept").takes(0..=3));
    }
    // As fast as they can be read: there is no wait that could end.
    let fast: [(&str, Piece); 6] = [
        ("blanks", |_| " ".repeat(1000)),
        ("line ends", |_| "\n".repeat(1000)),
        ("comments", |wire| wire.comment.repeat(100)),
        ("words", |wire| wire.delta("x")),
        ("an event", |_| "x".repeat(1000)),
        ("NULs", |_| "\0".repeat(1000)),
    ];
    for (name, piece) in fast {
        table.push(
            one(format!("{name} without end or pause"), move |wire| {
                ok(Body::new(begun(wire)).again(piece(wire), EVER))
            })
            .fails(ErrorCode::Decode)
            .begins("kept"),
        );
        table.push(
            one(format!("{name} without end or pause behind the end"), move |wire| {
                ok(Body::new(whole(wire)).again(piece(wire), EVER))
            })
            .begins("kept"),
        );
    }
    let starts: [(&str, &str); 7] = [
        ("an object", "{"),
        ("a list", "["),
        ("a page", "<"),
        ("a word", "x"),
        ("a field", "data: "),
        ("a mark", "\u{feff}"),
        ("a string", "\""),
    ];
    for (name, start) in starts {
        let name = format!("{name} that never ends");
        let body = move |_: &Wire| ok(Body::new(start).again("x".repeat(1000), EVER));
        table.push(one(name, body).fails(ErrorCode::Decode).nothing());
    }
    table
}

/// Bodies that end too early, at places that mean something.
fn cut() -> Vec<Scenario> {
    type Cut = fn(&Wire) -> String;
    let rows: [(&str, Cut); 5] = [
        ("behind a word", begun),
        ("in the next event", |wire| {
            let next = wire.delta("no");
            format!("{}{}", begun(wire), share(&next, 2, 1))
        }),
        ("before the end of its next event", |wire| {
            format!("{}{}", begun(wire), wire.delta("no").trim_end().trim_end_matches('}'))
        }),
        ("in its last event", |wire| {
            let end = share(wire.end, 3, 1);
            format!("{}{end}", begun(wire))
        }),
        ("in a call", |wire| {
            let call = wire.call("1", "c", "f", "{\"a\":1}");
            format!("{}{}", begun(wire), share(&call, 3, 2))
        }),
    ];
    let mut table = Vec::new();
    for (name, body) in rows {
        let early = move |wire: &Wire| ok(Body::new(body(wire)));
        let row = one(format!("ends {name}"), early);
        table.push(row.fails(ErrorCode::EndedEarly));
        let breaks = move |wire: &Wire| ok(Body::new(body(wire)).end(End::Breaks));
        table.push(one(format!("breaks {name}"), breaks).fails(ErrorCode::Connect));
    }
    table.push(
        // An event without its empty line did not arrive; behind Chat Completions' finish nothing is missed.
        one("ends without its last line end", |wire| ok(Body::new(whole(wire).trim_end())))
            .fails_on(
                ErrorCode::EndedEarly,
                &["gemini", "cohere", "openai-responses", "anthropic"],
            ),
    );
    table
}

/// Bodies with something that does not belong there.
fn odd() -> Vec<Scenario> {
    let lines = |wire: &Wire| wire.is_lines();
    let events = |wire: &Wire| !wire.is_lines();
    let answer =
        |name: &str, body: fn(&Wire) -> String| one(name, move |wire| ok(Body::new(body(wire))));
    let bytes =
        |name: &str, body: fn(&Wire) -> Vec<u8>| one(name, move |wire| ok(Body::new(body(wire))));
    vec![
        answer("a mark before the body", |wire| format!("\u{feff}{}", whole(wire))),
        answer("marks before every event", |wire| {
            format!("\u{feff}{}\u{feff}{}\u{feff}{}", wire.begin, wire.delta("kept"), wire.end)
        }),
        answer("blank lines before the body", |wire| format!("\n\r\n\n{}", whole(wire))),
        answer("blank lines between the events", |wire| {
            format!("{}\n\n\r\n\n{}", begun(wire), wire.end)
        }),
        answer("line ends of two bytes", |wire| {
            whole(wire).replace("\r\n", "\n").replace('\n', "\r\n")
        }),
        answer("line ends of another byte", |wire| {
            whole(wire).replace("\r\n", "\n").replace('\n', "\r")
        })
        .only(events),
        answer("line ends of all kinds", |wire| {
            let begun = begun(wire).replace("\r\n", "\n").replace('\n', "\r");
            format!("{begun}\r\n{}", wire.end)
        })
        .only(events),
        answer("words before the events", |wire| format!("hello there\n\n{}", whole(wire)))
            .only(events),
        answer("words before the lines", |wire| format!("hello there\n{}", whole(wire)))
            .only(lines)
            .fails(ErrorCode::Decode)
            .nothing(),
        answer("a head in the body", |wire| {
            format!("HTTP/1.1 200 OK\r\nx: y\r\n\r\n{}", whole(wire))
        })
        .only(events),
        answer("comments in an event", |wire| format!("{}: no\n: no\n{}", begun(wire), wire.end))
            .only(events),
        answer("words behind the end", |wire| format!("{}no more\n\n", whole(wire))),
        answer("half an event behind the end", |wire| format!("{}data: {{", whole(wire)))
            .only(events),
        answer("a page behind the end", |wire| format!("{}<html></html>\n\n", whole(wire))),
        bytes("random bytes behind the end", |wire| {
            let random = (0_u32..1000).flat_map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes());
            whole(wire).into_bytes().into_iter().chain(random).collect()
        }),
        answer("its end twice", |wire| format!("{}{}", whole(wire), wire.end)),
        answer("its end ten times", |wire| format!("{}{}", begun(wire), wire.end.repeat(10))),
        // Where a message has a beginning, a second one ends what is read: it belongs to another message.
        answer("another answer after it", |wire| format!("{}{}", whole(wire), whole(wire)))
            .fails_on(ErrorCode::EndedEarly, &["cohere"])
            .begins("kept"),
        answer("its beginning twice", |wire| format!("{}{}", wire.begin, whole(wire)))
            .only(|wire| wire.begin.is_empty()),
        answer("two beginnings", |wire| format!("{}{}", wire.begin, whole(wire)))
            .only(|wire| !wire.begin.is_empty())
            .fails(ErrorCode::EndedEarly)
            .nothing(),
        answer("the end before the words", |wire| {
            format!("{}{}{}", wire.begin, wire.end, wire.delta("kept"))
        })
        .text_on("", &["openai", "ollama", "openai-responses", "anthropic"]),
        answer("an answer that is not streamed", |wire| wire.whole("kept")),
        answer("an answer that is not streamed, marked", |wire| {
            format!("\u{feff}\n{}\n", wire.whole("kept"))
        }),
        answer("an answer that is not streamed and cut", |wire| {
            wire.whole("kept").trim_end_matches('}').to_owned()
        })
        .retry(RetryPolicy::NONE)
        .fails(ErrorCode::Decode)
        .fails_on(ErrorCode::EndedEarly, &["ollama"])
        .nothing(),
        answer("an answer that is not streamed, with words after it", |wire| {
            format!("{}\nno more", wire.whole("kept"))
        })
        .only(events)
        .fails(ErrorCode::Decode)
        .nothing(),
        answer("an answer that is not streamed, with lines after it", |wire| {
            format!("{}\nno more", wire.whole("kept"))
        })
        .only(lines),
        bytes("NULs between the events", |wire| {
            let mut body = begun(wire).into_bytes();
            body.extend([0, 0, 0, b'\n']);
            body.extend(wire.end.bytes());
            body
        })
        .only(events),
        bytes("NULs between the lines", |wire| {
            [begun(wire).as_bytes(), b"\0\0\n", wire.end.as_bytes()].concat()
        })
        .only(lines)
        .fails(ErrorCode::Decode),
        bytes("a NUL in a word", |wire| wire_bytes(wire, b"ke\0pt"))
            .fails(ErrorCode::Decode)
            .nothing(),
        bytes("bytes that are not UTF-8", |wire| wire_bytes(wire, b"ke\xff\xc3pt"))
            .text("ke\u{fffd}\u{fffd}pt"),
        bytes("a character cut in two", |wire| wire_bytes(wire, b"ke\xf0\x9f\x98pt"))
            .text("ke\u{fffd}pt"),
        answer("a long event", |wire| {
            format!("{}{}{}", wire.begin, wire.delta(&"k".repeat(300 << 10)), wire.end)
        })
        .begins("kkkk"),
        answer("many small events", |wire| {
            format!("{}{}{}", wire.begin, wire.delta("k").repeat(5_000), wire.end)
        })
        .begins("kkkk"),
        one("an event over the limit", |wire| {
            let delta = wire.delta("TEXT");
            let (head, _) = delta.split_once("TEXT").unwrap_or_default();
            ok(Body::new(format!("{}{head}", begun(wire))).again([b'x'; 4096], EVER))
        })
        .max_bytes(32 << 20)
        .fails(ErrorCode::Decode),
        one("a body over the limit", |wire| {
            ok(Body::new(begun(wire)).again(wire.delta(&"x".repeat(1000)), EVER))
        })
        .fails(ErrorCode::Decode)
        .says("max_response_bytes")
        .max_bytes(MOST_BYTES / 2)
        .begins("keptxxx"),
        one("a body at the limit", |wire| ok(Body::new(whole(wire)))).max_bytes(64 << 10),
    ]
}

/// The first `of` parts of a text that is cut into `parts`.
fn share(text: &str, parts: usize, of: usize) -> &str {
    text.get(..text.len() * of / parts).unwrap_or(text)
}

/// A whole answer whose word is these bytes.
fn wire_bytes(wire: &Wire, word: &[u8]) -> Vec<u8> {
    let delta = wire.delta("WORD");
    let (head, tail) = delta.split_once("WORD").unwrap_or_default();
    let parts: [&[u8]; 5] =
        [wire.begin.as_bytes(), head.as_bytes(), word, tail.as_bytes(), wire.end.as_bytes()];
    parts.concat()
}

// Found: R4, R6, R12
#[tokio::test(start_paused = true)]
async fn whatever_the_body_is_it_ends_in_time_and_in_bounds() {
    let table = scenarios();
    assert!(play(&table).await >= 90);
}
