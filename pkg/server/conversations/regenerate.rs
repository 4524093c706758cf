//! The choice of the message whose answer a chat regenerates.

/// The user messages of a chat, oldest first; the last one is answered again.
#[derive(Debug)]
pub(crate) struct RegenerateRequest {
    pub(crate) said: Vec<String>,
    /// `true` if the message was edited.
    pub(crate) is_edited: bool,
}

/// The place in a conversation from which a chat continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BranchPlace {
    /// Before the message with this index among those that started runs.
    Before(usize),
    /// Behind all messages.
    End,
    /// None: the chat has other messages than the conversation.
    Unknown,
}

/// A way in which the earlier messages of a chat are those of a conversation up to a place.
#[derive(Debug, Clone, Copy)]
enum EarlierMessages {
    Equal,
    /// The chat begins with messages that the service did not read.
    Longer,
    /// A client may send only the end of its chat.
    Shorter,
}

impl RegenerateRequest {
    /// Returns the place of the last message among those that started runs: everything from there on is taken back. The chat has the messages of
    /// `users` too with which its client began it.
    pub(crate) fn place(&self, begun: &[String], users: &[String]) -> BranchPlace {
        use EarlierMessages::{Equal, Longer, Shorter};

        let Some((last, before)) = self.said.split_last().filter(|_| !begun.is_empty()) else {
            return BranchPlace::End;
        };
        let chats = chats(begun, users);
        let is_at = |at: usize, way: EarlierMessages| {
            chats.get(at).is_some_and(|chats| chats.iter().any(|chat| way.holds(before, chat)))
        };
        let of_last = |at: &usize| begun.get(*at) == Some(last);
        // An edited message is not known, and only the whole chat shows which one it was.
        if !self.is_edited {
            for way in [Equal, Longer, Shorter] {
                let mut places = (0..begun.len()).rev().filter(of_last);
                if let Some(at) = places.find(|at| is_at(*at, way)) {
                    return BranchPlace::Before(at);
                }
            }
            if is_at(begun.len(), Shorter) {
                return BranchPlace::End;
            }
        }
        for way in [Equal, Longer] {
            if let Some(at) = (0..=begun.len()).rev().find(|at| is_at(*at, way)) {
                let is_end = at == begun.len();
                return if is_end { BranchPlace::End } else { BranchPlace::Before(at) };
            }
        }
        BranchPlace::Unknown
    }
}

impl EarlierMessages {
    fn holds(self, sent: &[String], chat: &[String]) -> bool {
        match self {
            Self::Equal => sent == chat,
            Self::Longer => !chat.is_empty() && sent.ends_with(chat),
            Self::Shorter => chat.ends_with(sent),
        }
    }
}

/// Returns the user's messages before each of those that started runs, and those before the end: without what was said while a run worked, and with it.
fn chats(begun: &[String], users: &[String]) -> Vec<[Vec<String>; 2]> {
    let (given, mut at) = (given(begun, users), 0);
    at += given.len();
    let mut chats = Vec::new();
    for (place, next) in begun.iter().map(Some).chain([None]).enumerate() {
        let found = users.iter().skip(at).position(|text| Some(text) == next);
        at = found.map_or(users.len(), |found| at + found);
        let own = begun.iter().take(place);
        let without = given.iter().chain(own).cloned().collect();
        chats.push([without, users.iter().take(at).cloned().collect()]);
        at += 1;
    }
    chats
}

/// Returns the user's messages of a conversation before the first one that started a run.
fn given<'u>(begun: &[String], users: &'u [String]) -> &'u [String] {
    let most = users.len().saturating_sub(begun.len());
    let first = (0..=most).rev().find(|at| users.get(*at) == begun.first());
    users.split_at(first.unwrap_or(0)).0
}

