//! A reader's events of a text, at any cut: for the tests of the grammars.

use std::fmt::Write;

use super::{PayloadOut, PayloadReader, PlainText, reader::PayloadFault};
use forgeline_json::RepairSet;

/// All that was read from one text.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Reading {
    calls: Vec<Call>,
    /// Bytes that belong to the payload.
    taken: usize,
    is_whole: bool,
    fault: Option<PayloadFault>,
}

#[derive(Debug, Default, PartialEq)]
struct Call {
    begins_at: usize,
    /// The name, and where it was told.
    name: Option<(String, usize)>,
    arguments: String,
    source: String,
    repairs: RepairSet,
}

impl Reading {
    /// The calls as `NAME ARGUMENTS ~REPAIRS`, the last one perhaps with `!REASON @OFFSET`.
    pub(crate) fn show(&self) -> String {
        let mut shown = String::new();
        for (index, call) in self.calls.iter().enumerate() {
            let is_last = index + 1 == self.calls.len();
            let separator = if index == 0 { "" } else { " ; " };
            let name = call.name.as_ref().map_or("?", |(name, _)| name);
            write!(shown, "{separator}{name}").unwrap();
            match self.fault {
                Some((reason, offset)) if is_last => {
                    write!(shown, " !{reason} @{offset}").unwrap();
                }
                _ => write!(shown, " {}", call.arguments).unwrap(),
            }
            for repair in call.repairs.iter() {
                write!(shown, " ~{repair}").unwrap();
            }
        }
        shown
    }

    /// The source of the arguments of every call.
    pub(crate) fn sources(&self) -> Vec<&str> {
        self.calls.iter().map(|call| call.source.as_str()).collect()
    }

    /// Names and arguments of the calls, when all are right.
    pub(crate) fn values(&self) -> Option<Vec<(&str, serde_json::Value)>> {
        assert_eq!(self.fault, None, "{}", self.show());
        self.calls
            .iter()
            .map(|call| {
                let (name, _) = call.name.as_ref()?;
                Some((name.as_str(), serde_json::from_str(&call.arguments).ok()?))
            })
            .collect()
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.fault.is_none()
    }

    pub(crate) fn taken(&self) -> usize {
        self.taken
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }

    fn take(&mut self, piece: PayloadOut<'_>) {
        let taken = self.taken;
        let call = self.calls.last_mut().unwrap();
        match piece {
            PayloadOut::Name { name, at } => {
                assert_eq!(call.name, None, "one name a call");
                call.name = Some((name.to_owned(), taken + at));
            }
            PayloadOut::Arguments(json) => call.arguments.push_str(json),
            PayloadOut::Source(source) => call.source.push_str(source),
            PayloadOut::NextCall { at, repairs, .. } => {
                call.repairs = repairs;
                self.calls.push(Call { begins_at: taken + at, ..Call::default() });
            }
            PayloadOut::Id { .. } | PayloadOut::Server { .. } => panic!("{piece:?}"),
        }
    }
}

/// Reads the pieces; `skips` when text that passes as it is may be skipped.
fn read_pieces<'a, R: PayloadReader>(
    mut reader: R,
    pieces: impl IntoIterator<Item = &'a str>,
    skips: bool,
) -> Reading {
    let mut reading = Reading { calls: vec![Call::default()], ..Reading::default() };
    for piece in pieces {
        let is_plain = skips && reader.plain().passes(piece.as_bytes());
        if is_plain {
            reader.skip(piece.len());
            reading.take(PayloadOut::Arguments(piece));
            reading.take(PayloadOut::Source(piece));
            reading.taken += piece.len();
            continue;
        }
        let mut json = String::new();
        if skips
            && (reader.plain().is_markup() || reader.plain() == PlainText::MarkupTail)
            && let Some(next) = reader.pass_escaped(piece, &mut |text| json.push_str(text))
        {
            reader.skip(piece.len());
            assert_eq!(next, reader.plain(), "{piece:?}");
            reading.take(PayloadOut::Arguments(&json));
            reading.take(PayloadOut::Source(piece));
            reading.taken += piece.len();
            continue;
        }
        let mut read = reader.feed(piece, &mut |out| reading.take(out));
        reading.taken += read;
        while read < piece.len() && reader.may_recover() {
            let more = reader.feed(piece.get(read..).unwrap(), &mut |out| reading.take(out));
            reading.taken += more;
            read += more;
        }
        if read < piece.len() {
            assert!(
                reader.is_whole() || reader.has_failed(),
                "a reader ends at the end or at a mistake"
            );
            break;
        }
    }
    reading.is_whole = reader.is_whole();
    let has_failed = reader.has_failed();
    let closed = reader.close(&mut |out| reading.take(out));
    reading.fault = closed.err();
    assert!(!has_failed || reading.fault.is_some(), "what has failed stays so");
    reading.calls.last_mut().unwrap().repairs = reader.repairs();
    reading
}

/// Reads `text` whole, at every cut in two, and char by char; all must give the same.
pub(crate) fn read_at_all_cuts<R: PayloadReader>(text: &str, reader: impl Fn() -> R) -> Reading {
    let whole = read_pieces(reader(), [text], false);
    for (cut, _) in text.char_indices() {
        let (head, tail) = text.split_at(cut);
        for skips in [false, true] {
            let cut_once = read_pieces(reader(), [head, tail], skips);
            assert_eq!(cut_once, whole, "{text:?} cut at {cut}");
        }
    }
    for skips in [false, true] {
        let chars = text.char_indices().map(|(at, c)| text.get(at..at + c.len_utf8()).unwrap());
        assert_eq!(read_pieces(reader(), chars, skips), whole, "{text:?} char by char");
    }
    whole
}

/// Reads `text` whole and cut at `cuts`, which are taken modulo its length; both must give the same.
pub(crate) fn read_cut<R: PayloadReader>(
    text: &str,
    cuts: &[usize],
    reader: impl Fn() -> R,
) -> Reading {
    let whole = read_pieces(reader(), [text], false);
    let mut places: Vec<usize> =
        cuts.iter().map(|cut| text.floor_char_boundary(cut % (text.len() + 1))).collect();
    places.extend([0, text.len()]);
    places.sort_unstable();
    let pieces = || places.windows(2).map(|ends| text.get(ends[0]..ends[1]).unwrap());
    for skips in [false, true] {
        assert_eq!(read_pieces(reader(), pieces(), skips), whole, "{text:?} at {places:?}");
    }
    whole
}
