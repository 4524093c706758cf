//! The choice of the message whose answer a chat regenerates.

/// The user messages of a chat, oldest first; the last one is answered again.
#[derive(Debug)]
pub(crate) struct RegenerateRequest {
    pub(crate) said: Vec<String>,
    /// `true` if the message was edited.
    pub(crate) is_edited: bool,
}

impl RegenerateRequest {
    /// Returns the index of that message among those that started runs; `None` if it started none, or was already taken back.
    pub(crate) fn place(&self, begun: &[String]) -> Option<usize> {
        let (last, before) = self.said.split_last()?;
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
            assert_eq!(again.place(&texts(begun)), *place, "{begun:?} {said:?}");
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
            assert_eq!(again.place(&texts(begun)), *place, "{begun:?} {said:?}");
        }
    }
}
