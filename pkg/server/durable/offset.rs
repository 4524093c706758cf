//! The places in a stream, as its readers see them.

use std::fmt::{self, Display, Formatter};

/// A place in a stream: the time it was created, and the number of a record. As text, later places are greater, and those of a stream that was
/// deleted and created again too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Offset {
    /// Milliseconds since 1970; for a run, which is created once, a number made of its id.
    pub(super) created: u64,
    pub(super) number: u64,
}

/// The place where a reader begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    Beginning,
    Now,
    At(Offset),
}

const CREATED: usize = 14;
const NUMBER: usize = 16;

/// Numbers of runs that there are, as [`CREATED`] has digits for them.
const RUNS: u64 = 100_000_000_000_000;

impl Display for Offset {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Self { created, number } = self;
        write!(formatter, "{created:0CREATED$}_{number:0NUMBER$}")
    }
}

/// Returns a number made of the id of a run, the same in each process; FNV-1a, as far as there are digits for it.
pub(super) fn of_run(id: &str) -> u64 {
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash % RUNS
}

impl Offset {
    /// Reads an offset; `None` for anything that was not written by [`Display`].
    pub(super) fn read(text: &str) -> Option<Self> {
        let (created, number) = text.split_once('_')?;
        let digits = |text: &str, length: usize| {
            (text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit()))
                .then(|| text.parse::<u64>().ok())
                .flatten()
        };
        Some(Self { created: digits(created, CREATED)?, number: digits(number, NUMBER)? })
    }
}

impl Start {
    /// Reads the place that a reader asks for.
    pub(super) fn read(text: &str) -> Option<Self> {
        match text {
            "-1" => Some(Self::Beginning),
            "now" => Some(Self::Now),
            text => Offset::read(text).map(Self::At),
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
        let offsets = places.map(|(created, number)| Offset { created, number });
        let texts = offsets.map(|offset| offset.to_string());
        assert!(texts.is_sorted(), "{texts:?}");
        for (offset, text) in offsets.iter().zip(&texts) {
            assert_eq!(Start::read(text), Some(Start::At(*offset)));
            assert!(!text.contains([',', '&', '=', '?', '/']));
        }
        let wrong = ["", "0", "a", "_", "-1 ", "1_2", "../x", "+0000000000001_0000000000000000"];
        for text in wrong {
            assert_eq!(Start::read(text), None, "{text}");
        }
    }
}
