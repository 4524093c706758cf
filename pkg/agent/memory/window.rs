//! The part of a conversation that is sent, where the whole is larger than the model may read.

use std::sync::Arc;

use crate::{
    agent::{
        feedback,
        state::{Fitted, Marks, Outgrown},
    },
    llm::{Request, TokenEstimator},
    types::{Message, MessageRole, Part, Transcript},
};

/// The part of a conversation that is sent: a summary, the last messages, and the last one of the user.
///
/// What was sent before is the beginning of what is sent next, until something is left out or summed up. Then so much
/// is that half of the room is free. The marks say what is sent; all else here is found out again from the messages.
#[derive(Debug, Default)]
pub(in crate::agent) struct Window {
    /// Its estimates are in no scale; the limits are put into theirs.
    estimator: TokenEstimator,
    seen: Vec<Seen>,
    marks: Marks,
    /// The place of the last message of the user.
    user: Option<usize>,
    /// The place of the last answer.
    answer: Option<usize>,
    /// The estimate for the request without messages.
    around: u64,
    /// The first message that is sent, with the summary before it.
    opening: Option<Opening>,
}

/// A message of the conversation.
#[derive(Debug)]
struct Seen {
    /// The message as it is sent.
    sent: Arc<Message>,
    kept: Arc<Message>,
    tokens: u64,
}

/// The summary, as it is sent.
#[derive(Debug)]
struct Opening {
    summary: Arc<str>,
    /// The first message behind it.
    first: Option<Arc<Message>>,
    /// The message with the summary, and that first one where it is the user's.
    sent: Arc<Message>,
    /// The tokens of the summary alone.
    tokens: u64,
}

/// The most that is sent.
#[derive(Debug, Clone, Copy)]
pub(in crate::agent) struct Bounds {
    pub(in crate::agent) tokens: u64,
    /// The part of it, in percent, beyond which the beginning is summed up, where it may be now.
    pub(in crate::agent) share: Option<u8>,
}

/// The way on from a look at the conversation.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::agent) enum Look {
    /// The request is sent as it is.
    Fits,
    /// Other messages are sent from now on.
    Fitted(Box<Fitted>),
    /// The beginning is to be summed up first.
    Outgrown(Outgrown),
}

impl Window {
    /// Creates a window of an empty conversation.
    pub(in crate::agent) fn of(estimator: TokenEstimator) -> Self {
        Self { estimator, ..Self::default() }
    }

    /// Returns what the next run has to know of the part that is sent.
    pub(in crate::agent) fn marks(&self) -> &Marks {
        &self.marks
    }

    /// Keeps what a run knows of the part that is sent.
    pub(in crate::agent) fn keep(&mut self, marks: &Marks) {
        if self.marks != *marks {
            self.marks = marks.clone();
            self.shorten_results();
        }
    }

    /// Forgets the conversation, and keeps the scale of its estimates.
    pub(in crate::agent) fn clear(&mut self) {
        let (estimator, marks) = (self.estimator.clone(), Marks::scaled(self.marks.scale));
        *self = Self { estimator, marks, ..Self::default() };
    }

    /// Takes the messages of the conversation that are new, and leaves out others so that all that is sent with
    /// `around`, a request without messages, fits, where that is possible.
    pub(in crate::agent) fn look(
        &mut self,
        messages: &[Arc<Message>],
        around: &Request,
        bounds: Bounds,
    ) -> Look {
        let before = self.marks.clone();
        if !self.goes_on(messages) {
            self.clear();
        }
        for message in messages.iter().skip(self.seen.len()) {
            let (sent, tokens) = (Arc::clone(message), self.estimator.message(message));
            match message.role {
                MessageRole::User => self.user = Some(self.seen.len()),
                MessageRole::Assistant => self.answer = Some(self.seen.len()),
                MessageRole::System | MessageRole::Tool => {}
            }
            self.seen.push(Seen { kept: Arc::clone(&sent), sent, tokens });
        }
        if !self.is_sound() {
            self.marks = Marks::scaled(self.marks.scale);
        }
        self.shorten_results();
        self.open();
        self.around = self.estimator.request(around);
        let most = self.marks.out_of_scale(bounds.tokens);
        if let Some(outgrown) = bounds.share.and_then(|share| self.outgrown(most, share)) {
            return Look::Outgrown(outgrown);
        }
        let fitted = self.make_room(most);
        if self.marks == before { Look::Fits } else { Look::Fitted(Box::new(fitted)) }
    }

