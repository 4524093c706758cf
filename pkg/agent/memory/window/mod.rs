//! The part of a conversation that is sent when the whole is larger than the model may read.

mod refused;
#[cfg(test)]
mod tests;

pub(crate) use self::refused::{has_media, has_proofs, media_bytes};

use std::sync::Arc;

use crate::{
    prompts::feedback,
    state::{SummaryRange, WindowCut, WindowState},
};
use forgeline_llm::{Request, TokenEstimator};
use forgeline_types::{Message, MessageRole, Part, Transcript};

/// The part of a conversation that is sent: a summary, the last messages, and the user's last message.
///
/// Each request begins with the previous one, until messages are left out or summarized. Then as much is removed as is needed to free half
/// of the room. The marks define what is sent; everything else here is derived again from the messages.
#[derive(Debug, Default)]
pub(crate) struct ContextWindow {
    /// The estimator, whose estimates are unscaled; limits are converted to its scale.
    estimator: TokenEstimator,
    seen: Vec<SeenMessage>,
    /// `true` when results are sent as text.
    is_text: bool,
    marks: WindowState,
    /// The index of the user's last message.
    user: Option<usize>,
    /// The index of the last answer.
    answer: Option<usize>,
    /// The estimate for the request without its messages.
    around: u64,
    /// The first message sent, with the summary before it.
    opening: Option<SentSummary>,
}

/// A message of the conversation.
#[derive(Debug)]
struct SeenMessage {
    /// The message as sent.
    sent: Arc<Message>,
    kept: Arc<Message>,
    tokens: u64,
    /// `true` once the part that a provider refused is left out.
    is_reduced: bool,
}

/// The summary as sent.
#[derive(Debug)]
struct SentSummary {
    summary: Arc<str>,
    /// The first message after the summary.
    first: Option<Arc<Message>>,
    /// The message that contains the summary, and the first message too if that is the user's.
    sent: Arc<Message>,
    /// The tokens of the summary alone.
    tokens: u64,
}

/// A function that writes the results of a message as the text in which they are sent.
pub(crate) type WriteResults<'w> = &'w dyn Fn(&Message) -> Message;

/// The maximum that is sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WindowBounds {
    pub(crate) tokens: u64,
    /// The percentage of `tokens` beyond which the beginning is summarized, where that is allowed now.
    pub(crate) share: Option<u8>,
}

/// The share beyond which everything before the user's last message is summarized: any size is.
pub(crate) const EVERYTHING: u8 = 0;

/// Returns the room in which a conversation of this size is summarized where that of the model is not known: it had
/// room for the conversation and an answer.
pub(crate) fn room_to_compact(tokens: u64) -> u64 {
    tokens.saturating_mul(2)
}

/// The next step after a look at the conversation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WindowStep {
    /// The request is sent as it is.
    Fits,
    /// Other messages are sent from now on.
    Fitted(Box<WindowCut>),
    /// The beginning must be summarized first.
    Outgrown(SummaryRange),
}

impl ContextWindow {
    /// Creates the window of an empty conversation.
    pub(crate) fn new(estimator: TokenEstimator) -> Self {
        Self { estimator, ..Self::default() }
    }

    /// Returns what the next run needs to know about the part that is sent.
    pub(crate) fn marks(&self) -> &WindowState {
        &self.marks
    }

    /// Stores a run's marks of the part that is sent.
    pub(crate) fn keep(&mut self, marks: &WindowState) {
        if self.marks != *marks {
            self.marks = marks.clone();
        }
    }

    /// Forgets the conversation, but keeps the scale of its estimates.
    pub(crate) fn clear(&mut self) {
        let (estimator, marks) = (self.estimator.clone(), self.marks.anew());
        *self = Self { estimator, marks, ..Self::default() };
    }

    /// Adds the new messages of the conversation, and leaves out others so that, where possible, everything
    /// sent together with `around`, a request without messages, fits. With `write`, results are sent as text.
    pub(crate) fn look(
        &mut self,
        messages: &[Arc<Message>],
        around: &Request,
        bounds: WindowBounds,
        write: Option<WriteResults<'_>>,
    ) -> WindowStep {
        let before = self.marks.clone();
        if !self.goes_on(messages) {
            self.clear();
        }
        if self.is_text != write.is_some() {
            self.is_text = write.is_some();
            self.count_again(write);
        }
        for message in messages.iter().skip(self.seen.len()) {
            let (sent, tokens) = (Arc::clone(message), self.tokens_as_sent(message, write));
            match message.role {
                MessageRole::User => self.user = Some(self.seen.len()),
                MessageRole::Assistant => self.answer = Some(self.seen.len()),
                MessageRole::System | MessageRole::Tool => {}
                _ => {}
            }
            let kept = Arc::clone(&sent);
            self.seen.push(SeenMessage { kept, sent, tokens, is_reduced: false });
        }
        if !self.is_sound() {
            self.marks = self.marks.anew();
        }
        self.leave_out_refused(write);
        self.shorten_results(write);
        self.open();
        self.around = self.estimator.request(around);
        let forced = self.marks.forced;
        let most = forced.map_or(bounds.tokens, |forced| forced.min(bounds.tokens));
        let most = self.marks.out_of_scale(most);
        if let Some(outgrown) = bounds.share.and_then(|share| self.outgrown(most, share)) {
            return WindowStep::Outgrown(outgrown);
        }
        self.marks.forced = None;
        let fitted = self.make_room(most, forced.is_some(), write);
        if self.marks == before { WindowStep::Fits } else { WindowStep::Fitted(Box::new(fitted)) }
    }

