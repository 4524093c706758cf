use proptest::prelude::*;

use super::*;
use crate::sse::DecodeError;

fn decode<'a>(
    limit: usize,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<String>, Option<DecodeError>) {
    let mut decoder = NdjsonDecoder::new(limit);
    let mut lines = Vec::new();
    for mut chunk in chunks {
        loop {
            match decoder.next_line(&mut chunk) {
                Ok(Some(line)) => lines.push(line.to_owned()),
                Ok(None) => break,
                Err(error) => return (lines, Some(error)),
            }
        }
        assert!(chunk.is_empty(), "`None` means that the input is used up");
    }
    let last = decoder.finish().unwrap().map(str::to_owned);
    lines.extend(last);
    (lines, None)
}

fn oracle(body: &[u8]) -> Vec<String> {
    let lines = body.split(|&byte| byte == b'\n');
    let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines
        .filter(|line| !line.trim_ascii().is_empty())
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect()
}

#[test]
fn every_case_reads_the_same_at_every_split() {
    #[rustfmt::skip]
    let cases: [(&str, &[u8], &[&str]); 7] = [
        ("two lines",            b"{}\n[]\n",            &["{}", "[]"]),
        ("crlf",                 b"{}\r\n[]\r\n",        &["{}", "[]"]),
        ("last without newline", b"{}\n[]",              &["{}", "[]"]),
        ("last with a CR only",  b"{}\r",                &["{}"]),
        ("blank lines",          b"\n\r\n  \n{}\n\n",    &["{}"]),
        ("a CR inside",          b"a\rb\n",              &["a\rb"]),
        ("invalid UTF-8",        b"\xFFa\xE6\x97\n",     &["\u{FFFD}a\u{FFFD}"]),
    ];
    for (name, body, want) in cases {
        assert_eq!(oracle(body), want, "{name}: the oracle itself");
        for at in 0..=body.len() {
            let got = decode(100, [&body[..at], &body[at..]]);
            assert_eq!(got, (oracle(body), None), "{name}: split at {at}");
        }
        assert_eq!(decode(100, body.chunks(1)).0, want, "{name}: byte by byte");
    }
}

#[test]
fn a_long_line_is_an_error_with_its_offset_at_every_chunk_size() {
    for (body, lines, want) in [
        (&b"1234\r\n12345\r\n"[..], 1, Some(DecodeError::LineTooLong { offset: 6, limit: 4 })),
        (b"1234\n1234\r\n1234\r", 3, None),
        (b"1\n\xff\xff\n", 1, Some(DecodeError::LineTooLong { offset: 2, limit: 4 })),
    ] {
        for size in 1..=body.len() {
            let got = decode(4, body.chunks(size));
            assert_eq!((got.0.len(), got.1), (lines, want.clone()), "{size}");
        }
    }
}

// Found: S9
#[test]
fn a_line_that_is_too_long_ends_the_body_for_good() {
    let want = DecodeError::LineTooLong { offset: 0, limit: 4 };
    let mut decoder = NdjsonDecoder::new(4);
    assert_eq!(decoder.next_line(&mut &b"12345\n"[..]), Err(want.clone()));
    for _ in 0..2 {
        assert_eq!(decoder.next_line(&mut &b"1\n"[..]), Err(want.clone()));
    }
    assert_eq!(decoder.finish(), Err(want));
    assert_eq!(decoder.next_line(&mut &b"1\n"[..]), Ok(Some("1")), "it can be used again");
}

const FRAGMENTS: &[&[u8]] = &[b"{}", b" ", b"\n", b"\r", b"\r\n", b"\xC3\xA9", b"\xE6"];

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
        prop_assert_eq!(decode(1000, chunks), (oracle(&body), None));
    }
}
