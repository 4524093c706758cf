//! The choice of the message whose answer a chat regenerates.

/// The user messages of a chat, oldest first; the last one is answered again.
#[derive(Debug)]
pub(crate) struct RegenerateRequest {
    pub(crate) said: Vec<String>,
    /// `true` if the message was edited.
    pub(crate) is_edited: bool,
}

impl RegenerateRequest {
    /// Returns the index of that message among those that started runs; `None` if it started none, or was already taken back. The chat has the messages of
    /// `users` too with which its client began it.
    pub(crate) fn place(&self, begun: &[String], users: &[String]) -> Option<usize> {
        let (last, before) = self.said.split_last()?;
        let before = before.strip_prefix(given(begun, users)).unwrap_or(before);
        let is_whole = begun.starts_with(before);
        if self.is_edited {
            return (is_whole && begun.len() > before.len()).then_some(before.len());
        }
        if is_whole && begun.get(before.len()) == Some(last) {
            return Some(before.len());
        }
        // A client may send only the end of its chat.
        begun.iter().rposition(|text| text == last)
    }
}

/// Returns the user's messages of a conversation before the first one that started a run.
fn given<'u>(begun: &[String], users: &'u [String]) -> &'u [String] {
    let most = users.len().saturating_sub(begun.len());
    let first = (0..=most).rev().find(|at| users.get(*at) == begun.first());
    users.split_at(first.unwrap_or(0)).0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|it| (*it).to_owned()).collect()
    }

    #[test]
    fn the_message_is_found_in_a_whole_chat_and_by_its_end() {
        #[rustfmt::skip]
        let rows: &[(&[&str], &[&str], Option<usize>)] = &[
            // What began runs, what the chat has.
            (&[],                   &["a"],           None),
            (&["a"],                &["a"],           Some(0)),
            (&["a", "b"],           &["a", "b"],      Some(1)),
            (&["a", "b", "c"],      &["a", "b"],      Some(1)),
            (&["a", "a", "a"],      &["a", "a"],      Some(1)),
            // The end of a chat.
            (&["a", "b", "c"],      &["c"],           Some(2)),
            (&["a", "b", "b"],      &["b"],           Some(2)),
            // One that was taken back, or never began.
            (&["a"],                &["a", "b"],      None),
            (&["a", "b"],           &["a", "c"],      None),
            (&["a"],                &[],              None),
        ];
        for (begun, said, place) in rows {
            let again = RegenerateRequest { said: texts(said), is_edited: false };
            assert_eq!(again.place(&texts(begun), &texts(begun)), *place, "{begun:?} {said:?}");
        }
        #[rustfmt::skip]
        let edited: &[(&[&str], &[&str], Option<usize>)] = &[
            (&["a"],                &["x"],           Some(0)),
            (&["a", "b", "c"],      &["a", "x"],      Some(1)),
            (&["a", "b"],           &["a", "b"],      Some(1)),
            (&["a"],                &["a", "x"],      None),
            (&["a", "b", "c"],      &["b", "x"],      None),
            (&[],                   &["x"],           None),
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
        let rows: [(Texts, Texts, bool, Texts, Option<usize>); 8] = [
            // What began runs, what the user said before and during them, what the chat has.
            (&["b"],      &["a", "b"],           true,  &["a", "x"],           Some(0)),
            (&["b", "c"], &["a", "b", "c"],      true,  &["a", "b", "x"],      Some(1)),
            (&["b", "c"], &["a", "b", "c"],      false, &["a", "b"],           Some(0)),
            (&["b", "b"], &["b", "b", "b"],      true,  &["b", "x"],           Some(0)),
            (&["b", "b"], &["b", "b"],           true,  &["b", "x"],           Some(1)),
            (&["b", "c"], &["a", "b", "s", "c"], true,  &["a", "b", "x"],      Some(1)),
            (&["b", "c"], &["b", "s", "c"],      true,  &["b", "x"],           Some(1)),
            (&["b"],      &["a", "b"],           true,  &["a", "b", "x"],      None),
        ];
        for (begun, users, is_edited, said, place) in rows {
            let again = RegenerateRequest { said: texts(said), is_edited };
            assert_eq!(again.place(&texts(begun), &texts(users)), place, "{users:?} {said:?}");
        }
    }
}
