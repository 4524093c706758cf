//! Descriptions made ready for the parsers: markers in sets, with what each of them means.

use std::sync::Arc;

use super::{
    builder::{CallForm, ThinkingDialectBuilder, ToolDialectBuilder},
    description::{Bare, Framing, Grammar, Textual, ThinkingRules},
    grammar::HeaderStyle,
    marker::{Marker, MarkerSet},
    scan::Stops,
};

/// A tool-call dialect, ready for use.
#[derive(Debug, Clone)]
pub(crate) struct Compiled {
    /// The name and the example of the first description.
    pub(super) name: &'static str,
    pub(super) example: &'static str,
    /// The markers of message text: openers, then closers of wrappers, then those of calls.
    pub(super) text: MarkerSet,
    pub(super) stops: Arc<Stops>,
    /// The role of each marker of `text`.
    roles: Vec<Role>,
    /// The number of these that open something.
    pub(super) openers: usize,
    /// The number of these that are no closers of calls.
    pub(super) first_orphan: usize,
    forms: Vec<CompiledForm>,
    /// The forms without a marker.
    pub(super) bare: Vec<(Bare, usize)>,
}

/// The role of a marker in message text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A call of this form.
    Call(usize),
    /// Calls follow.
    WrapperOpener,
    /// No more calls follow.
    WrapperCloser,
    /// The closer of a call, where no call is open.
    CallCloser,
}

/// One form of a call, ready for use.
#[derive(Debug, Clone)]
pub(crate) struct CompiledForm {
    /// The markers that end the call: its closers, then those of the dialect that show that it has
    /// ended.
    pub(super) inside: MarkerSet,
    pub(super) stops: Stops,
    pub(super) closers: usize,
    pub(super) grammar: Grammar,
    pub(super) opener_is_payload: bool,
}

