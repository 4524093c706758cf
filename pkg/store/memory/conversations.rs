//! Conversations in memory.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use crate::{
    Conversation, ConversationKey, ConversationPage, ConversationQuery, ConversationStatus, Entry,
    EraseMode, Erased, StoreError,
    blobs::{Hash, join, split},
    conversation::{erased, to_json, to_message},
    cursor::Cursor,
};
use forgeline_types::Text;

/// Maximum number of conversations kept per scope.
const MAX_CONVERSATIONS: usize = 1_000;

/// Maximum number of conversations of all scopes.
const MAX_ALL: usize = 10_000;

/// Conversations by key, and the long parts of their entries.
#[derive(Debug, Default)]
pub(super) struct Conversations {
    pub(super) all: BTreeMap<ConversationKey, Kept>,
    pub(super) blobs: HashMap<Hash, (usize, Arc<str>)>,
    /// The number of conversations of each scope.
    counts: HashMap<Text, usize>,
}

#[derive(Debug)]
pub(super) struct Kept {
    pub(super) head: Conversation,
    pub(super) lines: Vec<(u64, String)>,
    pub(super) messages: Vec<(u64, String)>,
    /// The hashes of the long parts, one per use.
    pub(super) blobs: Vec<Hash>,
}

pub(super) fn not_found(key: &ConversationKey) -> StoreError {
    StoreError::NotFound { what: "conversation", name: key.id.clone() }
}

pub(super) fn ended(key: &ConversationKey) -> StoreError {
    StoreError::Ended { what: "conversation", name: key.id.clone() }
}

impl Conversations {
    pub(super) fn get(&self, key: &ConversationKey) -> Result<&Kept, StoreError> {
        self.all.get(key).ok_or_else(|| not_found(key))
    }

    /// Adds a conversation. If the scope has too many, evicts its least recently changed one; if all scopes together have too many, one of the largest
    /// scope. Conversations with a run that has not ended are kept.
    pub(super) fn begin(
        &mut self,
        head: Conversation,
        is_open: impl FnOnce() -> HashSet<ConversationKey>,
    ) -> Result<(), StoreError> {
        let key = head.key.clone();
        if self.all.contains_key(&key) {
            return Err(StoreError::Exists { what: "conversation", name: key.id });
        }
        let own = self.counts.get(&key.scope).copied().unwrap_or_default();
        let largest = || self.counts.iter().max_by_key(|(_, count)| **count);
        let of = if own >= MAX_CONVERSATIONS {
            Some(key.scope.clone())
        } else if self.all.len() >= MAX_ALL {
            largest().map(|(scope, _)| scope.clone())
        } else {
            None
        };
        if let Some(scope) = of {
            let oldest = self.oldest(&scope, &is_open()).ok_or_else(|| StoreError::Full {
                reason: format!(
                    "it holds {} conversations, and each one of scope `{scope}` has a run that has not ended",
                    self.all.len()
                ),
            })?;
            self.delete(&oldest);
        }
        let (lines, messages, blobs) = (Vec::new(), Vec::new(), Vec::new());
        *self.counts.entry(key.scope.clone()).or_default() += 1;
        self.all.insert(key, Kept { head, lines, messages, blobs });
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
        let kept = all.get_mut(key).ok_or_else(|| not_found(key))?;
        if kept.head.status.is_last() {
            return Err(ended(key));
        }
        if kept.head.entries != at {
            let (name, end) = (key.id.clone(), kept.head.entries);
            return Err(StoreError::Behind { what: "conversation", name, at, end });
        }
        let messages = entry.messages.iter().map(to_json).collect::<Result<Vec<_>, _>>()?;
        let mut keep = |text: &str| {
            let taken = split(text);
            for (hash, part) in taken.blobs {
                blobs.entry(hash).or_insert_with(|| (0, part.into())).0 += 1;
                kept.blobs.push(hash);
            }
            taken.text
        };
        kept.lines.extend(entry.line.as_deref().map(|line| (at, keep(line))));
        kept.messages.extend(messages.iter().map(|text| (entry.at_ms, keep(text))));
        kept.head.entries += 1;
        kept.head.messages = kept.messages.len() as u64;
        kept.head.updated_ms = kept.head.updated_ms.max(entry.at_ms);
        Ok(())
    }

