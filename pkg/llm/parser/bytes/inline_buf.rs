//! A buffer for bytes that may still become a marker.

use forgeline_json::{slice, subslice};

/// The maximum length of a marker with its attributes, and of the text checked after it.
pub(crate) const CAPACITY: usize = 384;

/// The maximum number of bytes stored inline, which is enough for almost everything that is held back.
const SHORT: usize = 24;

/// Text that is held back: no marker with its attributes is longer than this. Short text is stored inline.
#[derive(Debug)]
pub(crate) struct InlineBuf {
    /// The bytes, while there are at most [`SHORT`].
    short: [u8; SHORT],
    /// The bytes, if there are more; allocated when first needed and kept.
    long: Option<Box<[u8; CAPACITY]>>,
    length: usize,
}

impl InlineBuf {
    pub(crate) const fn new() -> Self {
        Self { short: [0; SHORT], long: None, length: 0 }
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub(crate) const fn len(&self) -> usize {
        self.length
    }

    /// Returns the bytes if there are one to three.
    #[inline(always)]
    pub(crate) fn few(&self) -> Option<Few> {
        let bytes = self.short.first_chunk().filter(|_| (1..=Few::MOST).contains(&self.length))?;
        // The bytes after them may have any value.
        let within = u32::MAX.unbounded_shr(bits(FEW - self.length));
        let bytes = u32::from_le_bytes(*bytes) & within;
        Some(Few { bytes: bytes.to_le_bytes(), length: self.length })
    }

    /// Replaces the content with these bytes.
    #[inline(always)]
    pub(crate) fn set_few(&mut self, few: Few) {
        if let Some(front) = self.short.first_chunk_mut() {
            *front = few.bytes;
            self.length = few.length;
        }
    }

    /// Returns the number of bytes for which there is room.
    pub(crate) const fn room(&self) -> usize {
        CAPACITY - self.length
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        match &self.long {
            Some(long) if self.length > SHORT => subslice(&**long, ..self.length),
            Some(_) | None => subslice(&self.short, ..self.length),
        }
    }

    /// Returns the text; only whole characters are added and removed.
    pub(crate) fn as_str(&self) -> &str {
        str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    /// Appends as much of `text` as there is room for.
    pub(crate) fn push_str(&mut self, text: &str) {
        let text = slice(text, ..text.floor_char_boundary(self.room()));
        let end = self.length + text.len();
        let bytes: &mut [u8] = if end <= SHORT { &mut self.short } else { self.long_bytes() };
        if let Some(place) = bytes.get_mut(end - text.len()..end) {
            place.copy_from_slice(text.as_bytes());
            self.length = end;
        }
    }

    /// Returns the buffer for longer text, containing the present bytes.
    fn long_bytes(&mut self) -> &mut [u8] {
        let long = self.long.get_or_insert_with(|| Box::new([0; CAPACITY]));
        if self.length <= SHORT
            && let Some(front) = long.first_chunk_mut()
        {
            *front = self.short;
        }
        &mut **long
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        self.keep(0, self.length.min(length));
    }

    /// Drops the first bytes.
    pub(crate) fn advance(&mut self, count: usize) {
        self.keep(count.min(self.length), self.length);
    }

    /// Keeps only the bytes from `start` to `end`.
    fn keep(&mut self, start: usize, end: usize) {
        let length = end - start;
        if self.length <= SHORT {
            self.short.copy_within(start..end, 0);
        } else if let Some(long) = &mut self.long {
            long.copy_within(start..end, 0);
            if length <= SHORT
                && let Some(front) = long.first_chunk()
            {
                self.short = *front;
            }
        }
        self.length = length;
    }

    pub(crate) fn clear(&mut self) {
        self.length = 0;
    }
}

/// The size of a [`Few`], including one unused byte.
const FEW: usize = 4;

/// At most three bytes of text, by value, which avoids copies of a length that is not known at compile time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Few {
    /// The bytes; unused ones are 0.
    bytes: [u8; FEW],
    length: usize,
}

impl Few {
    /// The maximum number of bytes.
    const MOST: usize = FEW - 1;

    /// Returns the last `length` bytes of `last`; `length` is one to three.
    #[inline(always)]
    pub(crate) fn at_end(last: [u8; FEW], length: usize) -> Self {
        let length = length.min(Self::MOST);
        let bytes = u32::from_le_bytes(last).unbounded_shr(bits(FEW - length));
        Self { bytes: bytes.to_le_bytes(), length }
    }

    /// Returns the first four bytes of these bytes followed by `next`.
    #[inline(always)]
    pub(crate) fn before(self, next: [u8; FEW]) -> [u8; FEW] {
        let next = u32::from_le_bytes(next).unbounded_shl(bits(self.length));
        (u32::from_le_bytes(self.bytes) | next).to_le_bytes()
    }

    #[inline(always)]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        subslice(&self.bytes, ..self.length)
    }

    /// Returns the text; only whole characters are added.
    #[inline(always)]
    pub(crate) fn as_str(&self) -> &str {
        match self.bytes {
            // The text that is held most often.
            [b'<', 0, ..] => "<",
            [b'<', b'/', 0, _] => "</",
            _ => str::from_utf8(self.as_bytes()).unwrap_or_default(),
        }
    }
}

/// Returns the number of bits of at most four bytes.
#[inline(always)]
fn bits(bytes: usize) -> u32 {
    u32::from((bytes & 7).to_le_bytes()[0]) * u8::BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_the_same_while_it_grows_and_shrinks_past_what_is_in_place() {
        let all: String = ('a'..='z').cycle().take(CAPACITY + 40).collect();
        for whole in [0, 1, SHORT - 1, SHORT, SHORT + 1, 100, CAPACITY] {
            for kept in [0, 1, SHORT, SHORT + 1, 90, CAPACITY] {
                let (mut buffer, mut want) = (InlineBuf::new(), slice(&all, ..whole).to_owned());
                buffer.push_str(&want);
                let gone = whole - kept.min(whole);
                buffer.advance(gone / 2);
                buffer.truncate(kept);
                want = slice(&want, gone / 2..gone / 2 + kept.min(whole)).to_owned();
                assert_eq!((buffer.as_str(), buffer.len()), (&*want, want.len()));
                buffer.push_str(&all);
                want.push_str(slice(&all, ..CAPACITY - want.len()));
                assert_eq!((buffer.as_str(), buffer.room()), (&*want, 0), "{whole}, {kept}");
                buffer.clear();
                assert!(buffer.is_empty() && buffer.as_str().is_empty());
            }
        }
        let mut buffer = InlineBuf::new();
        buffer.push_str(slice(&all, ..CAPACITY - 1));
        buffer.push_str("é");
        assert_eq!(buffer.len(), CAPACITY - 1, "no character is torn");
    }

    #[test]
    fn a_few_bytes_are_the_same_text_by_value() {
        for text in ["<", "</", "<t", "<th", "◁", "é", "\n<"] {
            let before = format!("xyz{text}");
            let few = Few::at_end(*before.as_bytes().last_chunk().unwrap(), text.len());
            let mut buffer = InlineBuf::new();
            assert!(buffer.few().is_none());
            buffer.push_str("other text");
            buffer.set_few(few);
            assert_eq!((buffer.as_str(), few.as_str()), (text, text));
            assert_eq!(buffer.few().unwrap().as_bytes(), text.as_bytes());
            let all = format!("{text}abcd");
            assert_eq!(few.before(*b"abcd"), all.as_bytes()[..4]);
            buffer.push_str("abc");
            assert!(buffer.few().is_none());
        }
    }
}
