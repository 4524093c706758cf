//! The length of an event while it arrives.

/// Counts the bytes of events, without comments.
#[derive(Debug)]
pub(super) struct EventLimit {
    most: usize,
    /// The bytes of the open event's whole lines.
    lines: usize,
    /// The bytes of the open line.
    line: usize,
    is_comment: bool,
    /// The last byte; the second of a line end is part of the first.
    last: u8,
}

impl EventLimit {
    pub(super) fn new(most: usize) -> Self {
        Self { most, lines: 0, line: 0, is_comment: false, last: 0 }
    }

    /// Returns `false` if an event is longer than it may be.
    pub(super) fn admits(&mut self, piece: &[u8]) -> bool {
        piece.iter().all(|byte| {
            let is_second = *byte == b'\n' && self.last == b'\r';
            self.last = *byte;
            match byte {
                b'\n' if is_second => {}
                b'\r' | b'\n' => self.end_line(),
                _ => {
                    if self.line == 0 {
                        self.is_comment = *byte == b':';
                    }
                    self.line += 1;
                }
            }
            self.lines + self.line <= self.most
        })
    }

    fn end_line(&mut self) {
        match (self.line, self.is_comment) {
            (0, _) => self.lines = 0,
            (_, true) => {}
            (line, false) => self.lines += line + 1,
        }
        (self.line, self.is_comment) = (0, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_one_event_count_however_they_are_cut() {
        #[rustfmt::skip]
        let rows: [(&str, usize, bool); 6] = [
            ("data: 123456\n\n",                    13, true),
            ("data: 1234567\n\n",                   13, false),
            ("data: 12\r\n\r\ndata: 34\r\n\r\n",    9,  true),
            ("data: 12\ndata: 34\n\n",              17, false),
            ("data: 12\ndata: 34\n\n",              18, true),
            (": kept open\n: kept open\ndata: 1\n\n", 12, true),
        ];
        for (text, most, want) in rows {
            for cut in 0..=text.len() {
                let mut limit = EventLimit::new(most);
                let (head, tail) = text.as_bytes().split_at(cut);
                assert_eq!(limit.admits(head) && limit.admits(tail), want, "{text:?} at {cut}");
            }
        }
    }
}
