//! Replacing text, whatever the line ends of the text and of the file.

/// A text with LF alone, made from one whose line ends may be CRLF.
struct LfText {
    text: String,
    /// The places, in `text`, of the line ends that are CRLF in the original.
    long: Vec<usize>,
}

impl LfText {
    fn new(original: &str) -> Self {
        let (mut text, mut long) = (String::with_capacity(original.len()), Vec::new());
        let mut parts = original.split("\r\n");
        text.extend(parts.next());
        for part in parts {
            long.push(text.len());
            text.push('\n');
            text.push_str(part);
        }
        Self { text, long }
    }

    /// Returns the place in the original.
    fn original(&self, at: usize) -> usize {
        at + self.long.partition_point(|long| *long < at)
    }

    /// Returns `true` if the line end at this place is CRLF.
    fn is_long(&self, at: usize) -> bool {
        self.long.binary_search(&at).is_ok()
    }

    /// Returns the kinds of the line ends from `start` to `end`; if there are none, that of the nearest line.
    fn ends(&self, start: usize, end: usize) -> Vec<bool> {
        let inside = self.text.get(start..end).unwrap_or_default().match_indices('\n');
        let inside: Vec<_> = inside.map(|(at, _)| self.is_long(start + at)).collect();
        if !inside.is_empty() {
            return inside;
        }
        let after = self.text.get(end..).and_then(|rest| rest.find('\n')).map(|at| end + at);
        let nearest = after.or_else(|| self.text.get(..start)?.rfind('\n'));
        vec![nearest.is_some_and(|at| self.is_long(at))]
    }
}

/// Returns `text` with LF alone.
pub(super) fn with_lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Replaces each `old` in a text by `new`; line ends that differ match, and those of the text are kept. Returns the number of places as well.
pub(super) fn replace_all(original: &str, old: &str, new: &str) -> (String, usize) {
    let (lf, old, new) = (LfText::new(original), with_lf(old), with_lf(new));
    let (mut out, mut taken, mut count) = (String::with_capacity(original.len()), 0, 0);
    for (start, found) in lf.text.match_indices(&old) {
        let end = start + found.len();
        out.push_str(original.get(taken..lf.original(start)).unwrap_or_default());
        let ends = lf.ends(start, end);
        for (at, line) in new.split('\n').enumerate() {
            if at > 0 {
                let is_long = ends.get(at - 1).or(ends.last()).copied().unwrap_or(false);
                out.push_str(if is_long { "\r\n" } else { "\n" });
            }
            out.push_str(line);
        }
        taken = lf.original(end);
        count += 1;
    }
    out.push_str(original.get(taken..).unwrap_or_default());
    (out, count)
}