    /// Returns the messages that are sent.
    pub(in crate::agent) fn sent(&self) -> Transcript {
        let opening = self.opening.as_ref().map(|opening| Arc::clone(&opening.sent));
        let is_in_opening = |seen: &Seen| opening.is_some() && seen.kept.role == MessageRole::User;
        let first = self.first_sent().filter(|seen| !is_in_opening(seen));
        let first = first.map(|seen| Arc::clone(&seen.sent));
        let behind = self.marks.first + usize::from(self.marks.pinned.is_none());
        let rest = self.seen.iter().skip(behind).map(|seen| Arc::clone(&seen.sent));
        Transcript::shared(opening.into_iter().chain(first).chain(rest).collect())
    }

    /// Returns the estimate for the request, in no scale.
    pub(in crate::agent) fn estimated(&self) -> u64 {
        self.around + self.tokens()
    }

    /// Returns the estimate for the request once the beginning is summed up in `text`.
    pub(in crate::agent) fn estimated_with(&self, outgrown: Outgrown, text: &str) -> u64 {
        let rest = self.tokens_from(outgrown.first) + self.tokens_of(outgrown.pinned);
        let summary = self.estimator.text(&feedback::summary(text));
        self.marks.in_scale(self.around + rest + summary)
    }

    /// Returns `true` when these messages begin with those that were seen.
    fn goes_on(&self, messages: &[Arc<Message>]) -> bool {
        let Some(last) = self.seen.len().checked_sub(1) else { return true };
        let is_same = |at: usize| {
            let pair = self.seen.get(at).zip(messages.get(at));
            pair.is_some_and(|(seen, message)| Arc::ptr_eq(&seen.kept, message))
        };
        is_same(0) && is_same(last)
    }

    /// Returns `true` when the marks are of this conversation: they part no call from its result.
    fn is_sound(&self) -> bool {
        let role = |at: usize| self.seen.get(at).map(|seen| seen.kept.role);
        let Marks { first, pinned, results, .. } = self.marks;
        let is_behind_user = self.user.is_some_and(|user| user < first);
        let is_whole = match (role(first), pinned) {
            (Some(MessageRole::User), None) => true,
            (Some(MessageRole::Assistant), Some(pinned)) => {
                pinned < first && role(pinned) == Some(MessageRole::User)
            }
            _ => first == 0 && pinned.is_none(),
        };
        is_whole && results <= self.seen.len() && (!is_behind_user || pinned == self.user)
    }

    fn first_sent(&self) -> Option<&Seen> {
        self.seen.get(self.marks.pinned.unwrap_or(self.marks.first))
    }

    /// Puts the summary before the first message, as a part of its own where that is the user's.
    fn open(&mut self) {
        let Some(summary) = &self.marks.summary else {
            self.opening = None;
            return;
        };
        let first = self.first_sent().map(|seen| Arc::clone(&seen.kept));
        // A provider knows a message again by its address.
        let is_same = |opening: &Opening| {
            let own = opening.first.as_ref().map(Arc::as_ptr);
            Arc::ptr_eq(&opening.summary, summary) && own == first.as_ref().map(Arc::as_ptr)
        };
        if self.opening.as_ref().is_some_and(is_same) {
            return;
        }
        let mut sent = Message::user(feedback::summary(summary));
        let tokens = self.estimator.message(&sent);
        let users = first.iter().filter(|first| first.role == MessageRole::User);
        sent.parts.extend(users.flat_map(|first| first.parts.iter().cloned()));
        let (summary, sent) = (Arc::clone(summary), Arc::new(sent));
        self.opening = Some(Opening { summary, first, sent, tokens });
    }

    /// Returns the number of messages that are sent.
    fn count(&self) -> usize {
        let rest = self.seen.len().saturating_sub(self.marks.first);
        rest + usize::from(self.marks.pinned.is_some())
    }

    fn tokens_of(&self, at: Option<usize>) -> u64 {
        at.and_then(|at| self.seen.get(at)).map_or(0, |seen| seen.tokens)
    }

