//! Limits of scopes.

use std::collections::HashMap;

use forgeline_types::Text;

/// A total of each scope, such as the number of its conversations, and of all scopes.
#[derive(Debug, Default)]
pub(super) struct ScopeTotals {
    of: HashMap<Text, usize>,
    all: usize,
}

impl ScopeTotals {
    /// Returns the total of all scopes.
    pub(super) fn all(&self) -> usize {
        self.all
    }

    /// Returns the total of a scope.
    pub(super) fn of(&self, scope: &str) -> usize {
        self.of.get(scope).copied().unwrap_or_default()
    }

    pub(super) fn add(&mut self, scope: &Text, count: usize) {
        if count > 0 {
            *self.of.entry(scope.clone()).or_default() += count;
            self.all += count;
        }
    }

    pub(super) fn subtract(&mut self, scope: &Text, count: usize) {
        if let Some(total) = self.of.get_mut(scope) {
            *total -= count;
            self.all -= count;
            if *total == 0 {
                self.of.remove(scope);
            }
        }
    }

    /// Returns the scope with the largest total.
    pub(super) fn largest(&self) -> Option<&Text> {
        self.of.iter().max_by_key(|(_, total)| **total).map(|(scope, _)| scope)
    }

    /// Returns the scope that is to lose something: this one if its total exceeds `most`, or the largest one if the total of all exceeds `most_of_all`.
    pub(super) fn overfull(&self, scope: &Text, most: usize, most_of_all: usize) -> Option<Text> {
        if self.of(scope) > most {
            return Some(scope.clone());
        }
        self.largest().filter(|_| self.all > most_of_all).cloned()
    }
}

/// Returns the data of a scope. A new scope beyond the maximum replaces the one that has been quiet the longest; `used_ms` returns `None` for one that
/// stays.
pub(super) fn entry<'s, T: Default>(
    scopes: &'s mut HashMap<Text, T>,
    scope: &str,
    most: usize,
    used_ms: impl Fn(&T) -> Option<u64>,
) -> &'s mut T {
    if scopes.len() >= most && !scopes.contains_key(scope) {
        let used = scopes.iter().filter_map(|(name, data)| Some((used_ms(data)?, name)));
        if let Some(quiet) = used.min_by_key(|(used_ms, _)| *used_ms).map(|(_, name)| name.clone())
        {
            scopes.remove(&quiet);
        }
    }
    scopes.entry(scope.into()).or_default()
}