#[cfg(test)]
mod tests {
    use super::{BranchPlace::*, *};

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|it| (*it).to_owned()).collect()
    }

    #[test]
    fn the_message_is_found_in_a_whole_chat_and_by_its_end() {
        #[rustfmt::skip]
        let rows: &[(&[&str], &[&str], BranchPlace)] = &[
            // What began runs, what the chat has.
            (&[],                   &["a"],           End),
            (&[],                   &["x", "a"],      End),
            (&["a"],                &["a"],           Before(0)),
            (&["a", "b"],           &["a", "b"],      Before(1)),
            (&["a", "b", "c"],      &["a", "b"],      Before(1)),
            (&["a", "a", "a"],      &["a", "a"],      Before(1)),
            // The end of a chat.
            (&["a", "b", "c"],      &["c"],           Before(2)),
            (&["a", "b", "b"],      &["b"],           Before(2)),
            // One that was taken back, or never began.
            (&["a"],                &["a", "b"],      End),
            (&["a"],                &["b"],           End),
            (&["a", "b"],           &["a", "c"],      Before(1)),
            (&["a"],                &[],              End),
            // An earlier message is another one.
            (&["a", "b"],           &["x", "b"],      Unknown),
            (&["a", "b", "c"],      &["a", "x", "c"], Unknown),
            (&["a", "b"],           &["x", "c"],      Unknown),
        ];
        for (begun, said, place) in rows {
            let again = RegenerateRequest { said: texts(said), is_edited: false };
            assert_eq!(again.place(&texts(begun), &texts(begun)), *place, "{begun:?} {said:?}");
        }
        #[rustfmt::skip]
        let edited: &[(&[&str], &[&str], BranchPlace)] = &[
            (&["a"],                &["x"],           Before(0)),
            (&["a", "b", "c"],      &["a", "x"],      Before(1)),
            (&["a", "b"],           &["a", "b"],      Before(1)),
            (&["a"],                &["a", "x"],      End),
            (&["a", "b", "c"],      &["b", "x"],      Unknown),
            (&[],                   &["x"],           End),
            // Two messages were edited, or the service did not read the first one.
            (&["a", "b", "c"],      &["x", "y"],      Unknown),
            (&["a", "b", "c"],      &["x", "b", "y"], Unknown),
            (&["a", "b", "c"],      &["0", "a", "x"], Before(1)),
        ];
        for (begun, said, place) in edited {
            let again = RegenerateRequest { said: texts(said), is_edited: true };
            assert_eq!(again.place(&texts(begun), &texts(begun)), *place, "{begun:?} {said:?}");
        }
    }

    // Rows: N-65
    #[test]
    fn the_messages_with_which_a_client_began_a_chat_started_no_run() {
        type Texts = &'static [&'static str];
        #[rustfmt::skip]
        let rows: [(Texts, Texts, bool, Texts, BranchPlace); 13] = [
            // What began runs, what the user said before and during them, what the chat has.
            (&["b"],      &["a", "b"],           true,  &["a", "x"],           Before(0)),
            (&["b", "c"], &["a", "b", "c"],      true,  &["a", "b", "x"],      Before(1)),
            (&["b", "c"], &["a", "b", "c"],      false, &["a", "b"],           Before(0)),
            (&["b", "b"], &["b", "b", "b"],      true,  &["b", "x"],           Before(0)),
            (&["b", "b"], &["b", "b"],           true,  &["b", "x"],           Before(1)),
            (&["b", "c"], &["a", "b", "s", "c"], true,  &["a", "b", "x"],      Before(1)),
            (&["b", "c"], &["b", "s", "c"],      true,  &["b", "x"],           Before(1)),
            (&["b"],      &["a", "b"],           true,  &["a", "b", "x"],      End),
            // What was said during a run is a message of the chat, too.
            (&["b", "c"], &["b", "s", "c"],      true,  &["b", "s", "x"],      Before(1)),
            (&["b"],      &["b", "s"],           true,  &["b", "s", "x"],      End),
            // One of the messages with which the client began it was edited.
            (&["b", "c"], &["a", "b", "c"],      true,  &["x"],                Unknown),
            (&["b", "c"], &["a", "b", "c"],      true,  &["x", "b", "y"],      Unknown),
            (&["b", "c"], &["a", "b", "c"],      false, &["x", "b"],           Unknown),
        ];
        for (begun, users, is_edited, said, place) in rows {
            let again = RegenerateRequest { said: texts(said), is_edited };
            assert_eq!(again.place(&texts(begun), &texts(users)), place, "{users:?} {said:?}");
        }
    }
}
