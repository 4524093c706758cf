//! The framing of a body into events.

use std::{mem, str::Utf8Chunk, time::Duration};

use memchr::{memchr, memchr2};

use super::{DecodeError, SseEvent, SseLimits};
use forgeline_json::subslice;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// A decoder that frames a body into events, wherever the chunk boundaries fall.
///
/// The grammar is that of WHATWG HTML § 9.2.6: LF, CR and CRLF end lines, a leading byte order mark
/// is dropped, invalid UTF-8 becomes U+FFFD, and an event that the body leaves unterminated is not
/// dispatched. Work is linear in the input. An event that lies within one chunk and has one data line
/// is borrowed from that chunk; others are assembled in one buffer, which is reused.
///
/// # Examples
///
/// ```
/// use forgeline::llm::sse::SseDecoder;
///
/// let mut decoder = SseDecoder::default();
/// let mut input: &[u8] = b"data: Hello\n\ndata: Wor";
/// let event = decoder.next_event(&mut input)?.map(|event| event.data.to_owned());
/// assert_eq!(event.as_deref(), Some("Hello"));
/// assert!(decoder.next_event(&mut input)?.is_none());
/// # Ok::<(), forgeline::llm::sse::DecodeError>(())
/// ```
#[derive(Debug, Default)]
pub struct SseDecoder {
    limits: SseLimits,
    /// `true` if byte order marks are dropped before every line, not only at the start of the body.
    drops_marks: bool,
    /// The number of bytes taken off the input so far.
    offset: u64,
    start: NextByte,
    /// The incomplete line; at most `max_line_bytes` long.
    line: Vec<u8>,
    line_offset: u64,
    /// The data of the incomplete event, from `data_from` on; at most `max_event_bytes` plus a field name long.
    data: Vec<u8>,
    data_from: usize,
    pending: EventBuffer,
    event_offset: Option<u64>,
    /// The last text that contained invalid UTF-8; at most `max_event_bytes` long.
    text: String,
    event: String,
    id: String,
    retry: Option<Duration>,
    failed: Option<DecodeError>,
}

/// The data buffer of the current event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum EventBuffer {
    /// No data line.
    #[default]
    Nothing,
    /// At least one data line.
    Data,
    /// Dispatched; the next call begins another event.
    Dispatched,
}

/// The possible meaning of the next byte other than content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum NextByte {
    /// The first byte of a byte order mark.
    #[default]
    Body,
    /// The second byte of the mark.
    Bom1,
    /// The third byte of the mark.
    Bom2,
    /// An LF that belongs to the preceding CR.
    AfterCr,
    /// Nothing but content.
    Content,
}

/// The location of a dispatched event's data.
enum DispatchedData<'i> {
    Input(&'i [u8]),
    Buffer,
}

impl SseDecoder {
    /// Creates a decoder with these limits.
    #[must_use]
    pub fn new(limits: SseLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Drops byte order marks before every line: some proxies join bodies, each with its
    /// own mark. The grammar would drop the line.
    #[must_use]
    pub(crate) fn dropping_marks(self) -> Self {
        Self { drops_marks: true, ..self }
    }

    /// Takes the next event off the front of `input`; returns `None` once `input` is used up.
    ///
    /// # Errors
    ///
    /// Returns an error if a limit is exceeded; every later call then returns the same error.
    pub fn next_event<'s, 'i: 's>(
        &'s mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<SseEvent<'s>>, DecodeError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let dispatch = match self.advance(input) {
            Ok(Some(dispatch)) => dispatch,
            Ok(None) => return Ok(None),
            Err(error) => {
                self.failed = Some(error.clone());
                return Err(error);
            }
        };
        let bytes = match dispatch {
            DispatchedData::Input(bytes) => bytes,
            DispatchedData::Buffer => subslice(&self.data, self.data_from..),
        };
        let offset = self.event_offset.unwrap_or(self.line_offset);
        let limit = self.limits.max_event_bytes;
        let Some(data) = lossy(&mut self.text, bytes, limit) else {
            let error = DecodeError::EventTooLong { offset, limit };
            self.failed = Some(error.clone());
            return Err(error);
        };
        let event = if self.event.is_empty() { "message" } else { &self.event };
        Ok(Some(SseEvent { event, data, id: &self.id, offset }))
    }

