//! The part of a conversation that is sent, where the whole is larger than the model may read.

use std::sync::Arc;

use crate::{
    agent::feedback,
    llm::{Request, TokenEstimator},
    types::{Message, MessageRole, Part, Transcript},
};

/// The part of a conversation that is sent: the last messages, and the last one of the user.
///
/// It depends on the messages alone, in their order: what was sent before is the beginning of what is sent next,
/// until something is left out. Then so much is that half of the room is free.
#[derive(Debug, Default)]
pub(in crate::agent) struct Window {
    estimator: TokenEstimator,
    seen: Vec<Seen>,
    /// The place of the first message that is sent, besides the last of the user.
    first: usize,
    /// The results before this place are left out.
    left_out: usize,
    /// The place of the user's message that is sent before those, where its turn is not sent whole.
    pinned: Option<usize>,
    /// The place of the last message of the user.
    user: Option<usize>,
    /// The place of the last answer.
    answer: Option<usize>,
}

/// A message of the conversation.
#[derive(Debug)]
struct Seen {
    /// The message as it is sent.
    sent: Arc<Message>,
    kept: Arc<Message>,
    tokens: u64,
}

/// The part of a conversation that is left out of a request for the first time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::agent) struct LeftOut {
    pub(in crate::agent) messages: usize,
    pub(in crate::agent) results: usize,
    /// The estimate for the request, and what it was before.
    pub(in crate::agent) tokens: u64,
    pub(in crate::agent) tokens_before: u64,
}

impl Window {
    /// Takes the messages of the conversation that are new, and leaves out others so that all that is sent with
    /// `around`, a request without messages, is at most `most` tokens, where that is possible.
    pub(in crate::agent) fn take(
        &mut self,
        messages: &[Arc<Message>],
        around: &Request,
        most: u64,
    ) -> Option<LeftOut> {
        let last = self.seen.len().checked_sub(1);
        let goes_on = last.is_none_or(|last| {
            let is_same = |at: usize| {
                let pair = self.seen.get(at).zip(messages.get(at));
                pair.is_some_and(|(seen, message)| Arc::ptr_eq(&seen.kept, message))
            };
            is_same(0) && is_same(last)
        });
        if !goes_on {
            *self = Self::default();
        }
        let around = self.estimator.request(around);
        let mut left_out = LeftOut::default();
        for message in messages.iter().skip(self.seen.len()) {
            let (sent, tokens) = (Arc::clone(message), self.estimator.message(message));
            match message.role {
                MessageRole::User => self.user = Some(self.seen.len()),
                MessageRole::Assistant => self.answer = Some(self.seen.len()),
                MessageRole::System | MessageRole::Tool => {}
            }
            self.seen.push(Seen { kept: Arc::clone(&sent), sent, tokens });
            self.make_room(around, most, &mut left_out);
        }
        (left_out.messages + left_out.results > 0).then_some(left_out)
    }

    /// Returns the messages that are sent.
    pub(in crate::agent) fn sent(&self) -> Transcript {
        let pinned = self.pinned.and_then(|at| self.seen.get(at));
        let rest = self.seen.iter().skip(self.first);
        let messages = pinned.into_iter().chain(rest).map(|seen| Arc::clone(&seen.sent));
        Transcript::shared(messages.collect())
    }

    fn tokens_of(&self, at: Option<usize>) -> u64 {
        at.and_then(|at| self.seen.get(at)).map_or(0, |seen| seen.tokens)
    }

    fn tokens(&self) -> u64 {
        let rest = self.seen.iter().skip(self.first).map(|seen| seen.tokens);
        self.tokens_of(self.pinned) + rest.sum::<u64>()
    }

    fn make_room(&mut self, around: u64, most: u64, left_out: &mut LeftOut) {
        let before = around + self.tokens();
        if before <= most {
            return;
        }
        let aim = around + most.saturating_sub(around) / 2;
        self.leave_out_results(aim.saturating_sub(around), &mut left_out.results);
        self.leave_out_messages(aim.saturating_sub(around), &mut left_out.messages);
        left_out.tokens_before = left_out.tokens_before.max(before);
        left_out.tokens = around + self.tokens();
    }

    /// Leaves out results that the model has read.
    fn leave_out_results(&mut self, aim: u64, count: &mut usize) {
        let read = self.answer.unwrap_or(0);
        let mut tokens = self.tokens();
        self.left_out = self.left_out.max(self.first);
        while tokens > aim && self.left_out < read {
            if let Some(seen) = self.seen.get_mut(self.left_out)
                && let Some(short) = without_results(&seen.kept)
            {
                let short_tokens = self.estimator.message(&short);
                if short_tokens < seen.tokens {
                    tokens -= seen.tokens - short_tokens;
                    (seen.sent, seen.tokens) = (Arc::new(short), short_tokens);
                    *count += 1;
                }
            }
            self.left_out += 1;
        }
    }

