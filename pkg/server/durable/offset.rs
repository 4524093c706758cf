//! Positions in a stream, as readers see them.

use std::fmt::{self, Display, Formatter};

/// A position in a stream: the creation time of the stream and a record number. Later positions are greater as text, too, also after the stream was
/// deleted and created again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StreamOffset {
    /// Milliseconds since 1970; for a run, which is created once, a number derived from its id.
    pub(crate) created: u64,
    pub(crate) number: u64,
}

/// The position where a reader starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadStart {
    Beginning,
    Now,
    At(StreamOffset),
}

const CREATED: usize = 14;
const NUMBER: usize = 16;

/// Number of values that [`CREATED`] digits can express, for runs.
const RUNS: u64 = 100_000_000_000_000;

impl Display for StreamOffset {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Self { created, number } = self;
        write!(formatter, "{created:0CREATED$}_{number:0NUMBER$}")
    }
}

/// Returns a number derived from the id of a run, the same in every process: FNV-1a, reduced to the available digits.
pub(crate) fn of_run(id: &str) -> u64 {
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash % RUNS
}

impl StreamOffset {
    /// Parses an offset; `None` for a text that [`Display`] did not write.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (created, number) = text.split_once('_')?;
        let digits = |text: &str, length: usize| {
            (text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit()))
                .then(|| text.parse::<u64>().ok())
                .flatten()
        };
        Some(Self { created: digits(created, CREATED)?, number: digits(number, NUMBER)? })
    }
}

impl ReadStart {
    /// Parses the position that a reader asks for.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "-1" => Some(Self::Beginning),
            "now" => Some(Self::Now),
            text => StreamOffset::parse(text).map(Self::At),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_run_is_the_same_in_each_version() {
        assert_eq!((of_run(""), of_run("a")), (81_039_346_656_037, 87_200_555_641_996));
    }

    #[test]
    fn offsets_grow_as_text_and_are_read_back() {
        let places = [(0, 0), (0, 1), (0, 99), (0, 100), (7, 0), (1_790_000_000_000, 12)];
        let offsets = places.map(|(created, number)| StreamOffset { created, number });
        let texts = offsets.map(|offset| offset.to_string());
        assert!(texts.is_sorted(), "{texts:?}");
        for (offset, text) in offsets.iter().zip(&texts) {
            assert_eq!(ReadStart::parse(text), Some(ReadStart::At(*offset)));
            assert!(!text.contains([',', '&', '=', '?', '/']));
        }
        let wrong = ["", "0", "a", "_", "-1 ", "1_2", "../x", "+0000000000001_0000000000000000"];
        for text in wrong {
            assert_eq!(ReadStart::parse(text), None, "{text}");
        }
    }
}
