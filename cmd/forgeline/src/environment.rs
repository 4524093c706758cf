//! Variables of the environment.

use std::{cell::RefCell, env};

use crate::exit::usage;

/// Looks variables up, and keeps the name of one that cannot be read.
#[derive(Debug, Default)]
pub(crate) struct Environment(RefCell<Option<String>>);

impl Environment {
    /// Returns the variable; `None` when it is absent or is not UTF-8.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        match env::var(name) {
            Ok(value) => Some(value),
            Err(env::VarError::NotPresent) => None,
            Err(env::VarError::NotUnicode(_)) => {
                self.0.borrow_mut().get_or_insert_with(|| name.to_owned());
                None
            }
        }
    }

    /// Refuses variables that were looked up and are not UTF-8; the value is not shown.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        match &*self.0.borrow() {
            Some(name) => Err(usage(format!("{name} is not valid UTF-8; set it again"))),
            None => Ok(()),
        }
    }
}
