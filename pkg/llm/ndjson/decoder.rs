//! The framing of a body into lines.

use memchr::memchr;

use crate::sse::{DecodeError, lossy};

/// A decoder that frames a body into lines, wherever the chunk boundaries fall.
///
/// LF and CRLF end lines, blank lines are skipped, invalid UTF-8 becomes U+FFFD, and a last line
/// without its line end is returned by [`finish`](Self::finish). Work is linear in the input; a line
/// within one chunk is borrowed from it.
///
/// # Examples
///
/// ```
/// use forgeline::llm::ndjson::NdjsonDecoder;
///
/// let mut decoder = NdjsonDecoder::default();
/// let mut input: &[u8] = b"{\"a\":1}\n{\"b\"";
/// assert_eq!(decoder.next_line(&mut input)?, Some("{\"a\":1}"));
/// assert_eq!(decoder.next_line(&mut input)?, None);
/// assert_eq!(decoder.finish()?, Some("{\"b\""));
/// # Ok::<(), forgeline::llm::sse::DecodeError>(())
/// ```
#[derive(Debug)]
pub struct NdjsonDecoder {
    max_line_bytes: usize,
    offset: u64,
    /// The incomplete line, including its CR if there is one; at most `max_line_bytes + 1` long.
    line: Vec<u8>,
    line_offset: u64,
    state: LineState,
    /// The last line that contained invalid UTF-8; at most `max_line_bytes` long.
    text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum LineState {
    /// `line` holds an incomplete line.
    Begun,
    /// `line` was returned; the next call begins another.
    Given,
    /// A limit was exceeded.
    Failed(DecodeError),
}

/// The location of a complete line.
#[derive(Clone, Copy)]
enum LineRange<'i> {
    Input(&'i [u8]),
    Buffer,
}

impl Default for NdjsonDecoder {
    fn default() -> Self {
        Self::new(8 << 20)
    }
}

impl NdjsonDecoder {
    /// Creates a decoder of lines up to `max_line_bytes` long, line ends not counted. Default: 8 MiB.
    #[must_use]
    pub fn new(max_line_bytes: usize) -> Self {
        Self {
            max_line_bytes,
            offset: 0,
            line: Vec::new(),
            line_offset: 0,
            state: LineState::Begun,
            text: String::new(),
        }
    }

    /// Takes the next line off the front of `input`; returns `None` once `input` is used up.
    ///
    /// # Errors
    ///
    /// Returns an error if a line is too long; every later call then returns the same error.
    pub fn next_line<'s, 'i: 's>(
        &'s mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<&'s str>, DecodeError> {
        Ok(self.next_line_at(input)?.map(|(line, _)| line))
    }

    fn text<'s, 'i: 's>(&'s mut self, line: LineRange<'i>) -> Result<&'s str, DecodeError> {
        let bytes = match line {
            LineRange::Input(line) => line,
            LineRange::Buffer => content(&self.line),
        };
        let (offset, limit) = (self.line_offset, self.max_line_bytes);
        lossy(&mut self.text, bytes, limit).ok_or_else(|| {
            let error = DecodeError::LineTooLong { offset, limit };
            self.state = LineState::Failed(error.clone());
            error
        })
    }

    /// Takes the next line, as [`next_line`](Self::next_line) does, with its offset in the body.
    pub(crate) fn next_line_at<'s, 'i: 's>(
        &'s mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<(&'s str, u64)>, DecodeError> {
        let line = self.advance(input)?;
        let offset = self.line_offset;
        line.map(|line| Ok((self.text(line)?, offset))).transpose()
    }

    /// Ends the body: returns the last line if it has no line end. The decoder can be used again.
    ///
    /// # Errors
    ///
    /// Returns the error of an earlier call.
    pub fn finish(&mut self) -> Result<Option<&str>, DecodeError> {
        self.offset = 0;
        match std::mem::replace(&mut self.state, LineState::Given) {
            LineState::Failed(error) => Err(error),
            LineState::Begun if !is_blank(&self.line) => self.text(LineRange::Buffer).map(Some),
            LineState::Begun | LineState::Given => Ok(None),
        }
    }

    /// Returns the offset of the last line, or of the line that is too long, in bytes from the start
    /// of the body.
    #[must_use]
    pub fn line_offset(&self) -> u64 {
        self.line_offset
    }

    fn advance<'i>(&mut self, input: &mut &'i [u8]) -> Result<Option<LineRange<'i>>, DecodeError> {
        match &self.state {
            LineState::Failed(error) => return Err(error.clone()),
            LineState::Given => {
                self.line.clear();
                self.state = LineState::Begun;
            }
            LineState::Begun => {}
        }
        while !input.is_empty() {
            if self.line.is_empty() {
                self.line_offset = self.offset;
            }
            let end = memchr(b'\n', input);
            let (head, rest) = input.split_at(end.unwrap_or(input.len()));
            if end.is_some() && self.line.is_empty() {
                self.check(content(head).len())?;
                self.take(input, rest, head.len() + 1);
                if !is_blank(head) {
                    return Ok(Some(LineRange::Input(content(head))));
                }
                continue;
            }
            let ends_in_cr = head.last().or(self.line.last()) == Some(&b'\r');
            self.check(self.line.len() + head.len() - usize::from(ends_in_cr))?;
            self.line.extend_from_slice(head);
            self.take(input, rest, head.len() + usize::from(end.is_some()));
            if end.is_some() {
                self.state = LineState::Given;
                if !is_blank(&self.line) {
                    return Ok(Some(LineRange::Buffer));
                }
                self.line.clear();
                self.state = LineState::Begun;
            }
        }
        Ok(None)
    }

    fn take<'i>(&mut self, input: &mut &'i [u8], rest: &'i [u8], length: usize) {
        *input = rest.strip_prefix(b"\n").unwrap_or(rest);
        self.offset += length as u64;
    }

    fn check(&mut self, length: usize) -> Result<(), DecodeError> {
        if length <= self.max_line_bytes {
            return Ok(());
        }
        let error =
            DecodeError::LineTooLong { offset: self.line_offset, limit: self.max_line_bytes };
        self.state = LineState::Failed(error.clone());
        Err(error)
    }
}

fn content(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}
