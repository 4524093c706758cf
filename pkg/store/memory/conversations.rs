//! Conversations in memory.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use crate::{
    store::{
        Conversation, ConversationKey, ConversationPage, ConversationQuery, ConversationStatus,
        Entry, EraseMode, Erased, StoreError,
        blobs::{Hash, join, split},
        conversation::{erased, to_json, to_message},
        cursor::Cursor,
    },
    types::Text,
};

/// Most conversations that are kept.
pub(super) const MAX_CONVERSATIONS: usize = 1_000;

/// Conversations by their names, and the long parts of their entries.
#[derive(Debug, Default)]
pub(super) struct Conversations {
    pub(super) all: BTreeMap<ConversationKey, Kept>,
    pub(super) blobs: HashMap<Hash, (usize, Arc<str>)>,
}

#[derive(Debug)]
pub(super) struct Kept {
    pub(super) head: Conversation,
    pub(super) lines: Vec<(u64, String)>,
    pub(super) messages: Vec<(u64, String)>,
    /// The long parts, once for each use.
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

    pub(super) fn begin(&mut self, head: Conversation) -> Result<(), StoreError> {
        let key = head.key.clone();
        if self.all.contains_key(&key) {
            return Err(StoreError::Exists { what: "conversation", name: key.id });
        }
        if self.all.len() >= MAX_CONVERSATIONS {
            let oldest = self.all.values().min_by_key(|kept| kept.head.updated_ms);
            if let Some(oldest) = oldest.map(|kept| kept.head.key.clone()) {
                self.delete(&oldest);
            }
        }
        let (lines, messages, blobs) = (Vec::new(), Vec::new(), Vec::new());
        self.all.insert(key, Kept { head, lines, messages, blobs });
        Ok(())
    }

    pub(super) fn append(
        &mut self,
        key: &ConversationKey,
        at: u64,
        entry: &Entry,
    ) -> Result<(), StoreError> {
        let Self { all, blobs } = self;
        let kept = all.get_mut(key).ok_or_else(|| not_found(key))?;
        if kept.head.status.is_last() {
            return Err(ended(key));
        }
        if kept.head.entries != at {
            let (name, end) = (key.id.clone(), kept.head.entries);
            return Err(StoreError::Behind { name, at, end });
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