    /// Returns the messages that are sent.
    pub(crate) fn sent(&self) -> Transcript {
        let opening = self.opening.as_ref().map(|opening| Arc::clone(&opening.sent));
        let is_in_opening =
            |seen: &SeenMessage| opening.is_some() && seen.kept.role == MessageRole::User;
        let first = self.first_sent().filter(|seen| !is_in_opening(seen));
        let first = first.map(|seen| Arc::clone(&seen.sent));
        let behind = self.marks.first + usize::from(self.marks.pinned.is_none());
        let rest = self.seen.iter().skip(behind).map(|seen| Arc::clone(&seen.sent));
        Transcript::shared(opening.into_iter().chain(first).chain(rest).collect())
    }

    /// Returns the unscaled estimate for the request.
    pub(crate) fn estimated(&self) -> u64 {
        self.around + self.tokens()
    }

    /// Returns the estimate for a request with everything that is sent of these messages, in the scale of the last report.
    pub(crate) fn estimated_now(&self, messages: &[Arc<Message>]) -> u64 {
        let new = messages.iter().skip(self.seen.len());
        let new: u64 = new.map(|message| self.estimator.message(message)).sum();
        self.marks.in_scale(self.estimated() + new)
    }

    /// Returns the estimate for the request once the beginning is summarized as `text`.
    pub(crate) fn estimated_with(&self, outgrown: SummaryRange, text: &str) -> u64 {
        let rest = self.tokens_from(outgrown.first) + self.tokens_of(outgrown.pinned);
        let summary = self.estimator.text(&feedback::summary(text));
        self.marks.in_scale(self.around + rest + summary)
    }

    /// Returns the tokens of a message as sent.
    fn tokens_as_sent(&self, message: &Message, write: Option<WriteResults<'_>>) -> u64 {
        match write.filter(|_| message.role == MessageRole::Tool) {
            Some(write) => self.estimator.message(&write(message)),
            None => self.estimator.message(message),
        }
    }

    /// Counts the sent messages again, after the form in which results are sent has changed.
    fn count_again(&mut self, write: Option<WriteResults<'_>>) {
        let tokens: Vec<_> =
            self.seen.iter().map(|seen| self.tokens_as_sent(&seen.sent, write)).collect();
        self.seen.iter_mut().zip(tokens).for_each(|(seen, tokens)| seen.tokens = tokens);
    }

    /// Returns `true` when `messages` begins with the messages seen before.
    fn goes_on(&self, messages: &[Arc<Message>]) -> bool {
        let Some(last) = self.seen.len().checked_sub(1) else { return true };
        let is_same = |at: usize| {
            let pair = self.seen.get(at).zip(messages.get(at));
            pair.is_some_and(|(seen, message)| Arc::ptr_eq(&seen.kept, message))
        };
        is_same(0) && is_same(last)
    }

