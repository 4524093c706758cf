//! Small pieces of bytes that share a buffer.

use bytes::{Bytes, BytesMut};

/// Size of a buffer, in bytes.
const BUFFER: usize = 4 << 10;

/// Maximum length of a piece that shares a buffer; a longer one gets its own, so that at most a quarter of a buffer is wasted.
const SHARING: usize = BUFFER / 4;

/// An allocator of pieces of bytes that are kept and shared, about sixteen per buffer.
#[derive(Debug, Default)]
pub(crate) struct PieceAllocator {
    /// The piece being written.
    written: Vec<u8>,
    rest: BytesMut,
}

impl PieceAllocator {
    /// Returns the bytes that `write` appends, as a piece.
    pub(crate) fn piece(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Bytes {
        self.written.clear();
        write(&mut self.written);
        let length = self.written.len();
        if length > SHARING {
            // The allocation of a long piece is not reused.
            return std::mem::take(&mut self.written).into();
        }
        if self.rest.capacity() < length {
            self.rest = BytesMut::with_capacity(BUFFER);
        }
        self.rest.extend_from_slice(&self.written);
        self.rest.split().freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_what_was_written_and_share_buffers_unless_they_are_long() {
        let mut pieces = PieceAllocator::default();
        let mut made = Vec::new();
        for length in [0, 1, 250, SHARING, SHARING + 1, 300, BUFFER * 3, 1, SHARING, SHARING, 700] {
            let text = vec![u8::try_from(length % 251).unwrap(); length];
            made.push((pieces.piece(|out| out.extend_from_slice(&text)), text));
        }
        for (piece, text) in &made {
            assert_eq!(piece, text);
        }
        let begins = |at: usize| made[at].0.as_ptr().addr();
        assert_eq!(begins(2), begins(1) + 1, "one behind the other");
        assert_eq!(begins(5), begins(3) + SHARING, "a long one is not between them");
    }
}
