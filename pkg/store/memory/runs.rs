//! Runs in memory.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet, VecDeque},
};

use super::{run_commands::RunCommands, scopes::ScopeTotals};
use crate::{
    ConversationKey, EraseMode, LogKey, NodeId, RunBegun, RunChange, RunPage, RunQuery, RunWriter,
    StoreError, StoredRun,
    list_cursor::{ListCursor, page},
};
use forgeline_types::Text;

/// Maximum number of ended runs kept per scope.
const MAX_ENDED: usize = 1_000;

/// Maximum number of ended runs of all scopes.
const MAX_ALL_ENDED: usize = 10_000;

/// Maximum number of keys that a sweep returns.
const MAX_SWEPT: usize = 1_000;

/// Runs by key.
#[derive(Debug, Default)]
pub(super) struct RunTable {
    pub(super) all: HashMap<LogKey, StoredRun>,
    /// Keys, in start order.
    pub(super) order: Vec<LogKey>,
    /// Keys of ended runs, in the order in which they ended.
    ended: VecDeque<LogKey>,
    /// The number of ended runs of each scope.
    counts: ScopeTotals,
    /// Keys by scope, owner and key of the request.
    pub(super) requests: HashMap<(Text, Text, Text), LogKey>,
    pub(super) commands: HashMap<LogKey, RunCommands>,
}

fn request_of(run: &StoredRun) -> Option<(Text, Text, Text)> {
    let request = run.request.as_ref()?;
    Some((run.key.scope.clone(), run.owner.clone(), request.key.clone()))
}

impl RunTable {
    /// Returns a run.
    pub(super) fn get(&self, key: &LogKey) -> Result<&StoredRun, StoreError> {
        self.all.get(key).ok_or_else(|| StoreError::no_run(key))
    }

    pub(super) fn begin(
        &mut self,
        mut run: StoredRun,
        node: Option<&NodeId>,
    ) -> Result<RunBegun, StoreError> {
        let (key, request) = (run.key.clone(), request_of(&run));
        if self.all.contains_key(&key) {
            return Err(StoreError::Exists { what: "run", name: key.name });
        }
        let earlier = request.as_ref().and_then(|request| self.requests.get(request));
        if let Some(earlier) = earlier.and_then(|key| self.all.get(key)) {
            return Ok(RunBegun::of_repeated(earlier.clone(), &run));
        }
        if let Some(request) = request {
            self.requests.insert(request, key.clone());
        }
        self.order.push(key.clone());
        (run.epoch, run.node) = (u64::from(node.is_some()), node.cloned());
        self.all.insert(key, run);
        Ok(RunBegun::New)
    }

    pub(super) fn change(
        &mut self,
        writer: &RunWriter,
        change: RunChange,
    ) -> Result<(), StoreError> {
        let (key, run) = (&writer.run, self.writable(writer)?);
        run.progress = change.progress;
        run.resumed =
            if change.is_put_away { 0 } else { run.resumed + u32::from(change.is_resumed) };
        let is_replaced = |name: &Text| {
            change.removed.contains(name) || change.added.iter().any(|note| note.name == *name)
        };
        run.notes.retain(|note| !is_replaced(&note.name));
        run.notes.extend(change.added);
        if change.progress.has_ended() {
            (run.end, run.ended_ms, run.input) = (change.end, Some(change.at_ms), None);
            run.notes.clear();
            run.usage = change.usage;
            if let Some(commands) = self.commands.get_mut(key) {
                commands.end();
            }
            self.ended.push_back(key.clone());
            self.counts.add(&key.scope, 1);
            self.drop_old(&key.scope);
        }
        Ok(())
    }

    /// Drops the oldest ended run of a scope that has too many, or of the largest scope if all together have too many.
    fn drop_old(&mut self, scope: &Text) {
        let of = self.counts.overfull(scope, MAX_ENDED, MAX_ALL_ENDED);
        let oldest = of.and_then(|of| self.ended.iter().find(|key| key.scope == of).cloned());
        if let Some(oldest) = oldest {
            self.delete(&oldest);
        }
    }

    /// Returns the conversations with a run that has not ended.
    pub(super) fn open_conversations(&self) -> HashSet<ConversationKey> {
        let open = self.all.values().filter(|run| !run.progress.has_ended());
        open.map(StoredRun::conversation_key).collect()
    }

    pub(super) fn delete(&mut self, key: &LogKey) -> bool {
        let Some(run) = self.all.remove(key) else { return false };
        if let Some(request) = request_of(&run) {
            self.requests.remove(&request);
        }
        self.commands.remove(key);
        self.order.retain(|other| other != key);
        if run.progress.has_ended() {
            self.counts.subtract(&key.scope, 1);
        }
        self.ended.retain(|other| other != key);
        true
    }

