//! Descriptions compiled for the parsers: markers in sets, with the meaning of each.

use std::{
    collections::HashSet,
    sync::{Arc, OnceLock},
};

use crate::{
    ahead::{
        found::{MarkerMatch, TextAhead},
        name_check::NameCheck,
    },
    builder::{
        CallForm, ToolDialectBuilder, WrapperContent,
        description::{BareCall, CallGrammar, MarkupRules, TextRules},
        role::MarkerRole,
        special_tokens::{SpecialTokens, strays},
    },
    compiled::bare_call::firsts_of,
    grammar::{HeaderStyle, PlainText},
    marker::{Marker, MarkerSet},
    scan::stop_bytes::StopBytes,
};

/// The end of a turn in many vocabularies. Prose and HTML contain it too, so it counts only directly after
/// a call.
const SENTENCE_END: &str = "</s>";

/// A compiled tool-call dialect.
#[derive(Debug, Clone)]
pub(crate) struct CompiledTools {
    /// The name and example of the first description.
    pub(crate) name: &'static str,
    pub(crate) example: &'static str,
    /// The markers of message text: openers, then ends of turns, then those inside the text, then
    /// special tokens that open nothing, then closers of wrappers, then those of calls. In `auto` the
    /// tokens are among those of wrappers.
    pub(crate) text: MarkerSet,
    pub(crate) stops: Arc<StopBytes>,
    /// The role of each marker of `text`.
    roles: Vec<MarkerRole>,
    /// The number of markers that open something.
    pub(crate) openers: usize,
    /// The number of markers before the closers of calls.
    pub(crate) first_orphan: usize,
    /// The number of markers before the closers of wrappers.
    pub(crate) first_closer: usize,
    /// The minimum length at which a special token truncated at the end of the text is framing, in bytes.
    pub(crate) min_cut_bytes: usize,
    /// `true` for the dialects of all families together.
    pub(crate) is_joint: bool,
    forms: Vec<CompiledForm>,
    /// The forms without a marker.
    pub(crate) bare: Vec<(BareCall, usize)>,
    /// The ASCII characters with which a form without a marker may begin, as one bit each.
    pub(crate) bare_firsts: u128,
    /// The tags and quotes of the payloads, listed at first use.
    tags: OnceLock<Vec<&'static str>>,
}

/// A compiled form of a call.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing in common")]
pub(crate) struct CompiledForm {
    /// The markers that matter inside the call: its closers, those of surrounding blocks, the end of a
    /// function, then the openers of the dialect, which show that the call has ended.
    pub(crate) inside: MarkerSet,
    /// The bytes with which these markers may begin, collected for the first call: a process meets few of all forms.
    stops: OnceLock<StopBytes>,
    /// The number of closers.
    pub(crate) closers: usize,
    /// The number of closers, including those of blocks.
    blocks: usize,
    /// The number of these and of the ends of functions, of which there is at most one.
    ends: usize,
    /// The kinds of text that stop at every byte with which an end of the call begins, each with the part of it that
    /// stops at every other marker too.
    plain: Vec<(PlainText, PlainText)>,
    pub(crate) grammar: CallGrammar,
    pub(crate) opener_is_payload: bool,
    /// The names for which the call counts.
    pub(crate) offered: NameCheck,
    /// `true` if the call has lost the markers around it.
    pub(crate) is_unwrapped: bool,
}

impl CompiledTools {
    /// Returns `true` if special tokens that open and close nothing are framing.
    pub(crate) fn drops_strays(&self) -> bool {
        self.min_cut_bytes < usize::MAX
    }

