//! The verdict of a check, and the reason why it did not pass.

use super::Outcome;

/// The reason why a check did not pass.
#[derive(Debug)]
pub(crate) enum CheckMiss {
    /// The provider does not conform; each entry names a place and a difference.
    Fails(Vec<String>),
    /// The check does not apply, for this reason.
    Absent(String),
}

/// The result of a check.
pub(crate) type CheckVerdict = Result<(), CheckMiss>;

/// Fails with `what` unless `holds`.
pub(crate) fn hold(holds: bool, what: impl FnOnce() -> String) -> CheckVerdict {
    if holds { Ok(()) } else { Err(CheckMiss::Fails(vec![what()])) }
}

/// Returns the verdict of a check that does not apply.
pub(crate) fn absent(why: &str) -> CheckMiss {
    CheckMiss::Absent(why.to_owned())
}

/// The results of the rows of one check.
#[derive(Debug, Default)]
pub(crate) struct VerdictRows {
    fails: Vec<String>,
    absent: Option<String>,
    held: usize,
}

impl VerdictRows {
    pub(crate) fn add(&mut self, row: &str, verdict: CheckVerdict) {
        match verdict {
            Ok(()) => self.held += 1,
            Err(CheckMiss::Absent(why)) => self.absent = Some(why),
            Err(CheckMiss::Fails(details)) => {
                self.fails.extend(details.into_iter().map(|detail| format!("{row}: {detail}")));
            }
        }
    }

    pub(crate) fn verdict(self) -> CheckVerdict {
        match self.absent {
            _ if !self.fails.is_empty() => Err(CheckMiss::Fails(self.fails)),
            Some(why) if self.held == 0 => Err(CheckMiss::Absent(why)),
            _ => Ok(()),
        }
    }
}

impl From<CheckVerdict> for Outcome {
    fn from(verdict: CheckVerdict) -> Self {
        match verdict {
            Ok(()) => Self::Passed,
            Err(CheckMiss::Absent(why)) => Self::NotApplicable(why),
            Err(CheckMiss::Fails(details)) => Self::Failed(details),
        }
    }
}
