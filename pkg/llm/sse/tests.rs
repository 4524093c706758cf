use proptest::prelude::*;

use super::*;

type Owned = (String, String, String, u64);

fn decode<'a>(
    limits: SseLimits,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Owned>, Option<DecodeError>) {
    let mut decoder = SseDecoder::new(limits);
    let mut events = Vec::new();
    for mut chunk in chunks {
        loop {
            match decoder.next_event(&mut chunk) {
                Ok(Some(event)) => events.push((
                    event.event.to_owned(),
                    event.data.to_owned(),
                    event.id.to_owned(),
                    event.offset,
                )),
                Ok(None) => break,
                Err(error) => {
                    assert_eq!(decoder.next_event(&mut chunk).unwrap_err(), error);
                    return (events, Some(error));
                }
            }
        }
        assert!(chunk.is_empty(), "`None` means that the input is used up");
    }
    (events, None)
}

/// The grammar, written over whole lines: what the decoder must meet.
fn oracle(body: &[u8]) -> Vec<Owned> {
    let bom = if body.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    let mut lines = Vec::new();
    let mut start = bom;
    let mut at = bom;
    while at < body.len() {
        let crlf = body[at..].starts_with(b"\r\n");
        if body[at] == b'\n' || body[at] == b'\r' {
            lines.push((start, &body[start..at]));
            start = at + 1 + usize::from(crlf);
            at = start;
        } else {
            at += 1;
        }
    }
    let (mut events, mut id) = (Vec::new(), String::new());
    let (mut name, mut data, mut first) = (String::new(), None::<Vec<String>>, None);
    for (offset, line) in lines {
        let text = String::from_utf8_lossy(line).into_owned();
        if text.is_empty() {
            if let Some(data) = data.take() {
                let name = if name.is_empty() { "message".to_owned() } else { name };
                events.push((name, data.join("\n"), id.clone(), first.unwrap_or(0)));
            }
            (name, first) = (String::new(), None);
            continue;
        }
        first.get_or_insert(offset as u64);
        let (field, value) = text.split_once(':').unwrap_or((&text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => data.get_or_insert_default().push(value.to_owned()),
            "event" => name = value.to_owned(),
            "id" if !value.contains('\0') => id = value.to_owned(),
            _ => {}
        }
    }
    events
}

#[test]
fn every_case_reads_the_same_at_every_split() {
    #[rustfmt::skip]
    let cases: [(&str, &[u8], &[&str]); 14] = [
        ("no space after the colon",   b"data:{}\n\n",                        &["{}"]),
        ("one space is dropped",       b"data:  a\n\n",                       &[" a"]),
        ("two data lines",             b"data: a\ndata: b\n\n",               &["a\nb"]),
        ("three, one empty",           b"data: a\ndata\ndata: b\r\r",         &["a\n\nb"]),
        ("crlf",                       b"data: a\r\n\r\ndata: b\r\n\r\n",     &["a", "b"]),
        ("cr",                         b"data: a\r\rdata: b\r\r",             &["a", "b"]),
        ("mixed line ends",            b"data: a\r\n\rdata: b\n\r\n",         &["a", "b"]),
        ("no blank line at the end",   b"data: a\n\ndata: b\n",               &["a"]),
        ("comment inside an event",    b"data: a\n: b\ndata: c\n\n",          &["a\nc"]),
        ("byte order mark",            b"\xEF\xBB\xBFdata: a\n\n",            &["a"]),
        ("half a mark is content",     b"\xEF\xBBdata: a\n\ndata: b\n\n",     &["b"]),
        ("a second mark is content",   b"\xEF\xBB\xBF\xEF\xBB\xBFdata: a\n\n", &[]),
        ("invalid UTF-8",              b"data: \xFFa\xE6\x97\n\n",            &["\u{FFFD}a\u{FFFD}"]),
        ("no line end but LF and CR",  b"data: a\x0Bb\xC2\x85\xE2\x80\xA8\n\n", &["a\u{B}b\u{85}\u{2028}"]),
    ];
    for (name, body, want) in cases {
        assert_eq!(oracle(body).iter().map(|event| &event.1).collect::<Vec<_>>(), want, "{name}");
        for at in 0..=body.len() {
            for to in at..=body.len() {
                let chunks = [&body[..at], &body[at..to], &body[to..]];
                let got = decode(SseLimits::default(), chunks);
                assert_eq!(got, (oracle(body), None), "{name}: split at {at} and {to}");
            }
        }
        assert_eq!(decode(SseLimits::default(), body.chunks(1)).0, oracle(body), "{name}: bytes");
    }
}

#[test]
fn an_event_within_one_chunk_is_borrowed_from_it() {
    let body = b"event: x\ndata: abc\n\n".as_slice();
    let mut decoder = SseDecoder::default();
    let data = decoder.next_event(&mut &*body).unwrap().unwrap().data;
    assert!(body.as_ptr_range().contains(&data.as_ptr()));
}

#[test]
fn retry_takes_digits_only() {
    for (body, want) in [("retry: 0020\n", Some(20)), ("retry: 2s\n", None), ("retry\n", None)] {
        let mut decoder = SseDecoder::default();
        assert!(decoder.next_event(&mut body.as_bytes()).unwrap().is_none());
        assert_eq!(decoder.retry().map(|wait| wait.as_millis()), want, "{body}");
    }
}

#[test]
fn limits_are_errors_with_the_offset_at_every_chunk_size() {
    let limits = SseLimits::default().max_line_bytes(10).max_event_bytes(8);
    #[rustfmt::skip]
    let cases: [(&str, &[u8], usize, DecodeError); 5] = [
        ("replaced",      b"data: \xff\xff\xff\n\n",            0, DecodeError::EventTooLong { offset: 0, limit: 8 }),
        ("line",          b"data: 1\n\ndata: 12345\n\n",       1, DecodeError::LineTooLong { offset: 9, limit: 10 }),
        ("first line",    b"\xEF\xBB\xBF:3456789abc",           0, DecodeError::LineTooLong { offset: 3, limit: 10 }),
        ("joined lines",  b"\n\ndata:1234\ndata:5678\n\n",     0, DecodeError::EventTooLong { offset: 2, limit: 8 }),
        ("many lines",    b"data\ndata\ndata\ndata\ndata\ndata\ndata\ndata\ndata\ndata\n", 0, DecodeError::EventTooLong { offset: 0, limit: 8 }),
    ];
    for (name, body, events, want) in cases {
        for size in 1..=body.len() {
            let got = decode(limits, body.chunks(size));
            assert_eq!((got.0.len(), got.1), (events, Some(want.clone())), "{name}: {size}");
        }
    }
    let just_fits = b"data:12345\r\n\r\ndata:123\ndata:4567\r\r";
    for size in 1..=just_fits.len() {
        assert_eq!(decode(limits, just_fits.chunks(size)).0.len(), 2);
    }
}

#[test]
fn a_big_event_in_packets_is_copied_a_fixed_number_of_times() {
    for size in [1 << 16, 1 << 20, 4 << 20] {
        let body = [b"data: ", vec![b'x'; size].as_slice(), b"\n\n"].concat();
        let mut decoder = SseDecoder::default();
        let mut seen = 0;
        for mut packet in body.chunks(1460) {
            while let Some(event) = decoder.next_event(&mut packet).unwrap() {
                seen += event.data.len();
            }
        }
        assert_eq!((seen, decoder.offset()), (size, body.len() as u64));
    }
}

#[test]
fn errors_say_where_and_are_final() {
    let error = DecodeError::LineTooLong { offset: 9, limit: 10 };
    assert_eq!(
        error.to_string(),
        "the line that starts at byte 9 is longer than 10 bytes; if such lines are expected, raise `max_line_bytes`"
    );
    assert!(!error.is_retryable());
    assert!(std::error::Error::source(&error).is_none());
}

/// Pieces of the grammar; random bytes would almost never make an event.
#[rustfmt::skip]
const FRAGMENTS: &[&[u8]] = &[
    b"data", b":", b" ", b"\n", b"\r", b"\r\n", b"event", b"id", b"retry", b"data: ab\n\n",
    b"\0", b"12", b"\xEF\xBB\xBF", b"\xEF", b"\xBB", b"\xFF", b"\xC3\xA9\xE6\x97\xA5", b"\xE6\x97",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_chunking_meets_the_oracle(
        fragments in prop::collection::vec(
            prop::sample::select(FRAGMENTS),
            0..24,
        ),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let body = fragments.concat();
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
        cuts.extend([0, body.len()]);
        cuts.sort_unstable();
        let chunks = cuts.windows(2).map(|pair| &body[pair[0]..pair[1]]);
        prop_assert_eq!(decode(SseLimits::default(), chunks), (oracle(&body), None));
    }
}