    /// Compiles `descriptions` together, for models that end a turn with `turn_ends`; each call ends at
    /// markers of its own dialect.
    pub(crate) fn new(
        descriptions: &[ToolDialectBuilder<'_>],
        turn_ends: &[&str],
        counting: SpecialTokens<'_>,
    ) -> Self {
        let mut text = TextMarkers::default();
        let mut closers = Vec::new();
        let (mut forms, mut bare) = (Vec::new(), Vec::new());
        for tools in descriptions {
            for call in tools.calls {
                text.add(call.opener_in_text(tools), MarkerRole::Call(forms.len()));
                forms.push(CompiledForm::new(call, tools, descriptions));
            }
            for wrapper in tools.wrappers {
                text.add(tools.opener_in_text(wrapper), MarkerRole::WrapperOpener(wrapper.holds));
                closers.push((wrapper.closer, MarkerRole::WrapperCloser(wrapper.holds)));
            }
            if let Some(BareCall::Name(_)) = tools.bare {
                for call in tools.calls {
                    let Some(end) = call.opener.end_of_name() else { continue };
                    bare.push((BareCall::Name(end), forms.len()));
                    forms.push(CompiledForm::new(call, tools, descriptions));
                }
            } else if let Some(kind) = tools.bare {
                bare.push((kind, forms.len()));
                forms.push(CompiledForm::bare(kind, tools));
            }
        }
        let opener_count = text.markers.len();
        let calls = descriptions.iter().flat_map(|tools| tools.calls);
        let call_closers: Vec<_> = calls.clone().flat_map(|call| call.closers.iter()).collect();
        for end in turn_ends.iter().chain(&[SENTENCE_END]).filter(|_| !forms.is_empty()) {
            let marker = Marker::exact(end);
            let role = MarkerRole::TurnEnd {
                closes_wrapper: closers.iter().any(|(closer, _)| *closer == marker),
                closes_call: call_closers.contains(&marker),
                only_behind_call: *end == SENTENCE_END,
            };
            text.add(marker, role);
        }
        for marker in descriptions.iter().flat_map(|tools| tools.inline) {
            text.add(*marker, MarkerRole::Inline);
        }
        let mut first_closer = text.markers.len();
        let named = match counting {
            SpecialTokens::Always(named) => named,
            SpecialTokens::BehindCalls | SpecialTokens::Never => &[],
        };
        let tokens = descriptions.iter().filter(|_| counting != SpecialTokens::Never);
        text.add_all(tokens.flat_map(|tools| strays(tools, named)));
        if counting != SpecialTokens::BehindCalls {
            first_closer = text.markers.len();
        }
        text.add_all(closers);
        let first_orphan = text.markers.len();
        text.add_all(calls.flat_map(CallForm::ends).map(|end| (end, MarkerRole::CallCloser)));
        let TextMarkers { markers, roles, .. } = text;
        let text = MarkerSet::new(markers);
        let (name, example) = descriptions.first().map_or(("", ""), |it| (it.name, it.example));
        Self {
            name,
            example,
            stops: Arc::new(StopBytes::new([&text])),
            text,
            roles,
            openers: opener_count,
            first_closer,
            first_orphan,
            min_cut_bytes: counting.min_cut_bytes(),
            is_joint: counting == SpecialTokens::BehindCalls,
            forms,
            bare_firsts: firsts_of(&bare),
            bare,
            tags: OnceLock::new(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// Returns the header of a call at the beginning of `bytes` that extends beyond the first `length` bytes,
    /// which are a marker that another parser skips.
    pub(crate) fn longer_header(
        &self,
        length: usize,
        bytes: &[u8],
        ahead: TextAhead,
    ) -> Option<(MarkerMatch, usize)> {
        let (found, which) = self.text.check_below(self.openers, bytes, ahead);
        let is_longer = matches!(found, MarkerMatch::Maybe)
            || matches!(found, MarkerMatch::Yes(own) if own > length);
        (is_longer && matches!(self.role(which), MarkerRole::Call(_))).then_some((found, which))
    }

    /// Returns `true` for the beginning of the closer of a block of calls, at least two bytes long.
    pub(crate) fn is_cut_closer(&self, front: &[u8]) -> bool {
        let mut markers = self.text.texts().zip(&self.roles);
        front.len() >= 2
            && markers.any(|(text, role)| {
                let begins = text.as_bytes().get(..front.len());
                *role == MarkerRole::WrapperCloser(WrapperContent::Calls)
                    && begins.is_some_and(|begins| begins.eq_ignore_ascii_case(front))
            })
    }

    /// Returns the meaning of marker `which` of the text.
    pub(crate) fn role(&self, which: usize) -> MarkerRole {
        self.roles.get(which).copied().unwrap_or(MarkerRole::WrapperOpener(WrapperContent::Text))
    }

    /// Lists the bytes that markers and tags of the dialect begin with, as spelled.
    pub(crate) fn first_bytes(&self) -> impl Iterator<Item = u8> {
        let inside = self.forms.iter().flat_map(|form| form.inside.firsts().iter());
        let bare = self.bare.iter().filter_map(|(bare, _)| bare.word());
        let words = self.tags().iter().copied().chain(bare);
        let words = words.filter_map(|word| word.bytes().next());
        self.text.firsts().iter().chain(inside).chain(words)
    }

    /// Returns the tags and quotes of all payloads.
    pub(crate) fn tags(&self) -> &[&'static str] {
        self.tags.get_or_init(|| {
            let mut tags: Vec<_> =
                self.forms.iter().flat_map(|form| form.grammar.words()).collect();
            tags.sort_unstable();
            tags.dedup();
            tags
        })
    }

    /// Returns `true` if `text` contains a special token of the dialect.
    pub(crate) fn holds_special_tag(&self, text: &str) -> bool {
        let is_special =
            |tag: &&str| ["<|", "</|", "<｜", "</｜", "]<]"].iter().any(|it| tag.starts_with(it));
        let mut tags = self.tags().iter().copied().chain(self.text.texts()).filter(is_special);
        text.contains('<') && tags.any(|tag| text.contains(tag))
    }

    /// Returns `true` if calls may be written in Python.
    pub(crate) fn has_python(&self) -> bool {
        self.forms.iter().any(|form| form.grammar.text == Some(TextRules::Python))
    }

    /// Returns `true` if arguments may be elements.
    pub(crate) fn has_elements(&self) -> bool {
        self.forms.iter().any(|form| form.grammar.markup == Some(MarkupRules::Elements))
    }

    /// Returns `true` if the beginning of `text` reads as a marker or a tag of the dialect, in any case.
    pub(crate) fn resembles(&self, text: &[u8]) -> bool {
        let begins = |word: &str| text.starts_with(word.as_bytes());
        self.text.resembles(text)
            || self.forms.iter().any(|form| form.inside.resembles(text))
            || self.tags().iter().any(|tag| tag.len() > 1 && begins(tag))
            || self.bare.iter().filter_map(|(bare, _)| bare.word()).any(begins)
    }

    /// Returns form number `form`, which comes from a role or an unmarked start.
    pub(crate) fn form(&self, form: usize) -> &CompiledForm {
        static NONE: std::sync::LazyLock<CompiledForm> = std::sync::LazyLock::new(|| {
            let inside = MarkerSet::new([]);
            CompiledForm {
                stops: OnceLock::new(),
                inside,
                closers: 0,
                blocks: 0,
                ends: 0,
                plain: Vec::new(),
                grammar: CallGrammar::NONE,
                opener_is_payload: false,
                offered: NameCheck::Any,
                is_unwrapped: false,
            }
        });
        self.forms.get(form).unwrap_or(&NONE)
    }
}

/// The markers of message text during collection, each once, with its first role.
#[derive(Default)]
struct TextMarkers<'a> {
    markers: Vec<Marker<'a>>,
    roles: Vec<MarkerRole>,
    seen: HashSet<Marker<'a>>,
}

impl<'a> TextMarkers<'a> {
    fn add(&mut self, marker: Marker<'a>, role: MarkerRole) {
        if self.seen.insert(marker) {
            self.markers.push(marker);
            self.roles.push(role);
        }
    }

    fn add_all(&mut self, markers: impl IntoIterator<Item = (Marker<'a>, MarkerRole)>) {
        for (marker, role) in markers {
            self.add(marker, role);
        }
    }
}

/// Lists the openers of a dialect, which show that a call has ended; in a call whose opener is not part
/// of the payload, openers that are part of one may occur.
fn openers_between<'a>(
    tools: &ToolDialectBuilder<'a>,
    opener_is_payload: bool,
) -> impl Iterator<Item = Marker<'a>> {
    let is_between = move |call: &&CallForm<'_>| {
        (opener_is_payload || !call.opener_is_payload) && call.offered == NameCheck::Any
    };
    let calls = tools.calls.iter().filter(is_between).map(|call| call.opener);
    let wrappers = tools.wrappers.iter().map(|wrapper| wrapper.opener);
    calls.chain(wrappers).chain(tools.headers.iter().copied())
}

/// Lists the closers of the blocks that may surround a call: those of wrappers, and for a call that ends
/// itself, those of the other forms.
fn block_closers<'a>(
    tools: &ToolDialectBuilder<'a>,
    ends_itself: bool,
) -> impl Iterator<Item = Marker<'a>> {
    let others = tools.calls.iter().filter(move |_| ends_itself);
    let others = others.flat_map(|call| call.closers.iter());
    tools.wrappers.iter().map(|wrapper| wrapper.closer).chain(others)
}