    pub(super) fn join(&self, text: &str) -> Result<String, StoreError> {
        join(text, |hash| self.blobs.get(hash).map(|(_, part)| Arc::clone(part))).ok_or_else(|| {
            StoreError::Corrupt { reason: "a part of an entry is missing".to_owned() }
        })
    }

    pub(super) fn change(
        &mut self,
        key: &ConversationKey,
        at_ms: u64,
        change: impl FnOnce(&mut Conversation) -> bool,
    ) -> Result<(), StoreError> {
        let kept = self.all.get_mut(key).ok_or_else(|| not_found(key))?;
        if !change(&mut kept.head) {
            return Err(ended(key));
        }
        kept.head.updated_ms = at_ms;
        Ok(())
    }

    pub(super) fn release(&mut self, hashes: &[Hash]) {
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
        if let Some(count) = self.counts.get_mut(&key.scope) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&key.scope);
            }
        }
        self.release(&kept.blobs);
        true
    }

    pub(super) fn erase(
        &mut self,
        scope: &str,
        owner: &str,
        mode: EraseMode,
    ) -> Result<Erased, StoreError> {
        let is_theirs = |kept: &&Kept| {
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

    pub(super) fn bury(&mut self, key: &ConversationKey) -> Result<(), StoreError> {
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
        let after = Cursor::read(query.after.as_ref())?;
        let place =
            |head: &Conversation| Cursor { at_ms: head.updated_ms, name: head.key.id.clone() };
        let mut found: Vec<_> = self
            .all
            .values()
            .map(|kept| &kept.head)
            .filter(|head| head.key.scope == query.scope)
            .filter(|head| query.owner.as_ref().is_none_or(|owner| head.owner == *owner))
            .filter(|head| query.agent.as_ref().is_none_or(|agent| head.agent == *agent))
            .filter(|head| after.as_ref().is_none_or(|after| place(head) < *after))
            .collect();
        found.sort_by_key(|head| std::cmp::Reverse(place(head)));
        let page: Vec<_> = found.iter().take(query.most).copied().cloned().collect();
        let is_more = found.len() > page.len();
        let next = page.last().filter(|_| is_more).map(|last| place(last).write());
        Ok(ConversationPage::new(page, next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversation(scope: &str, id: usize) -> Conversation {
        let key = ConversationKey::new(scope, id.to_string());
        Conversation::new(key, "ann", "main", id as u64)
    }

    #[test]
    fn a_scope_drops_its_own_oldest_conversation_and_none_with_a_run_that_goes_on() {
        let mut all = Conversations::default();
        let key = |scope: &str, id: usize| ConversationKey::new(scope, id.to_string());
        all.begin(conversation("other", 0), HashSet::new).unwrap();
        for id in 1..=MAX_CONVERSATIONS {
            all.begin(conversation("team", id), HashSet::new).unwrap();
        }
        let open = || HashSet::from([key("team", 1), key("team", 2)]);
        all.begin(conversation("team", 9_001), open).unwrap();
        let is_there = |all: &Conversations, scope: &str, id| all.get(&key(scope, id)).is_ok();
        assert!(is_there(&all, "other", 0), "that of another scope stays");
        assert!(is_there(&all, "team", 1) && is_there(&all, "team", 2), "they have runs");
        assert!(!is_there(&all, "team", 3) && is_there(&all, "team", 4));
        let busy: HashSet<_> = all.all.keys().cloned().collect();
        let full = all.begin(conversation("team", 9_002), || busy).unwrap_err();
        assert!(matches!(full, StoreError::Full { .. }), "{full}");
        assert_eq!(all.counts["team"], MAX_CONVERSATIONS);
    }

    #[test]
    fn of_too_many_in_all_the_scope_with_most_has_one_less() {
        let mut all = Conversations::default();
        for id in 0..MAX_ALL - 10 {
            let scope = format!("s{}", id / 999);
            all.begin(conversation(&scope, id), HashSet::new).unwrap();
        }
        for id in 0..20 {
            all.begin(conversation(&format!("few{id}"), id), HashSet::new).unwrap();
        }
        assert_eq!(all.all.len(), MAX_ALL);
        assert_eq!(all.counts.values().filter(|count| **count == 1).count(), 20);
        assert_eq!(all.counts.values().sum::<usize>(), MAX_ALL);
    }
}