impl Compiled {
    /// Compiles `descriptions` together; each call ends at markers of its own dialect.
    pub(super) fn new(descriptions: &[ToolDialectBuilder<'_>]) -> Self {
        let (mut openers, mut closers, mut roles) = (Vec::new(), Vec::new(), Vec::new());
        let (mut forms, mut bare) = (Vec::new(), Vec::new());
        for tools in descriptions {
            for call in tools.calls {
                let opener = call.opener_in_text();
                if !openers.contains(&opener) {
                    openers.push(opener);
                    roles.push(Role::Call(forms.len()));
                }
                forms.push(CompiledForm::new(call, tools));
            }
            for wrapper in tools.wrappers {
                let opener = tools.opener_in_text(wrapper);
                if !openers.contains(&opener) {
                    openers.push(opener);
                    roles.push(Role::WrapperOpener);
                }
                closers.push(wrapper.closer);
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
        let first_orphan = openers.len();
        for closer in descriptions.iter().flat_map(|tools| tools.calls).flat_map(CallForm::ends) {
            if !openers.contains(&closer) {
                openers.push(closer);
                roles.push(Role::CallCloser);
            }
        }
        let text = MarkerSet::new(openers);
        let (name, example) = descriptions.first().map_or(("", ""), |it| (it.name, it.example));
        Self {
            name,
            example,
            stops: Arc::new(Stops::new([&text])),
            text,
            roles,
            openers: first_closer,
            first_orphan,
            forms,
            bare,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// Returns the meaning of marker `which` of the text.
    pub(super) fn role(&self, which: usize) -> Role {
        self.roles.get(which).copied().unwrap_or(Role::WrapperOpener)
    }

    /// Returns form number `form`, which a role or an unmarked start has given.
    pub(super) fn form(&self, form: usize) -> &CompiledForm {
        static NONE: std::sync::LazyLock<CompiledForm> = std::sync::LazyLock::new(|| {
            let inside = MarkerSet::new([]);
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

/// Lists the markers of a dialect that show that a call has ended; in a call whose opener is not part
/// of the payload, those that are may stand in it.
fn markers_between<'a>(
    tools: &ToolDialectBuilder<'a>,
    opener_is_payload: bool,
) -> impl Iterator<Item = Marker<'a>> {
    let is_between = move |call: &&CallForm<'_>| opener_is_payload || !call.opener_is_payload;
    let calls = tools.calls.iter().filter(is_between).map(|call| call.opener);
    let wrappers = tools.wrappers.iter().flat_map(|wrapper| [wrapper.opener, wrapper.closer]);
    calls.chain(wrappers)
}

impl CompiledForm {
    fn new(call: &CallForm<'_>, tools: &ToolDialectBuilder<'_>) -> Self {
        let closers: Vec<_> = call.closers.iter().collect();
        Self::closed_by(&closers, &call.grammar, call.opener_is_payload, tools)
    }

    fn bare(kind: Bare, tools: &ToolDialectBuilder<'_>) -> Self {
        let closers = match (kind, tools.calls) {
            (Bare::Recipient, [call, ..]) => call.closers.iter().collect(),
            _ => Vec::new(),
        };
        let grammar = match kind {
            Bare::Json | Bare::NextJson | Bare::Word(_) | Bare::Name(_) => Grammar::JSON,
            Bare::Python => Grammar::text(Textual::Python),
            Bare::Recipient => Grammar::text(Textual::Named(HeaderStyle::HARMONY)),
        };
        Self::closed_by(&closers, &grammar, true, tools)
    }

    fn closed_by(
        closers: &[Marker<'_>],
        grammar: &Grammar,
        opener_is_payload: bool,
        tools: &ToolDialectBuilder<'_>,
    ) -> Self {
        let between = markers_between(tools, opener_is_payload);
        let others = between.filter(|marker| !closers.contains(marker));
        let inside = MarkerSet::new(closers.iter().copied().chain(others));
        let stops = Stops::new([&inside]);
        let (closers, grammar) = (closers.len(), *grammar);
        Self { inside, stops, closers, grammar, opener_is_payload }
    }
}

/// A thinking dialect, ready for use.
#[derive(Debug, Clone)]
pub(crate) struct CompiledThinking {
    /// The name and the example of the first description.
    pub(super) name: &'static str,
    pub(super) example: &'static str,
    /// The markers that may open reasoning.
    pub(super) starts: MarkerSet,
    /// The markers of the answer: openers, ignored markers, then all closers.
    pub(super) text: MarkerSet,
    /// The number of these that open reasoning.
    pub(super) openers: usize,
    /// The number of these that open reasoning or are ignored.
    pub(super) first_closer: usize,
    /// The section of each closer of the answer.
    closer_sections: Vec<usize>,
    sections: Vec<CompiledSection>,
    /// The section of reasoning whose opener is not known.
    any: CompiledSection,
    pub(super) rules: ThinkingRules,
}

/// One form of reasoning, ready for use.
#[derive(Debug, Clone)]
pub(crate) struct CompiledSection {
    pub(super) closers: MarkerSet,
    pub(super) framing: Framing,
}

/// The bytes where markers of a thinking and a tool-call dialect may begin.
#[derive(Debug)]
pub(crate) struct StopsOfBoth {
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
    /// Compiles the dialects of `descriptions` together; the rules are those of the first.
    pub(super) fn new(descriptions: &[ThinkingDialectBuilder<'_>]) -> Self {
        let rules = descriptions.first().map_or(ThinkingRules::NONE, |first| first.rules);
        let (mut starts, mut closers, mut sections) = (Vec::new(), Vec::new(), Vec::new());
        let mut closer_sections = Vec::new();
        for thinking in descriptions {
            for section in thinking.sections {
                starts.push(section.opener);
                closers.extend(section.closers.iter());
                closer_sections.resize(closers.len(), sections.len());
                sections.push(CompiledSection::new(section.closers.iter(), thinking.framing));
            }
        }
        let ignored: Vec<_> = descriptions.iter().flat_map(|one| one.ignored.iter()).collect();
        let openers = if rules.only_at_start { Vec::new() } else { starts.clone() };
        let framing = sections.first().map_or(Framing::NONE, |section| section.framing);
        let (name, example) = descriptions.first().map_or(("", ""), |it| (it.name, it.example));
        Self {
            name,
            example,
            starts: MarkerSet::new(starts),
            openers: openers.len(),
            first_closer: openers.len() + ignored.len(),
            text: MarkerSet::new(openers.into_iter().chain(ignored).chain(closers.clone())),
            closer_sections,
            sections,
            any: CompiledSection::new(closers, framing),
            rules,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Returns the section that closer number `which` of the answer ends.
    pub(super) fn section_of_closer(&self, which: usize) -> usize {
        let at = which.saturating_sub(self.first_closer);
        self.closer_sections.get(at).copied().unwrap_or(usize::MAX)
    }

    /// Returns the form of reasoning that opener `which` began; `None` for one that began before the
    /// text.
    pub(super) fn section(&self, which: Option<usize>) -> &CompiledSection {
        which.and_then(|which| self.sections.get(which)).unwrap_or(&self.any)
    }
}

impl CompiledSection {
    fn new<'a>(closers: impl IntoIterator<Item = Marker<'a>>, framing: Framing) -> Self {
        Self { closers: MarkerSet::new(closers), framing }
    }
}