/// Appends the markers that are not yet present.
fn add_new<'a>(all: &mut Vec<Marker<'a>>, others: impl IntoIterator<Item = Marker<'a>>) {
    for marker in others {
        if !all.contains(&marker) {
            all.push(marker);
        }
    }
}

impl CompiledForm {
    /// Returns the places where the markers that matter inside the call may begin.
    #[inline]
    pub(crate) fn stops(&self) -> &StopBytes {
        self.stops.get_or_init(|| StopBytes::new([&self.inside]))
    }

    /// Returns `true` if openers matter inside the call.
    pub(crate) fn has_openers(&self) -> bool {
        self.inside.len() > self.ends
    }

    /// Returns the role of marker `which` of [`inside`](Self::inside).
    pub(crate) fn role(&self, which: usize) -> BodyRole {
        match which {
            _ if which < self.closers => BodyRole::Closer,
            _ if which < self.blocks => BodyRole::BlockCloser,
            _ if which < self.ends => BodyRole::FunctionEnd,
            _ => BodyRole::Opener,
        }
    }

    /// Returns the text of this kind in which no marker begins.
    pub(crate) fn unmarked(&self, plain: PlainText) -> PlainText {
        let own = self.plain.iter().find(|(kind, _)| *kind == plain);
        own.map_or(PlainText::Nothing, |(_, unmarked)| *unmarked)
    }