    /// Returns `true` when the marks belong to this conversation: they separate no call from its result.
    fn is_sound(&self) -> bool {
        let role = |at: usize| self.seen.get(at).map(|seen| seen.kept.role);
        let WindowState { first, pinned, results, .. } = self.marks;
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

    fn first_sent(&self) -> Option<&SeenMessage> {
        self.seen.get(self.marks.pinned.unwrap_or(self.marks.first))
    }

    /// Puts the summary before the first message; where that is the user's, as a separate part of the same message.
    fn open(&mut self) {
        let Some(summary) = &self.marks.summary else {
            self.opening = None;
            return;
        };
        let first = self.first_sent().map(|seen| Arc::clone(&seen.sent));
        // A provider recognizes a message by its address.
        let is_same = |opening: &SentSummary| {
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
        self.opening = Some(SentSummary { summary, first, sent, tokens });
    }

    /// Returns the number of messages sent.
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

    /// Returns the tokens of the messages sent.
    fn tokens(&self) -> u64 {
        let summary = self.opening.as_ref().map_or(0, |opening| opening.tokens);
        summary + self.tokens_of(self.marks.pinned) + self.tokens_from(self.marks.first)
    }

    /// Returns what must be summarized when the request exceeds the share.
    fn outgrown(&self, most: u64, share: u8) -> Option<SummaryRange> {
        let tokens = self.estimated();
        let most = if share == EVERYTHING { most.min(room_to_compact(tokens)) } else { most };
        let threshold = most / 100 * u64::from(share);
        if tokens <= threshold || (self.marks.has_failed && share != EVERYTHING) {
            let WindowState { first, pinned, .. } = self.marks;
            let tokens = self.marks.in_scale(tokens);
            return self.marks.is_to_catch_up().then_some(SummaryRange { first, pinned, tokens });
        }
        let room = super::summary_tokens(most) + self.estimator.text(&feedback::summary(""));
        let aim = (threshold.saturating_sub(self.around) / 2).saturating_sub(room);
        let (first, pinned) = self.cut(aim);
        let rest = self.tokens_from(first) + self.tokens_of(pinned);
        // A summary as long as the messages that it replaces would be useless.
        let is_shorter = self.around + rest + room < tokens;
        let tokens = self.marks.in_scale(tokens);
        (first > self.marks.first && is_shorter).then_some(SummaryRange { first, pinned, tokens })
    }

    fn make_room(
        &mut self,
        most: u64,
        is_forced: bool,
        write: Option<WriteResults<'_>>,
    ) -> WindowCut {
        let (before, sent, around) = (self.estimated(), self.count(), self.around);
        let mut results = 0;
        if before > most {
            let aim = most.saturating_sub(around) / 2;
            results = self.leave_out_results(aim, write);
            if self.tokens() > aim {
                let summary = self.opening.as_ref().map_or(0, |opening| opening.tokens);
                let (first, pinned) = self.cut(aim.saturating_sub(summary));
                (self.marks.first, self.marks.pinned) = (first, pinned);
            }
            if is_forced && self.estimated() > most {
                results += self.leave_out_unread(write);
            }
            self.marks.has_failed = false;
            self.open();
        }
        let (tokens, marks) = (self.marks.in_scale(self.estimated()), self.marks.clone());
        let (messages, tokens_before) = (sent.saturating_sub(self.count()), marks.in_scale(before));
        WindowCut { marks, messages, results, tokens, tokens_before, is_forced }
    }

    /// Leaves out results that the model has read; returns their number.
    fn leave_out_results(&mut self, aim: u64, write: Option<WriteResults<'_>>) -> usize {
        let (read, mut count) = (self.answer.unwrap_or(0), 0);
        let mut tokens = self.tokens();
        self.marks.results = self.marks.results.max(self.marks.first);
        while tokens > aim && self.marks.results < read {
            if let Some(saved) = self.shorten(self.marks.results, write) {
                tokens -= saved;
                let seen = self.seen.get(self.marks.results);
                count += seen.map_or(0, |seen| seen.kept.tool_results().count());
            }
            self.marks.results += 1;
        }
        count
    }

    /// Leaves out the results of sent messages that the marks list.
    fn shorten_results(&mut self, write: Option<WriteResults<'_>>) {
        for at in self.marks.first..self.marks.results.min(self.seen.len()) {
            self.shorten(at, write);
        }
        for at in self.marks.unread.clone() {
            self.shorten(at, write);
        }
    }

    /// Replaces the results of a message with notes; returns the number of tokens saved.
    fn shorten(&mut self, at: usize, write: Option<WriteResults<'_>>) -> Option<u64> {
        let is_unread = self.marks.unread.contains(&at);
        let note = if is_unread { feedback::TOO_LONG } else { feedback::LEFT_OUT };
        let short = without_results(&self.seen.get(at)?.kept, note)?;
        let tokens = self.tokens_as_sent(&short, write);
        let seen = self.seen.get_mut(at)?;
        let saved = seen.tokens.checked_sub(tokens).filter(|saved| *saved > 0)?;
        (seen.sent, seen.tokens) = (Arc::new(short), tokens);
        Some(saved)
    }

    /// Returns the index of the first message to send, and that of the user message before it, so that the messages
    /// take at most `aim` tokens: turns are kept whole and, within the last one, answers with their results.
    fn cut(&self, aim: u64) -> (usize, Option<usize>) {
        let (user, answer) = (self.user.unwrap_or(0), self.answer.unwrap_or(0));
        let WindowState { mut first, mut pinned, .. } = self.marks;
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
fn without_results(message: &Message, note: &str) -> Option<Message> {
    message.tool_results().next()?;
    let mut short = message.clone();
    for part in &mut short.parts {
        if let Part::ToolResult(result) = part {
            note.clone_into(&mut result.content);
            result.parts.clear();
        }
    }
    Some(short)
}
