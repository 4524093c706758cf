//! Descriptions made ready for the parsers: markers in sets, with what each of them means.

use std::sync::Arc;

use super::{
    description::{Bare, CallForm, Framing, Grammar, Textual, Thinking, Tools},
    grammar::HeaderStyle,
    marker::{Marker, MarkerSet},
    scan::Stops,
};

/// A tool-call dialect, ready for use.
#[derive(Debug)]
pub(super) struct Compiled {
    /// What may stand in message text: openers, then closers of wrappers.
    pub(super) text: MarkerSet,
    pub(super) stops: Arc<Stops>,
    /// What each marker of `text` means.
    roles: Vec<Role>,
    /// How many of these open something.
    pub(super) openers: usize,
    forms: Vec<CompiledForm>,
    /// The forms without a marker.
    pub(super) bare: Vec<(Bare, usize)>,
}

/// What a marker in message text means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A call of this form.
    Call(usize),
    /// Calls follow.
    WrapperOpener,
    /// No more calls follow.
    WrapperCloser,
}

/// One form of a call, ready for use.
#[derive(Debug, Clone)]
pub(super) struct CompiledForm {
    /// What ends the call: its closers, then markers of the dialect that show that it has ended.
    pub(super) inside: MarkerSet,
    pub(super) stops: Stops,
    pub(super) closers: usize,
    pub(super) grammar: Grammar,
    pub(super) opener_is_payload: bool,
}