    /// Returns `true` if a function in tags may occur in the call.
    pub(crate) fn has_functions(&self) -> bool {
        self.ends > self.blocks
    }

    fn new(
        call: &CallForm<'_>,
        tools: &ToolDialectBuilder<'_>,
        all: &[ToolDialectBuilder<'_>],
    ) -> Self {
        let closers: Vec<_> = call.closers.iter().collect();
        let ends_itself = closers.is_empty();
        let mut blocks: Vec<_> = block_closers(tools, ends_itself).collect();
        // If dialects share an opener, the first one reads the calls of all.
        let is_shared = |other: &&ToolDialectBuilder<'_>| {
            call.grammar.function_end().is_some()
                && other.calls.iter().any(|own| own.opener == call.opener)
        };
        let shared = all.iter().filter(is_shared);
        blocks.extend(shared.flat_map(|other| block_closers(other, ends_itself)));
        let mut form =
            Self::closed_by(&closers, &blocks, &call.grammar, call.opener_is_payload, tools);
        form.offered = call.offered;
        form.is_unwrapped = call.is_unwrapped;
        form
    }

    fn bare(kind: BareCall, tools: &ToolDialectBuilder<'_>) -> Self {
        let closers = match (kind, tools.calls) {
            (BareCall::Recipient, [call, ..]) => call.closers.iter().collect(),
            _ => Vec::new(),
        };
        let grammar = match kind {
            BareCall::Json | BareCall::NextJson | BareCall::Word(_) | BareCall::Name(_) => {
                CallGrammar::JSON
            }
            BareCall::Python | BareCall::PythonLines => CallGrammar::text(TextRules::Python),
            BareCall::Syntax { quote, .. } => CallGrammar::text(TextRules::Syntax { quote }),
            BareCall::Header(_, style) => CallGrammar::text(TextRules::Named(style)),
            BareCall::Recipient => CallGrammar::text(TextRules::Named(HeaderStyle::HARMONY)),
            BareCall::Id(_) => CallGrammar::text(TextRules::Named(HeaderStyle::KIMI)),
        };
        let blocks: Vec<_> = block_closers(tools, closers.is_empty()).collect();
        let mut form = Self::closed_by(&closers, &blocks, &grammar, true, tools);
        if let BareCall::Syntax { offered, .. } = kind {
            form.offered = offered;
        } else if kind == BareCall::PythonLines {
            form.offered = NameCheck::Always;
        }
        form
    }

    fn closed_by(
        closers: &[Marker<'_>],
        blocks: &[Marker<'_>],
        grammar: &CallGrammar,
        opener_is_payload: bool,
        tools: &ToolDialectBuilder<'_>,
    ) -> Self {
        let mut inside = closers.to_vec();
        add_new(&mut inside, blocks.iter().copied());
        let blocks = inside.len();
        add_new(&mut inside, grammar.function_end().map(Marker::exact));
        let ends = inside.len();
        let stops_at_ends =
            |plain: &PlainText| inside.iter().all(|end| !plain.passes(&[Marker::first(end)]));
        let safe: Vec<_> = PlainText::ALL.into_iter().filter(stops_at_ends).collect();
        add_new(&mut inside, openers_between(tools, opener_is_payload));
        let firsts: Vec<_> = inside.iter().map(Marker::first).collect();
        let plain = safe.into_iter().map(|plain| (plain, plain.unmarked(&firsts))).collect();
        let (inside, closers, grammar) = (MarkerSet::new(inside), closers.len(), *grammar);
        Self {
            inside,
            stops: OnceLock::new(),
            closers,
            blocks,
            ends,
            plain,
            grammar,
            opener_is_payload,
            offered: NameCheck::Any,
            is_unwrapped: false,
        }
    }
}

/// The role of a marker inside a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyRole {
    /// Ends the call.
    Closer,
    /// Ends a block that surrounds the call.
    BlockCloser,
    /// Ends a function in tags. It is read by the grammar, except in a value without an end of its own.
    FunctionEnd,
    /// Opens another call, or a block.
    Opener,
}
