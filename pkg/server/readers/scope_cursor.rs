//! A position in the stream of everything that a caller may see.

use std::{
    collections::BTreeMap,
    fmt::{self, Display, Formatter},
};

/// Maximum number of active runs in a position: it is the id of each event, and passes through proxies that limit headers to 8 KiB.
const MAX_OPEN: usize = 512;

/// A position in the stream of everything that a caller may see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ScopeCursor {
    pub(crate) runs: u64,
    pub(crate) notes: u64,
    pub(crate) open: BTreeMap<u64, u64>,
}

impl Display for ScopeCursor {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.runs, self.notes)?;
        for (number, (run, next)) in self.open.iter().enumerate() {
            let before = if number == 0 { '~' } else { ',' };
            write!(formatter, "{before}{run}:{next}")?;
        }
        Ok(())
    }
}

impl ScopeCursor {
    /// Removes the oldest active runs beyond the maximum; returns their numbers.
    pub(crate) fn leave_out(&mut self) -> Vec<u64> {
        let count = self.open.len().saturating_sub(MAX_OPEN);
        (0..count).filter_map(|_| self.open.pop_first()).map(|(run, _)| run).collect()
    }

    /// Parses a position; `None` for a text that [`Display`] did not write.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (heads, open) = text.split_once('~').unwrap_or((text, ""));
        let (runs, notes) = heads.split_once('.')?;
        let number = |text: &str| text.parse::<u64>().ok().filter(|it| it.to_string() == text);
        let (runs, notes) = (number(runs)?, number(notes)?);
        let pair = |pair: &str| {
            let (run, next) = pair.split_once(':')?;
            Some((number(run).filter(|run| *run < runs)?, number(next)?))
        };
        let pairs = open.split(',').filter(|pair| !pair.is_empty()).take(MAX_OPEN + 1);
        let open: BTreeMap<_, _> = pairs.map(pair).collect::<Option<_>>()?;
        (open.len() <= MAX_OPEN).then_some(Self { runs, notes, open })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_was_written_and_nothing_else_is_one() {
        for text in ["0.0", "3.12", "3.0~2:17", "12.4~0:1,7:99,11:0"] {
            assert_eq!(ScopeCursor::parse(text).unwrap().to_string(), text);
        }
        let many = (0..513).map(|run| format!("{run}:0")).collect::<Vec<_>>().join(",");
        for text in
            ["", "1", "-1.0", "1.", "01.0", "1.0~1:0", "1.0~0", "1.0~x:1", &format!("999.0~{many}")]
        {
            assert_eq!(ScopeCursor::parse(text), None, "{text}");
        }
    }
}