impl Compiled {
    /// The dialects of `descriptions` together; each call ends at markers of its own dialect.
    pub(super) fn new(descriptions: &[&Tools]) -> Self {
        let (mut openers, mut closers, mut roles) = (Vec::new(), Vec::new(), Vec::new());
        let (mut forms, mut bare) = (Vec::new(), Vec::new());
        for tools in descriptions {
            for call in tools.calls.iter() {
                if !openers.contains(&call.opener) {
                    openers.push(call.opener.clone());
                    roles.push(Role::Call(forms.len()));
                }
                forms.push(CompiledForm::new(call, tools));
            }
            for wrapper in tools.wrappers.iter() {
                if !openers.contains(&wrapper.opener) {
                    openers.push(wrapper.opener.clone());
                    roles.push(Role::WrapperOpener);
                }
                closers.push(wrapper.closer.clone());
            }
            if let Some(kind) = tools.bare {
                bare.push((kind, forms.len()));
                forms.push(match (kind, tools.calls.first()) {
                    (Bare::Name(_), Some(call)) => CompiledForm::new(call, tools),
                    _ => CompiledForm::bare(kind, tools),
                });
            }
        }
        roles.extend(closers.iter().map(|_| Role::WrapperCloser));
        let first_closer = openers.len();
        openers.extend(closers);
        let text = MarkerSet::new(openers);
        Self {
            stops: Arc::new(Stops::new([&text])),
            text,
            roles,
            openers: first_closer,
            forms,
            bare,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// What marker `which` of the text means.
    pub(super) fn role(&self, which: usize) -> Role {
        self.roles.get(which).copied().unwrap_or(Role::WrapperOpener)
    }

    /// Form number `form`, which a role or a bare start has given.
    pub(super) fn form(&self, form: usize) -> &CompiledForm {
        static NONE: std::sync::LazyLock<CompiledForm> = std::sync::LazyLock::new(|| {
            let inside = MarkerSet::new(Vec::new());
            CompiledForm {
                stops: Stops::new([&inside]),
                inside,
                closers: 0,
                grammar: Grammar::NONE,
                opener_is_payload: false,
            }
        });
        self.forms.get(form).unwrap_or(&NONE)
    }
}

/// The markers of a dialect that show that a call has ended; in a call whose opener is no part of
/// the payload, those that are may stand in it.
fn markers_between(tools: &Tools, opener_is_payload: bool) -> Vec<Marker> {
    let calls = tools.calls.iter().filter(|call| opener_is_payload || !call.opener_is_payload);
    let wrappers = tools.wrappers.iter().flat_map(|wrapper| [&wrapper.opener, &wrapper.closer]);
    calls.map(|call| &call.opener).chain(wrappers).cloned().collect()
}

impl CompiledForm {
    fn new(call: &CallForm, tools: &Tools) -> Self {
        let between = markers_between(tools, call.opener_is_payload);
        let others = between.iter().filter(|marker| !call.closers.contains(marker));
        let inside = MarkerSet::new(call.closers.iter().chain(others).cloned().collect());
        Self {
            stops: Stops::new([&inside]),
            inside,
            closers: call.closers.len(),
            grammar: call.grammar.clone(),
            opener_is_payload: call.opener_is_payload,
        }
    }

    fn bare(kind: Bare, tools: &Tools) -> Self {
        let closers = match (kind, tools.calls.first()) {
            (Bare::Recipient, Some(call)) => call.closers.to_vec(),
            _ => Vec::new(),
        };
        let between = markers_between(tools, true);
        let others = between.into_iter().filter(|marker| !closers.contains(marker));
        let inside = MarkerSet::new(closers.iter().cloned().chain(others).collect());
        let grammar = match kind {
            Bare::Json | Bare::NextJson | Bare::Word(_) | Bare::Name(_) => Grammar::JSON,
            Bare::Python => Grammar::text(Textual::Python),
            Bare::Recipient => Grammar::text(Textual::Named(HeaderStyle::HARMONY)),
        };
        Self {
            stops: Stops::new([&inside]),
            inside,
            closers: closers.len(),
            grammar,
            opener_is_payload: true,
        }
    }
}

/// A thinking dialect, ready for use.
#[derive(Debug)]
pub(super) struct CompiledThinking {
    /// What may open reasoning.
    pub(super) starts: MarkerSet,
    /// What may stand in the answer: openers, ignored markers, then all closers.
    pub(super) text: MarkerSet,
    /// How many of these open reasoning.
    pub(super) openers: usize,
    /// How many open reasoning or are ignored.
    pub(super) first_closer: usize,
    sections: Vec<CompiledSection>,
    /// What ends reasoning whose opener is not known.
    any: CompiledSection,
}

/// One form of reasoning, ready for use.
#[derive(Debug)]
pub(super) struct CompiledSection {
    pub(super) closers: MarkerSet,
    pub(super) framing: Framing,
}

/// Where markers of a thinking and a tool-call dialect may begin.
#[derive(Debug)]
pub(super) struct StopsOfBoth {
    pub(super) in_message: Stops,
    pub(super) in_thinking: Stops,
}

impl StopsOfBoth {
    pub(super) fn new(thinking: &CompiledThinking, tools: &Compiled) -> Self {
        let has_framing = thinking.sections.iter().any(|one| one.framing.before_closer > 0);
        let in_thinking = Stops::new([&thinking.any.closers, &tools.text]);
        Self {
            in_message: Stops::new([&thinking.text, &tools.text]),
            in_thinking: if has_framing { in_thinking.behind_line_ends() } else { in_thinking },
        }
    }
}

impl CompiledThinking {
    pub(super) fn new(description: &Thinking) -> Self {
        let forms = &description.sections;
        let starts: Vec<_> = forms.iter().map(|form| form.opener.clone()).collect();
        let openers = if description.only_at_start { Vec::new() } else { starts.clone() };
        let closers: Vec<_> = forms.iter().flat_map(|form| form.closers.iter().cloned()).collect();
        let first_closer = openers.len() + description.ignored.len();
        let framing = forms.first().map_or(Framing::NONE, |form| form.framing);
        let ignored = description.ignored.iter().cloned();
        let all = openers.iter().cloned().chain(ignored).chain(closers.iter().cloned()).collect();
        Self {
            starts: MarkerSet::new(starts),
            openers: openers.len(),
            text: MarkerSet::new(all),
            first_closer,
            sections: forms
                .iter()
                .map(|form| CompiledSection::new(form.closers.to_vec(), form.framing))
                .collect(),
            any: CompiledSection::new(closers, framing),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The form of reasoning that opener `which` began; `None` for one that began before the text.
    pub(super) fn section(&self, which: Option<usize>) -> &CompiledSection {
        which.and_then(|which| self.sections.get(which)).unwrap_or(&self.any)
    }
}

impl CompiledSection {
    fn new(closers: Vec<Marker>, framing: Framing) -> Self {
        Self { closers: MarkerSet::new(closers), framing }
    }
}