    /// Ends the body. Anything incomplete is dropped: an event without its blank line is not dispatched.
    pub fn finish(&mut self) {
        let drops_marks = self.drops_marks;
        *self = Self { drops_marks, ..Self::new(self.limits) };
    }

    /// Returns the delay before reconnecting that the server asks for.
    #[must_use]
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Returns the number of bytes taken off the input so far.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    fn advance<'i>(
        &mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<DispatchedData<'i>>, DecodeError> {
        // A data line that may be the event's only one stays in the input until that is certain.
        let mut single: Option<&'i [u8]> = None;
        if self.pending == EventBuffer::Dispatched {
            self.begin_event();
        }
        loop {
            self.skip_start(input);
            let Some(end) = memchr2(b'\n', b'\r', input) else { break };
            let (head, rest) = input.split_at(end);
            let line_offset = self.start_line();
            let length = self.line.len() + head.len();
            if length > self.limits.max_line_bytes {
                return Err(self.line_too_long());
            }
            self.start =
                if rest.first() == Some(&b'\r') { NextByte::AfterCr } else { NextByte::Content };
            *input = subslice(rest, 1..);
            self.offset += head.len() as u64 + 1;
            if length == 0 {
                let dispatch = match single {
                    Some(bytes) => DispatchedData::Input(bytes),
                    None if self.pending == EventBuffer::Data => DispatchedData::Buffer,
                    None => {
                        self.begin_event();
                        continue;
                    }
                };
                self.pending = EventBuffer::Dispatched;
                return Ok(Some(dispatch));
            }
            self.event_offset.get_or_insert(line_offset);
            if self.line.is_empty() {
                if let Some(value) = self.field(head) {
                    match single.take() {
                        None if self.pending == EventBuffer::Nothing => {
                            self.check_event(value.len())?;
                            single = Some(value);
                        }
                        first => {
                            if let Some(first) = first {
                                self.append_data(first)?;
                            }
                            self.append_data(value)?;
                        }
                    }
                }
            } else {
                if let Some(first) = single.take() {
                    self.append_data(first)?;
                }
                self.line.extend_from_slice(head);
                self.buffered_line()?;
            }
        }
        if let Some(first) = single {
            self.append_data(first)?;
        }
        if !input.is_empty() {
            self.start_line();
            if self.line.len() + input.len() > self.limits.max_line_bytes {
                return Err(self.line_too_long());
            }
            self.line.extend_from_slice(input);
            self.offset += input.len() as u64;
            *input = &[];
        }
        Ok(None)
    }

    fn begin_event(&mut self) {
        self.pending = EventBuffer::Nothing;
        self.data.clear();
        self.data_from = 0;
        self.event.clear();
        self.event_offset = None;
    }

    /// Takes everything off the front that is neither line nor line end: the mark, and the LF of a CRLF.
    fn skip_start(&mut self, input: &mut &[u8]) {
        while let Some(&byte) = input.first() {
            let (seen, next) = match self.start {
                NextByte::Content => return,
                NextByte::AfterCr => {
                    self.start = NextByte::Content;
                    if byte == b'\n' {
                        *input = subslice(input, 1..);
                        self.offset += 1;
                    }
                    return;
                }
                NextByte::Body => (0, NextByte::Bom1),
                NextByte::Bom1 => (1, NextByte::Bom2),
                NextByte::Bom2 => (2, NextByte::Content),
            };
            if BOM.get(seen) != Some(&byte) {
                // Not a mark after all: the bytes seen so far begin the first line.
                self.line.extend_from_slice(subslice(BOM, ..seen));
                self.line_offset = 0;
                self.start = NextByte::Content;
                return;
            }
            self.start = next;
            *input = subslice(input, 1..);
            self.offset += 1;
        }
    }

    /// Records the start of the line, if it begins here.
    fn start_line(&mut self) -> u64 {
        if self.line.is_empty() {
            self.line_offset = self.offset;
        }
        self.line_offset
    }

    /// Reads a whole line; returns the value if it is a data line.
    fn field<'l>(&mut self, line: &'l [u8]) -> Option<&'l [u8]> {
        let (name, value) = split_field(line);
        match name {
            b"data" => return Some(value),
            b"event" => {
                self.event.clear();
                self.event.push_str(&String::from_utf8_lossy(value));
            }
            b"id" if memchr(0, value).is_none() => {
                self.id.clear();
                self.id.push_str(&String::from_utf8_lossy(value));
            }
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let milliseconds = str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                self.retry = milliseconds.map(Duration::from_millis).or(self.retry);
            }
            _ if self.drops_marks => {
                return line.strip_prefix(BOM).and_then(|line| self.field(line));
            }
            _ => {}
        }
        None
    }

    /// Reads the line that was assembled from several chunks.
    fn buffered_line(&mut self) -> Result<(), DecodeError> {
        let mut line = mem::take(&mut self.line);
        let value = self.field(&line).map(|value| line.len() - value.len());
        let mut result = Ok(());
        if let Some(from) = value {
            if self.pending == EventBuffer::Data {
                result = self.append_data(subslice(&line, from..));
            } else {
                // A long line swaps buffers with the empty data; its bytes stay in place.
                result = self.check_event(line.len() - from);
                mem::swap(&mut line, &mut self.data);
                self.data_from = from;
                self.pending = EventBuffer::Data;
            }
        }
        line.clear();
        self.line = line;
        result
    }

    fn append_data(&mut self, value: &[u8]) -> Result<(), DecodeError> {
        if self.pending == EventBuffer::Data {
            self.check_event(self.data.len() - self.data_from + 1 + value.len())?;
            self.data.push(b'\n');
        } else {
            self.check_event(value.len())?;
            self.pending = EventBuffer::Data;
        }
        self.data.extend_from_slice(value);
        Ok(())
    }

    fn check_event(&self, length: usize) -> Result<(), DecodeError> {
        if length <= self.limits.max_event_bytes {
            return Ok(());
        }
        Err(DecodeError::EventTooLong {
            offset: self.event_offset.unwrap_or(self.line_offset),
            limit: self.limits.max_event_bytes,
        })
    }

    fn line_too_long(&self) -> DecodeError {
        DecodeError::LineTooLong { offset: self.line_offset, limit: self.limits.max_line_bytes }
    }
}