    /// Leaves out the first messages: whole turns, and of the last one whole answers with their results.
    fn leave_out_messages(&mut self, aim: u64, count: &mut usize) {
        if self.tokens() <= aim {
            return;
        }
        let (user, answer) = (self.user.unwrap_or(0), self.answer.unwrap_or(0));
        let mut rest = self.tokens() - self.tokens_of(self.pinned);
        let (mut first, mut pinned) = (self.first, self.pinned);
        for at in self.first + 1..=user.max(answer) {
            rest -= self.tokens_of(Some(at - 1));
            let role = self.seen.get(at).map(|seen| seen.kept.role);
            let pin = match role {
                Some(MessageRole::User) => None,
                Some(MessageRole::Assistant) if at > user => Some(user),
                _ => continue,
            };
            (first, pinned) = (at, pin);
            if rest + self.tokens_of(pin) <= aim {
                break;
            }
        }
        *count += first - self.first;
        (self.first, self.pinned) = (first, pinned);
    }
}

/// Returns the message with notes in place of its results; `None` where it has none.
fn without_results(message: &Message) -> Option<Message> {
    message.tool_results().next()?;
    let mut short = message.clone();
    for part in &mut short.parts {
        if let Part::ToolResult(result) = part {
            feedback::LEFT_OUT.clone_into(&mut result.content);
            result.parts.clear();
        }
    }
    Some(short)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::types::{ToolCall, ToolResult};

    /// A conversation: turns of a text of the user, answers with so many calls and results of so many bytes, and a
    /// last answer.
    fn conversation(turns: &[Vec<(usize, usize)>]) -> Vec<Arc<Message>> {
        let mut messages = Vec::new();
        for (turn, answers) in turns.iter().enumerate() {
            messages.push(Message::user(format!("Question {turn}.")));
            for (calls, bytes) in answers {
                let id = |at: usize| format!("{}-{at}", messages.len());
                let call =
                    |at| Part::ToolCall(ToolCall::new(id(at), "look", serde_json::json!({})));
                let content = "word ".repeat(bytes / 5);
                let result =
                    |at| Part::ToolResult(ToolResult::new(id(at), "look", content.clone()));
                let (made, results) =
                    ((0..*calls).map(call).collect(), (0..*calls).map(result).collect());
                messages.push(Message::new(MessageRole::Assistant, made));
                messages.push(Message::new(MessageRole::Tool, results));
            }
            messages.push(Message::assistant(format!("Answer {turn}.")));
        }
        messages.into_iter().map(Arc::new).collect()
    }

    fn assert_whole(sent: &Transcript) {
        let mut open = Vec::new();
        for message in sent {
            let results: Vec<_> = message.tool_results().map(|it| it.call_id.clone()).collect();
            assert_eq!(results, open, "no call is parted from its result");
            open = message.tool_calls().map(|it| it.id.clone()).collect();
        }
        assert_eq!(sent.messages().first().map(|it| it.role), Some(MessageRole::User));
    }

    fn around() -> Request {
        Request { system: Some("Be brief. ".repeat(20).into()), ..Request::default() }
    }

    const MOST: u64 = 1_000;

    proptest! {
        // Covers: G-47, T-68
        #[test]
        fn what_is_sent_fits_and_is_whole_and_its_beginning_stays(
            turns in prop::collection::vec(prop::collection::vec((1_usize..4, 0_usize..900), 0..6), 1..30),
        ) {
            let (messages, around) = (conversation(&turns), around());
            let (mut window, mut before) = (Window::default(), Transcript::default());
            let estimator = TokenEstimator::new();
            for end in 1..=messages.len() {
                if messages[end - 1].role == MessageRole::Assistant {
                    continue;
                }
                let left_out = window.take(&messages[..end], &around, MOST);
                let sent = window.sent();
                assert_whole(&sent);
                let user = messages[..end].iter().rfind(|it| it.role == MessageRole::User).unwrap();
                prop_assert!(sent.iter().any(|it| Arc::ptr_eq(it, user)), "the user's last message");
                prop_assert!(Arc::ptr_eq(sent.last().unwrap(), &messages[end - 1]), "the last results");
                let mut request = around.clone();
                request.messages = sent.clone();
                // The last results are sent, whatever they are.
                let must = request.messages.len() <= 3;
                prop_assert!(must || estimator.request(&request) <= MOST + 8, "{}", estimator.request(&request));
                if left_out.is_none() {
                    let is_same = before.iter().zip(&sent).all(|(one, other)| Arc::ptr_eq(one, other));
                    prop_assert!(is_same && before.len() <= sent.len(), "the beginning stays");
                }
                before = sent;
                // A run that goes on in another process sends the same.
                let mut other = Window::default();
                other.take(&messages[..end], &around, MOST);
                let texts = |sent: &Transcript| format!("{sent:?}");
                prop_assert_eq!(texts(&other.sent()), texts(&before));
            }
        }
    }
}
