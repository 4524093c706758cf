//! Reasoning that a model wrote into its text: stored as thinking, and sent as the model wrote it.

use crate::config::KeepThinking;
use forgeline_parser::{Dialect, ThinkingDialect};
use forgeline_types::{ItemKind, Message, Part};

/// The reasoning that is sent back as text, and its markers.
#[derive(Debug)]
pub(crate) struct WrittenThinking {
    /// The dialect; `None` if no reasoning is sent back.
    dialect: Option<ThinkingDialect>,
    /// `true` if the reasoning is removed: the provider would send it as a member of the message.
    is_removed: bool,
    policy: KeepThinking,
}

impl WrittenThinking {
    /// Returns the part of the reasoning, read in a dialect by the provider, that `policy` sends back.
    pub(crate) fn new(
        read: Option<ThinkingDialect>,
        models: &Dialect,
        policy: KeepThinking,
    ) -> Self {
        let dialect = read.map(|read| own(read, &models.thinking));
        let is_never = policy == KeepThinking::Never;
        let is_removed = is_never && dialect.as_ref().is_some_and(|it| it.write("").is_none());
        Self { dialect: dialect.filter(|_| !is_never), is_removed, policy }
    }

    /// Returns `true` if the reasoning of some answers is sent back in another form, or removed.
    pub(crate) fn is_changed(&self) -> bool {
        self.dialect.is_some() || self.is_removed
    }

    /// Returns `true` for an answer whose reasoning is sent back, or removed.
    pub(crate) fn changes(&self, message: &Message, has_calls: impl FnOnce() -> bool) -> bool {
        // Reasoning that the provider keeps as an item is sent back with that item.
        let is_item = |part: &Part| {
            part.as_provider_item().is_some_and(|item| item.kind == ItemKind::Reasoning)
        };
        self.is_changed()
            && message.parts.iter().any(|part| written(part).is_some() || framing(part).is_some())
            && !message.parts.iter().any(is_item)
            && (self.is_removed || self.policy == KeepThinking::Always || has_calls())
    }

    /// Returns an answer with its reasoning as the model wrote it, or without it.
    pub(crate) fn write(&self, message: &Message) -> Message {
        if self.is_removed {
            let mut parts = without_framing(&message.parts);
            parts.retain(|part| written(part).is_none());
            return Message::new(message.role, parts);
        }
        Message::new(message.role, self.write_parts(&message.parts))
    }

    fn write_parts(&self, parts: &[Part]) -> Vec<Part> {
        let mut out = Vec::with_capacity(parts.len());
        let is_framing = |at: usize| parts.get(at).and_then(framing).is_some();
        for (at, part) in parts.iter().enumerate() {
            // Framing beside the reasoning has its markers.
            let is_framed = is_framing(at + 1) || at.checked_sub(1).is_some_and(is_framing);
            match (written(part), part) {
                (None, Part::Text { text, .. } | Part::Framing { text, .. }) => {
                    push_text(&mut out, text);
                }
                (Some(text), _) if is_framed => push_text(&mut out, text),
                (Some(text), part) => match self.dialect.as_ref().and_then(|it| it.write(text)) {
                    Some(text) => push_text(&mut out, &text),
                    None => out.push(part.clone()),
                },
                (None, part) => out.push(part.clone()),
            }
        }
        out
    }

    /// Removes framing that is not needed: none is sent, or the reasoning would be written in the same way
    /// without it.
    pub(crate) fn settle(&self, parts: &mut Vec<Part>) {
        if !parts.iter().any(|part| framing(part).is_some()) {
            return;
        }
        // Harmony's is not: its template refuses an answer whose text has headers of channels.
        let is_writable = self.dialect.as_ref().is_some_and(|it| it.write("").is_some());
        let without = with_late_closers(parts, |out, closer| {
            out.push(Part::framing(closer.to_owned()));
        });
        if !is_writable || self.write_parts(parts) == self.write_parts(&without) {
            *parts = without;
        }
    }
}

