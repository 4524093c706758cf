//! The start of another call.

/// The text that begins every call, in any ASCII case.
pub(super) const OPENER: &[u8] = b"call:";

/// The part of another call's opener that was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing, and it may begin here.
    Nothing,
    /// This number of bytes.
    Letters(usize),
    /// Nothing, and this word is another.
    Word,
}

impl Next {
    pub(super) fn after(self, byte: u8) -> Self {
        let seen = match self {
            Self::Nothing => 0,
            Self::Letters(seen) => seen,
            Self::Word => usize::MAX,
        };
        match OPENER.get(seen) {
            Some(wanted) if byte.eq_ignore_ascii_case(wanted) => Self::Letters(seen + 1),
            _ if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | 0x80..) => Self::Word,
            _ => Self::Nothing,
        }
    }

    pub(super) fn is_opener(self) -> bool {
        self == Self::Letters(OPENER.len())
    }
}