    pub(super) fn sweep(&mut self, before_ms: u64, keep: u64) -> Vec<LogKey> {
        let mut swept = Vec::new();
        while let Some(oldest) = self.ended.front().cloned()
            && swept.len() < MAX_SWEPT
        {
            let ended_ms = self.all.get(&oldest).and_then(|run| run.ended_ms);
            let is_old = ended_ms.is_none_or(|ended_ms| ended_ms < before_ms);
            if !is_old && self.ended.len() as u64 <= keep {
                break;
            }
            self.delete(&oldest);
            swept.push(oldest);
        }
        swept
    }

    pub(super) fn list(&self, query: &RunQuery) -> Result<RunPage, StoreError> {
        let after = ListCursor::read(query.after.as_ref())?;
        let mut found: Vec<_> = self
            .all
            .values()
            .filter(|run| run.key.scope == query.scope)
            .filter(|run| query.owner.as_ref().is_none_or(|owner| run.owner == *owner))
            .filter(|run| query.conversation.as_ref().is_none_or(|it| run.conversation == *it))
            .filter(|run| query.agent.as_ref().is_none_or(|agent| run.agent == *agent))
            .filter(|run| query.progress.is_none_or(|progress| run.progress == progress))
            .filter(|run| query.since_ms.is_none_or(|since| run.begun_ms >= since))
            .filter(|run| after.as_ref().is_none_or(|after| ListCursor::of_run(run) < *after))
            .collect();
        found.sort_by_key(|run| Reverse(ListCursor::of_run(run)));
        let (page, next) = page(found, query.most, |run| ListCursor::of_run(run));
        Ok(RunPage::new(page.into_iter().cloned().collect(), next))
    }

    pub(super) fn erase(&mut self, scope: &str, owner: &str, mode: EraseMode) -> u64 {
        let is_theirs =
            |run: &&StoredRun| !owner.is_empty() && run.key.scope == *scope && run.owner == *owner;
        let theirs: Vec<_> =
            self.all.values().filter(is_theirs).map(|run| run.key.clone()).collect();
        for key in &theirs {
            match mode {
                EraseMode::Count => {}
                EraseMode::Hard => {
                    self.delete(key);
                }
                EraseMode::Tombstone => {
                    let Some(run) = self.all.get_mut(key) else { continue };
                    if let Some(request) = request_of(run) {
                        self.requests.remove(&request);
                    }
                    run.owner = Text::new();
                    (run.request, run.input, run.end, run.about) = (None, None, None, None);
                    run.notes.clear();
                    self.commands.remove(key);
                }
            }
        }
        theirs.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunProgress;

    #[test]
    fn a_scope_drops_its_own_ended_runs_and_not_those_of_others() {
        let mut runs = RunTable::default();
        let key = |scope: &str, at: usize| LogKey::new(scope, at.to_string());
        let node = NodeId::random();
        let mut end = |scope: &str, at: usize| {
            let run = StoredRun::new(key(scope, at), "c", "ann", "main", at as u64);
            runs.begin(run, Some(&node)).unwrap();
            let writer = RunWriter::new(key(scope, at), 1);
            runs.change(&writer, RunChange::to(RunProgress::Completed, 1)).unwrap();
            runs.all.len()
        };
        end("other", 0);
        for at in 0..MAX_ENDED + 5 {
            end("team", at);
        }
        assert_eq!(end("team", 9_999), MAX_ENDED + 1);
        assert!(runs.all.contains_key(&key("other", 0)));
        assert!(!runs.all.contains_key(&key("team", 5)) && runs.all.contains_key(&key("team", 6)));
        assert!(runs.delete(&key("other", 0)) && runs.counts.of("other") == 0);
    }

    #[test]
    fn a_run_is_swept_once_it_ended_before_the_time() {
        let mut runs = RunTable::default();
        for at in 1..=5 {
            let key = LogKey::new("s", at.to_string());
            let run = StoredRun::new(key.clone(), "c", "ann", "main", 0);
            runs.begin(run, Some(&NodeId::random())).unwrap();
            let end = RunChange::to(RunProgress::Completed, at);
            runs.change(&RunWriter::new(key, 1), end).unwrap();
        }
        for (before_ms, keep, left) in [(1, 5, 5), (3, 5, 3), (3, 3, 3), (3, 1, 1), (6, 1, 0)] {
            runs.sweep(before_ms, keep);
            assert_eq!(runs.all.len(), left, "before {before_ms}, {keep} kept");
        }
    }
}