/// Returns the parts without what the model wrote around reasoning. A marker between two texts that were both sent as the answer is
/// written between them: the closer of reasoning whose opener stood in the prompt, as models read it in their own answers. Without it the
/// reasoning would run into the answer.
pub(crate) fn without_framing(parts: &[Part]) -> Vec<Part> {
    with_late_closers(parts, push_text)
}

/// Returns the parts without framing, apart from what is between two texts, which is passed to `keep`.
fn with_late_closers(parts: &[Part], keep: impl Fn(&mut Vec<Part>, &str)) -> Vec<Part> {
    let is_text = |at: usize| matches!(parts.get(at), Some(Part::Text { .. }));
    let mut out = Vec::with_capacity(parts.len());
    for (at, part) in parts.iter().enumerate() {
        let is_late = || at.checked_sub(1).is_some_and(is_text) && is_text(at + 1);
        match (framing(part), part) {
            (Some(closer), _) if is_late() => keep(&mut out, closer),
            (Some(_), _) => {}
            (None, Part::Text { text, .. }) => push_text(&mut out, text),
            (None, part) => out.push(part.clone()),
        }
    }
    out
}

/// Returns what the model wrote around reasoning.
pub(crate) fn framing(part: &Part) -> Option<&str> {
    if let Part::Framing { text, .. } = part { Some(text) } else { None }
}

/// Returns the text of reasoning that was written into the answer's text.
fn written(part: &Part) -> Option<&str> {
    let Part::Thinking { text, signature: None, .. } = part else { return None };
    Some(text.as_str()).filter(|text| !text.is_empty())
}

/// Appends text to the end of the parts.
pub(crate) fn push_text(parts: &mut Vec<Part>, more: &str) {
    match parts.last_mut() {
        Some(Part::Text { text, .. }) => text.push_str(more),
        _ => parts.push(Part::text(more.to_owned())),
    }
}

/// Returns the dialect in which the model writes, if any was read: by its name, otherwise the most common one.
fn own(read: ThinkingDialect, models: &ThinkingDialect) -> ThinkingDialect {
    if read != ThinkingDialect::AUTO {
        return read;
    }
    let is_own = *models != ThinkingDialect::AUTO && !models.is_none();
    if is_own { models.clone() } else { ThinkingDialect::THINK }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forgeline_types::{Json, MessageRole, ProviderItem, Signature};

    fn thinking(text: &str, signature: Option<Signature>) -> Part {
        Part::thinking(text, signature)
    }

    #[test]
    fn thinking_with_a_field_of_its_own_is_not_written_as_text() {
        let always = WrittenThinking::new(
            Some(ThinkingDialect::THINK),
            &Dialect::default(),
            KeepThinking::Always,
        );
        let item = ProviderItem::new("openai", ItemKind::Reasoning, Json::parse("{}").unwrap());
        let signed = || thinking("Hm.", Some(Signature::new("openai", "reasoning_content")));
        #[rustfmt::skip]
        let cases = [
            ("tags",     vec![thinking("Hm.", None)],                           true),
            ("signed",   vec![signed()],                                        false),
            ("an item",  vec![thinking("Hm.", None), Part::ProviderItem(item)], false),
            ("no words", vec![thinking("", None)],                              false),
        ];
        for (name, parts, want) in cases {
            let message = Message::new(MessageRole::Assistant, parts);
            assert_eq!(always.changes(&message, || false), want, "{name}");
        }
        let text = |text: &str| Part::text(text);
        let parts = vec![signed(), thinking("So.", None), text("Yes."), thinking("Hm.", None)];
        let written = always.write(&Message::new(MessageRole::Assistant, parts));
        let want = "<think>\nSo.\n</think>\n\nYes.<think>\nHm.\n</think>\n\n";
        assert_eq!((written.parts[0].clone(), written.text().as_str()), (signed(), want));
        assert_eq!(written.parts.len(), 2);
    }
}
