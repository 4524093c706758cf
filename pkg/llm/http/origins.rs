//! Origins of signatures and items, which are sent back only to the provider, endpoint and model that they came from.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use super::{HttpConfig, Secret};
use crate::{StreamChunk, transport::UrlAddress};
use forgeline_types::{
    AgentEvent, ItemKind, Message, Origin, Part, ProviderItem, Signature, Text, Transcript,
    private::PartKinds,
};

/// The signatures in Chat Completions that only name the member of plain reasoning, which any server reads.
const MEMBERS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

/// The description of the parts that are left out of a request.
pub(super) const LEFT_OUT: &str = "content signed by another provider, endpoint or model";

/// A message with parts of other origins, and its version for this provider.
type OwnVersion = (Weak<Message>, Arc<Message>);

/// The origin of a provider's answers, and the messages that have parts of other origins.
#[derive(Debug)]
pub(super) struct AnswerOrigins {
    own: Origin,
    /// The messages with parts of other origins, by address, with their versions for this provider. A message
    /// gets the same version in each turn, so that its encoding can be kept.
    known: Mutex<HashMap<usize, OwnVersion>>,
}

impl AnswerOrigins {
    /// Creates the origin of answers for this configuration.
    pub(super) fn new(provider: &str, config: &HttpConfig) -> Self {
        let address = UrlAddress::new(&config.base_url);
        let endpoint = [address.host, address.path.trim_end_matches('/')].concat();
        let own = Origin::new(provider, endpoint, config.model.clone()).account(account(config));
        Self { own, known: Mutex::default() }
    }

    /// Sets the origin of everything in `chunk` that is sent back.
    #[cold]
    pub(super) fn stamp(&self, chunk: &mut StreamChunk) {
        for call in &mut chunk.tool_calls {
            self.sign(call.signature.as_mut());
        }
        let Some(details) = chunk.details.as_deref_mut() else { return };
        self.sign(details.signature.as_mut());
        for event in &mut details.events {
            if let AgentEvent::ProviderItem(item) = event
                && !item.is_unknown_event()
                && !matches!(item.kind, ItemKind::Citation(_))
            {
                item.origin = Some(Box::new(self.own.clone()));
            }
        }
    }

    fn sign(&self, signature: Option<&mut Signature>) {
        if let Some(signature) = signature.filter(|it| !MEMBERS.contains(&it.proof.as_str())) {
            signature.origin = Some(Box::new(self.own.clone()));
        }
    }

    /// Returns the conversation without what is bound to other origins; `None` if nothing is.
    pub(super) fn own(&self, history: &Transcript) -> Option<Transcript> {
        let may_have = history.may_have(PartKinds::SIGNED);
        if !may_have || !history.iter().any(|message| self.has_foreign(message)) {
            return None;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, (original, _)| original.strong_count() > 0);
        let own = history.iter().map(|message| {
            if !self.has_foreign(message) {
                return Arc::clone(message);
            }
            let address = Arc::as_ptr(message).addr();
            let (_, own) = known.entry(address).or_insert_with(|| {
                (Arc::downgrade(message), Arc::new(self.without_foreign(message)))
            });
            Arc::clone(own)
        });
        Some(Transcript::shared(own.collect()))
    }

    fn has_foreign(&self, message: &Message) -> bool {
        message.parts.iter().any(|part| match part {
            Part::Thinking { signature, .. } => self.is_foreign(signature.as_ref()),
            Part::ToolCall(call) => self.is_foreign(call.signature.as_ref()),
            Part::ProviderItem(item) => self.is_foreign_item(item),
            Part::Text { .. }
            | Part::Framing { .. }
            | Part::ToolResult(_)
            | Part::Image { .. }
            | Part::Document { .. } => false,
            _ => false,
        })
    }

    fn without_foreign(&self, message: &Message) -> Message {
        let mut own = message.clone();
        own.parts.retain_mut(|part| {
            match part {
                Part::Thinking { signature: Some(signature), .. }
                    if self.is_foreign(Some(signature)) =>
                {
                    // A signature that no protocol accepts as its own.
                    *signature = Signature::new(Text::new(), Text::new());
                }
                Part::ToolCall(call) if self.is_foreign(call.signature.as_ref()) => {
                    call.signature = None;
                }
                Part::ProviderItem(item) => return !self.is_foreign_item(item),
                Part::Text { .. }
                | Part::Framing { .. }
                | Part::Thinking { .. }
                | Part::ToolCall(_)
                | Part::ToolResult(_)
                | Part::Image { .. }
                | Part::Document { .. } => {}
                _ => {}
            }
            true
        });
        own
    }

    fn is_foreign(&self, signature: Option<&Signature>) -> bool {
        let origin = signature.and_then(|signature| signature.origin.as_deref());
        origin.is_some_and(|origin| !origin.is_beside(&self.own) || origin.model != self.own.model)
    }

    fn is_foreign_item(&self, item: &ProviderItem) -> bool {
        item.origin.as_deref().is_some_and(|origin| {
            !origin.is_beside(&self.own)
                || (item.kind == ItemKind::Reasoning && origin.model != self.own.model)
        })
    }
}

/// Returns the name of the account: the one that the caller set, or four digits that distinguish most keys without
/// revealing anything useful about them.
fn account(config: &HttpConfig) -> Text {
    if !config.account.is_empty() {
        return config.account.clone();
    }
    let address = UrlAddress::new(&config.base_url);
    let key = config.api_key.iter().map(Secret::expose);
    let headers = config.headers.iter().filter(|(name, _)| says_who(name));
    let headers = headers.map(|(_, value)| value.expose());
    let mut words = key.chain(headers).chain([address.user]).chain(address.secret_values());
    let Some(first) = words.find(|word| !word.is_empty()) else { return Text::new() };
    let bytes = [first].into_iter().chain(words).flat_map(|word| word.bytes().chain([0]));
    // FNV-1a, folded from 64 to 16 bits, far too few to identify a key by.
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    let short = (hash >> 48) ^ (hash >> 32 & 0xffff) ^ (hash >> 16 & 0xffff) ^ (hash & 0xffff);
    Text::from(format!("{short:04x}"))
}

/// Returns `true` for a header that identifies an account.
fn says_who(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["auth", "key", "token", "organization", "project", "account", "workspace"]
        .iter()
        .any(|word| name.contains(word))
}