    fn tokens_from(&self, first: usize) -> u64 {
        self.seen.iter().skip(first).map(|seen| seen.tokens).sum()
    }

    /// Returns the tokens of the messages that are sent.
    fn tokens(&self) -> u64 {
        let summary = self.opening.as_ref().map_or(0, |opening| opening.tokens);
        summary + self.tokens_of(self.marks.pinned) + self.tokens_from(self.marks.first)
    }

    /// Returns what is to be summed up, where the request is above the share.
    fn outgrown(&self, most: u64, share: u8) -> Option<Outgrown> {
        let threshold = most / 100 * u64::from(share);
        let tokens = self.estimated();
        if tokens <= threshold || self.marks.has_failed {
            let Marks { first, pinned, .. } = self.marks;
            let tokens = self.marks.in_scale(tokens);
            return self.marks.is_to_catch_up().then_some(Outgrown { first, pinned, tokens });
        }
        let room = super::summary_tokens(most) + self.estimator.text(&feedback::summary(""));
        let aim = (threshold.saturating_sub(self.around) / 2).saturating_sub(room);
        let (first, pinned) = self.cut(aim);
        let rest = self.tokens_from(first) + self.tokens_of(pinned);
        // One that is as long as what it is of would be of no use.
        let is_shorter = self.around + rest + room < tokens;
        let tokens = self.marks.in_scale(tokens);
        (first > self.marks.first && is_shorter).then_some(Outgrown { first, pinned, tokens })
    }

    fn make_room(&mut self, most: u64) -> Fitted {
        let (before, sent, around) = (self.estimated(), self.count(), self.around);
        let mut results = 0;
        if before > most {
            let aim = most.saturating_sub(around) / 2;
            results = self.leave_out_results(aim);
            if self.tokens() > aim {
                let summary = self.opening.as_ref().map_or(0, |opening| opening.tokens);
                let (first, pinned) = self.cut(aim.saturating_sub(summary));
                (self.marks.first, self.marks.pinned) = (first, pinned);
            }
            self.marks.has_failed = false;
            self.open();
        }
        let (tokens, marks) = (self.marks.in_scale(self.estimated()), self.marks.clone());
        let (messages, tokens_before) = (sent.saturating_sub(self.count()), marks.in_scale(before));
        Fitted { marks, messages, results, tokens, tokens_before }
    }

    /// Leaves out results that the model has read; returns their number.
    fn leave_out_results(&mut self, aim: u64) -> usize {
        let (read, mut count) = (self.answer.unwrap_or(0), 0);
        let mut tokens = self.tokens();
        self.marks.results = self.marks.results.max(self.marks.first);
        while tokens > aim && self.marks.results < read {
            if let Some(saved) = self.shorten(self.marks.results) {
                tokens -= saved;
                count += 1;
            }
            self.marks.results += 1;
        }
        count
    }

    /// Leaves out the results that the marks say, of the messages that are sent.
    fn shorten_results(&mut self) {
        for at in self.marks.first..self.marks.results.min(self.seen.len()) {
            self.shorten(at);
        }
    }

    /// Puts notes in place of the results of a message; returns the tokens that this saves.
    fn shorten(&mut self, at: usize) -> Option<u64> {
        let seen = self.seen.get_mut(at)?;
        let short = without_results(&seen.kept)?;
        let tokens = self.estimator.message(&short);
        let saved = seen.tokens.checked_sub(tokens).filter(|saved| *saved > 0)?;
        (seen.sent, seen.tokens) = (Arc::new(short), tokens);
        Some(saved)
    }

