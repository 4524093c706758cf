//! Conversations in memory.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use super::scopes::ScopeTotals;
use crate::{
    ConversationKey, ConversationPage, ConversationQuery, ConversationRecord, ConversationStatus,
    Entry, EraseMode, Erased, StoreError,
    blobs::{BlobHash, join},
    conversation_record::{erased, to_json, to_message},
    entry_texts::EntryTexts,
    list_cursor::{ListCursor, page},
};
use forgeline_types::Text;

/// Maximum number of conversations kept per scope.
const MAX_CONVERSATIONS: usize = 1_000;

/// Maximum number of conversations of all scopes.
const MAX_ALL: usize = 10_000;

/// Conversations by key, and the long parts of their entries.
#[derive(Debug, Default)]
pub(super) struct ConversationTable {
    all: BTreeMap<ConversationKey, MemoryConversation>,
    blobs: HashMap<BlobHash, (usize, Arc<str>)>,
    counts: ScopeTotals,
}

#[derive(Debug)]
pub(super) struct MemoryConversation {
    pub(super) head: ConversationRecord,
    pub(super) lines: Vec<(u64, String)>,
    pub(super) messages: Vec<(u64, String)>,
    /// The hashes of the long parts, one per use.
    blobs: Vec<BlobHash>,
}

impl ConversationTable {
    pub(super) fn get(&self, key: &ConversationKey) -> Result<&MemoryConversation, StoreError> {
        self.all.get(key).ok_or_else(|| StoreError::no_conversation(key))
    }

    pub(super) fn get_mut(
        &mut self,
        key: &ConversationKey,
    ) -> Result<&mut MemoryConversation, StoreError> {
        self.all.get_mut(key).ok_or_else(|| StoreError::no_conversation(key))
    }

    /// Adds a conversation. If the scope has too many, evicts its least recently changed one; if all scopes together have too many, one of the largest
    /// scope. Conversations with a run that has not ended are kept.
    pub(super) fn begin(
        &mut self,
        head: ConversationRecord,
        is_open: impl FnOnce() -> HashSet<ConversationKey>,
    ) -> Result<(), StoreError> {
        let key = head.key.clone();
        if self.all.contains_key(&key) {
            return Err(StoreError::Exists { what: "conversation", name: key.id });
        }
        // Room for one more.
        if let Some(scope) = self.counts.overfull(&key.scope, MAX_CONVERSATIONS - 1, MAX_ALL - 1) {
            let oldest = self.oldest(&scope, &is_open()).ok_or_else(|| StoreError::Full {
                reason: format!(
                    "it holds {} conversations, and each one of scope `{scope}` has a run that has not ended; end runs first",
                    self.all.len()
                ),
            })?;
            self.delete(&oldest);
        }
        let (lines, messages, blobs) = (Vec::new(), Vec::new(), Vec::new());
        self.counts.add(&key.scope, 1);
        self.all.insert(key, MemoryConversation { head, lines, messages, blobs });
        Ok(())
    }

    /// Returns the least recently changed conversation of a scope whose runs have all ended.
    fn oldest(&self, scope: &Text, open: &HashSet<ConversationKey>) -> Option<ConversationKey> {
        let theirs = self.all.values().filter(|kept| kept.head.key.scope == *scope);
        let idle = theirs.filter(|kept| !open.contains(&kept.head.key));
        idle.min_by_key(|kept| kept.head.updated_ms).map(|kept| kept.head.key.clone())
    }

    pub(super) fn append(
        &mut self,
        key: &ConversationKey,
        at: u64,
        entry: &Entry,
    ) -> Result<(), StoreError> {
        let Self { all, blobs, .. } = self;
        let kept = all.get_mut(key).ok_or_else(|| StoreError::no_conversation(key))?;
        kept.head.check_end(at)?;
        let EntryTexts { line, messages, blobs: parts, at_ms } = EntryTexts::of(entry)?;
        for (hash, part) in parts {
            blobs.entry(hash).or_insert_with(|| (0, part.into())).0 += 1;
            kept.blobs.push(hash);
        }
        kept.lines.extend(line.map(|line| (at, line)));
        kept.messages.extend(messages.into_iter().map(|text| (at_ms, text)));
        kept.head.entries += 1;
        kept.head.messages = kept.messages.len() as u64;
        kept.head.updated_ms = kept.head.updated_ms.max(at_ms);
        Ok(())
    }

    pub(super) fn join(&self, text: &str) -> Result<String, StoreError> {
        join(text, |hash| self.blobs.get(hash).map(|(_, part)| Arc::clone(part))).ok_or_else(|| {
            StoreError::Corrupt { reason: "a part of an entry is missing".to_owned() }
        })
    }

    fn release(&mut self, hashes: &[BlobHash]) {
        for hash in hashes {
            if let Some((uses, _)) = self.blobs.get_mut(hash) {
                *uses -= 1;
                if *uses == 0 {
                    self.blobs.remove(hash);
                }
            }
        }
    }