/// Returns the bytes as text; invalid UTF-8 is replaced in `buffer`. Returns `None` if that makes them longer
/// than `most` bytes, as only non-text does: a replacement is up to three times as long.
#[inline]
pub(crate) fn lossy<'a>(buffer: &'a mut String, bytes: &'a [u8], most: usize) -> Option<&'a str> {
    if let Ok(text) = str::from_utf8(bytes) {
        return Some(text);
    }
    let replaced = |invalid: &[u8]| if invalid.is_empty() { "" } else { "\u{fffd}" };
    let length = |chunk: Utf8Chunk<'_>| chunk.valid().len() + replaced(chunk.invalid()).len();
    let length = bytes.utf8_chunks().map(length).sum();
    if length > most {
        return None;
    }
    buffer.clear();
    // Growing by doubling would temporarily need twice the memory.
    buffer.reserve_exact(length);
    for chunk in bytes.utf8_chunks() {
        buffer.push_str(chunk.valid());
        buffer.push_str(replaced(chunk.invalid()));
    }
    Some(buffer)
}

/// Splits at the first colon and drops one space after it.
fn split_field(line: &[u8]) -> (&[u8], &[u8]) {
    let Some(colon) = memchr(b':', line) else { return (line, b"") };
    let (name, value) = line.split_at(colon);
    let value = subslice(value, 1..);
    (name, value.strip_prefix(b" ").unwrap_or(value))
}
