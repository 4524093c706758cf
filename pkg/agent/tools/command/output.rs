//! The output of a command, limited to its beginning and its end.

use std::collections::VecDeque;

/// Output of which the beginning and the end are kept.
#[derive(Debug, Default)]
pub(super) struct ClippedOutput {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// Maximum bytes of each of the two.
    most: usize,
    left_out: u64,
}

impl ClippedOutput {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { most: max_bytes / 2, ..Self::default() }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = self.most.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(self.most);
        self.tail.drain(..over);
        self.left_out += over as u64;
    }

    /// Returns the text, with a note on what is left out.
    pub(super) fn into_text(self) -> String {
        let Self { mut head, tail, left_out, .. } = self;
        let tail: Vec<u8> = tail.into();
        if left_out == 0 {
            head.extend(tail);
            return String::from_utf8_lossy(&head).into_owned();
        }
        let (head, tail) = (String::from_utf8_lossy(&head), String::from_utf8_lossy(&tail));
        format!("{head}\n… {left_out} bytes are left out …\n{tail}")
    }
}

/// Text that arrives in pieces, cut anywhere.
#[derive(Debug, Default)]
pub(super) struct TextPieces(Vec<u8>);

impl TextPieces {
    /// Returns the text that is complete so far; a truncated character is held until the rest of it arrives.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        self.0.extend_from_slice(bytes);
        let cut = match std::str::from_utf8(&self.0) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.0.len(),
        };
        let rest = self.0.split_off(cut);
        let whole = std::mem::replace(&mut self.0, rest);
        String::from_utf8_lossy(&whole).into_owned()
    }
}
