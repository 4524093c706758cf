//! Special tokens in places where they open and close nothing, which are framing.

use crate::{
    builder::{CallForm, ToolDialectBuilder, description::TextRules, role::MarkerRole},
    marker::Marker,
};

/// The special tokens that are framing wherever they occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpecialTokens<'a> {
    /// Those of the dialect, and these.
    Always(&'a [&'a str]),
    /// Those of all dialects together, once a call or a wrapper has begun: text about one family must not
    /// be taken for framing of another.
    BehindCalls,
    /// None.
    Never,
}

impl SpecialTokens<'_> {
    /// Returns the minimum length at which a token truncated at the end of the text is framing, in bytes.
    pub(crate) fn min_cut_bytes(self) -> usize {
        match self {
            Self::Always(_) => 2,
            Self::BehindCalls => 4,
            Self::Never => usize::MAX,
        }
    }
}

/// Lists the special tokens of `tools` and those `named`, with their roles in places where they open nothing.
///
/// An opener takes precedence over another token: it is only mentioned if the following text cannot be a payload.
pub(crate) fn strays<'a>(
    tools: &ToolDialectBuilder<'a>,
    named: &[&'a str],
) -> Vec<(Marker<'a>, MarkerRole)> {
    let wrappers = tools.wrappers.iter();
    let mut all: Vec<(Marker<'a>, MarkerRole)> = Vec::new();
    all.extend(
        wrappers
            .clone()
            .filter_map(|it| Some((it.closer.token()?, MarkerRole::WrapperCloser(it.holds)))),
    );
    let ends = tools.calls.iter().flat_map(CallForm::ends);
    all.extend(ends.filter_map(|end| Some((end.token()?, MarkerRole::CallCloser))));
    let openers = wrappers.map(|it| it.opener).chain(tools.calls.iter().map(|call| call.opener));
    let openers = openers.filter_map(|opener| Some(opener.token()?.before(b"<")));
    let words =
        tools.calls.iter().flat_map(words_of).filter_map(|word| Marker::exact(word).token());
    let named = named.iter().map(|token| Marker::exact(token));
    all.extend(openers.chain(words).chain(named).map(|token| (token, MarkerRole::Stray)));
    all
}

/// Lists the texts that structure the payload of a call, unless its header is its opener.
fn words_of(call: &CallForm<'_>) -> Vec<&'static str> {
    let mut words = Vec::new();
    if call.opener_is_payload && call.grammar.text.is_some() {
        return words;
    }
    words.extend(call.grammar.words());
    if let Some(TextRules::Named(style)) = call.grammar.text {
        words.extend(style.all_separators());
    }
    words
}