    pub(super) fn delete(&mut self, key: &ConversationKey) -> bool {
        let Some(kept) = self.all.remove(key) else { return false };
        self.counts.subtract(&key.scope, 1);
        self.release(&kept.blobs);
        true
    }

    pub(super) fn erase(
        &mut self,
        scope: &str,
        owner: &str,
        mode: EraseMode,
    ) -> Result<Erased, StoreError> {
        let is_theirs = |kept: &&MemoryConversation| {
            !owner.is_empty() && kept.head.key.scope == *scope && kept.head.owner == *owner
        };
        let theirs: Vec<_> =
            self.all.values().filter(is_theirs).map(|kept| kept.head.key.clone()).collect();
        let mut count = Erased::default();
        for key in theirs {
            count.conversations += 1;
            count.messages += self.get(&key)?.head.messages;
            match mode {
                EraseMode::Count => {}
                EraseMode::Hard => {
                    self.delete(&key);
                }
                EraseMode::Tombstone => self.bury(&key)?,
            }
        }
        Ok(count)
    }

    fn bury(&mut self, key: &ConversationKey) -> Result<(), StoreError> {
        let kept = self.get(key)?;
        let mut messages = Vec::new();
        for (at_ms, text) in &kept.messages {
            let message = erased(&to_message(&self.join(text)?)?);
            messages.push((*at_ms, to_json(&message)?));
        }
        let Some(kept) = self.all.get_mut(key) else { return Ok(()) };
        kept.lines.clear();
        kept.messages = messages;
        kept.head.status = ConversationStatus::Erased;
        (kept.head.owner, kept.head.title) = (Text::new(), None);
        let blobs = std::mem::take(&mut kept.blobs);
        self.release(&blobs);
        Ok(())
    }

    pub(super) fn list(&self, query: &ConversationQuery) -> Result<ConversationPage, StoreError> {
        let after = ListCursor::read(query.after.as_ref())?;
        let mut found: Vec<_> = self
            .all
            .values()
            .map(|kept| &kept.head)
            .filter(|head| head.key.scope == query.scope)
            .filter(|head| query.owner.as_ref().is_none_or(|owner| head.owner == *owner))
            .filter(|head| query.agent.as_ref().is_none_or(|agent| head.agent == *agent))
            .filter(|head| {
                after.as_ref().is_none_or(|after| ListCursor::of_conversation(head) < *after)
            })
            .collect();
        found.sort_by_key(|head| Reverse(ListCursor::of_conversation(head)));
        let (page, next) = page(found, query.most, |head| ListCursor::of_conversation(head));
        Ok(ConversationPage::new(page.into_iter().cloned().collect(), next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversation(scope: &str, id: usize) -> ConversationRecord {
        let key = ConversationKey::new(scope, id.to_string());
        ConversationRecord::new(key, "ann", "main", id as u64)
    }

    #[test]
    fn a_scope_drops_its_own_oldest_conversation_and_none_with_a_run_that_goes_on() {
        let mut all = ConversationTable::default();
        let key = |scope: &str, id: usize| ConversationKey::new(scope, id.to_string());
        all.begin(conversation("other", 0), HashSet::new).unwrap();
        for id in 1..=MAX_CONVERSATIONS {
            all.begin(conversation("team", id), HashSet::new).unwrap();
        }
        let open = || HashSet::from([key("team", 1), key("team", 2)]);
        all.begin(conversation("team", 9_001), open).unwrap();
        let is_there = |all: &ConversationTable, scope: &str, id| all.get(&key(scope, id)).is_ok();
        assert!(is_there(&all, "other", 0), "that of another scope stays");
        assert!(is_there(&all, "team", 1) && is_there(&all, "team", 2), "they have runs");
        assert!(!is_there(&all, "team", 3) && is_there(&all, "team", 4));
        let busy: HashSet<_> = all.all.keys().cloned().collect();
        let full = all.begin(conversation("team", 9_002), || busy).unwrap_err();
        assert!(matches!(full, StoreError::Full { .. }), "{full}");
        assert_eq!(all.counts.of("team"), MAX_CONVERSATIONS);
    }

    #[test]
    fn of_too_many_in_all_the_scope_with_most_has_one_less() {
        let mut all = ConversationTable::default();
        for id in 0..MAX_ALL - 10 {
            let scope = format!("s{}", id / 999);
            all.begin(conversation(&scope, id), HashSet::new).unwrap();
        }
        for id in 0..20 {
            all.begin(conversation(&format!("few{id}"), id), HashSet::new).unwrap();
        }
        assert_eq!(all.all.len(), MAX_ALL);
        assert!((0..20).all(|id| all.counts.of(&format!("few{id}")) == 1));
        assert_eq!(all.counts.all(), MAX_ALL);
    }
}