    /// Returns the first message that is sent, and the one of the user before it, so that messages take at most
    /// `aim`: whole turns, and of the last one whole answers with their results.
    fn cut(&self, aim: u64) -> (usize, Option<usize>) {
        let (user, answer) = (self.user.unwrap_or(0), self.answer.unwrap_or(0));
        let Marks { mut first, mut pinned, .. } = self.marks;
        let begin = first;
        let mut rest = self.tokens_from(begin);
        if rest + self.tokens_of(pinned) <= aim {
            return (first, pinned);
        }
        for at in begin + 1..=user.max(answer) {
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
        (first, pinned)
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

    /// Turns of a question and an answer without calls.
    fn talk(turns: usize) -> Vec<Arc<Message>> {
        conversation(&vec![Vec::new(); turns])
    }

    const WIDE: Bounds = Bounds { tokens: 100_000, share: None };

    #[test]
    fn half_of_the_room_is_free_once_something_is_left_out() {
        let (messages, around, estimator) = (talk(200), around(), TokenEstimator::new());
        let mut window = Window::default();
        let bounds = Bounds { tokens: MOST, share: None };
        assert!(matches!(window.look(&messages, &around, bounds), Look::Fitted(_)));
        let room = MOST - estimator.request(&around);
        let taken = window.tokens();
        assert!(taken <= room / 2 && taken > room / 4, "{taken} of {room}");
    }

    #[test]
    fn the_message_behind_a_summary_is_sent_once() {
        let (messages, mut window) = (talk(6), Window::default());
        let mut marks = Marks::default();
        (marks.first, marks.summary) = (6, Some("They count.".into()));
        window.keep(&marks);
        assert_eq!(window.look(&messages, &around(), WIDE), Look::Fits);
        let texts: Vec<_> = window.sent().iter().map(|message| message.text()).collect();
        assert!(texts[0].contains("They count.") && texts[0].contains("Question 3."), "{texts:?}");
        let again = texts.iter().filter(|text| text.contains("Question 3.")).count();
        assert_eq!((again, texts.len()), (1, 6), "{texts:?}");
    }

    #[test]
    fn marks_of_another_conversation_do_not_leave_out_the_last_message_of_the_user() {
        let (mut messages, mut window) = (talk(3), Window::default());
        // Behind the last message of the user, with an older one in its place.
        messages.push(Arc::new(Message::assistant("More.")));
        let mut marks = Marks::default();
        (marks.first, marks.pinned) = (5, Some(0));
        window.keep(&marks);
        window.look(&messages, &around(), WIDE);
        assert!(window.sent().iter().any(|message| Arc::ptr_eq(message, &messages[4])));
    }

    #[test]
    fn a_conversation_that_begins_otherwise_is_read_anew() {
        let (mut messages, mut window) = (talk(3), Window::default());
        window.look(&messages, &around(), WIDE);
        messages[0] = Arc::new(Message::user("Another question."));
        window.look(&messages, &around(), WIDE);
        assert!(Arc::ptr_eq(&window.sent().messages()[0], &messages[0]));
    }

    #[test]
    fn a_beginning_that_is_no_longer_than_its_summary_is_not_summed_up() {
        let mut messages = talk(1);
        messages.push(Arc::new(Message::user("word ".repeat(600))));
        let bounds = Bounds { tokens: MOST, share: Some(50) };
        assert_eq!(Window::default().look(&messages, &around(), bounds), Look::Fits);
        // A longer one is.
        let messages: Vec<_> = talk(60).into_iter().chain(messages).collect();
        let looked = Window::default().look(&messages, &around(), bounds);
        assert!(matches!(looked, Look::Outgrown(_)), "{looked:?}");
    }

    proptest! {
        // Covers: G-47, T-68
        #[test]
        fn what_is_sent_fits_and_is_whole_and_its_beginning_stays(
            turns in prop::collection::vec(prop::collection::vec((1_usize..4, 0_usize..900), 0..6), 1..30),
        ) {
            let (messages, around) = (conversation(&turns), around());
            let (mut window, mut before) = (Window::default(), Transcript::default());
            let estimator = TokenEstimator::new();
            let bounds = Bounds { tokens: MOST, share: None };
            for end in 1..=messages.len() {
                if messages[end - 1].role == MessageRole::Assistant {
                    continue;
                }
                let looked = window.look(&messages[..end], &around, bounds);
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
                if looked == Look::Fits {
                    let is_same = before.iter().zip(&sent).all(|(one, other)| Arc::ptr_eq(one, other));
                    prop_assert!(is_same && before.len() <= sent.len(), "the beginning stays");
                }
                before = sent;
                // A run that goes on in another process sends the same.
                let mut other = Window::default();
                other.keep(window.marks());
                prop_assert_eq!(other.look(&messages[..end], &around, bounds), Look::Fits);
                let texts = |sent: &Transcript| format!("{sent:?}");
                prop_assert_eq!(texts(&other.sent()), texts(&before));
            }
        }
    }
}
