//! Descriptions of reasoning, compiled for the parsers.

use crate::{
    builder::{
        ThinkingDialectBuilder,
        description::{MarkerFraming, ThinkingRules},
        special_tokens::SpecialTokens,
    },
    compiled::tools::CompiledTools,
    marker::{Marker, MarkerSet},
};

/// A compiled thinking dialect.
#[derive(Debug, Clone)]
pub(crate) struct CompiledThinking {
    /// The name and example of the first description.
    pub(crate) name: &'static str,
    pub(crate) example: &'static str,
    /// The markers that may open reasoning.
    pub(crate) starts: MarkerSet,
    /// The markers of the answer: openers, ignored markers, those inside the text, then all closers.
    pub(crate) text: MarkerSet,
    /// The number of markers that open reasoning.
    pub(crate) openers: usize,
    /// The number of markers that open reasoning or are ignored.
    pub(crate) first_inline: usize,
    /// The number of markers before the closers.
    pub(crate) first_closer: usize,
    /// The families, as one bit each, of each opener and ignored marker, if there are several.
    families: Vec<u64>,
    /// `true` if special tokens that close no section are framing.
    pub(crate) drops_strays: bool,
    /// The minimum length at which a special token truncated at the end of the text is framing, in bytes.
    pub(crate) min_cut_bytes: usize,
    /// The section of each closer of the answer.
    closer_sections: Vec<usize>,
    pub(crate) sections: Vec<CompiledSection>,
    /// The section for reasoning with an unknown opener.
    pub(crate) any: CompiledSection,
    pub(crate) rules: ThinkingRules,
}

/// A compiled form of reasoning.
#[derive(Debug, Clone)]
pub(crate) struct CompiledSection {
    pub(crate) closers: MarkerSet,
    /// The markers that end the section and have a meaning of their own.
    pub(crate) headers: MarkerSet,
    /// The markers inside its text.
    pub(crate) inline: MarkerSet,
    pub(crate) framing: MarkerFraming,
}

impl CompiledThinking {
    /// Compiles the dialects in `descriptions` together, with the rules of the first.
    pub(crate) fn new(
        descriptions: &[ThinkingDialectBuilder<'_>],
        counting: SpecialTokens<'_>,
    ) -> Self {
        let rules = descriptions.first().map_or(ThinkingRules::NONE, |first| first.rules);
        let (mut starts, mut closers, mut sections) = (Vec::new(), Vec::new(), Vec::new());
        let mut closer_sections = Vec::new();
        for thinking in descriptions {
            for section in thinking.sections {
                starts.push(section.opener);
                closers.extend(section.closers.iter());
                closer_sections.resize(closers.len(), sections.len());
                sections.push(CompiledSection {
                    closers: MarkerSet::new(section.closers.iter()),
                    headers: MarkerSet::new(thinking.headers.iter().copied()),
                    inline: MarkerSet::new(thinking.inline.iter().copied()),
                    framing: thinking.framing,
                });
            }
        }
        let ignored: Vec<_> = descriptions.iter().flat_map(|one| one.ignored.iter()).collect();
        let owns = |one: &ThinkingDialectBuilder<'_>, marker: &Marker<'_>| {
            one.sections.iter().any(|section| section.opener == *marker)
                || one.ignored.iter().any(|ignored| ignored == *marker)
        };
        let families_of = |marker: &Marker<'_>| {
            let owners = descriptions.iter().zip(0_u32..).filter(|(one, _)| owns(one, marker));
            owners.fold(0, |all, (_, at)| all | 1_u64.checked_shl(at).unwrap_or(0))
        };
        let openers = if rules.only_at_start { Vec::new() } else { starts.clone() };
        let headers = descriptions.iter().flat_map(|one| one.headers).copied();
        let headers = MarkerSet::new(headers);
        let inline: Vec<_> = descriptions.iter().flat_map(|one| one.inline).copied().collect();
        let before_inline = openers.iter().chain(&ignored).copied();
        let families = before_inline.clone().filter(|_| descriptions.len() > 1);
        let families = families.map(|marker| families_of(&marker)).collect();
        let framing = sections.first().map_or(MarkerFraming::NONE, |section| section.framing);
        let (name, example) = descriptions.first().map_or(("", ""), |it| (it.name, it.example));
        Self {
            name,
            example,
            starts: MarkerSet::new(starts),
            openers: openers.len(),
            first_inline: openers.len() + ignored.len(),
            first_closer: openers.len() + ignored.len() + inline.len(),
            families,
            text: MarkerSet::new(before_inline.chain(inline.clone()).chain(closers.clone())),
            drops_strays: matches!(counting, SpecialTokens::Always(_)),
            min_cut_bytes: counting.min_cut_bytes(),
            closer_sections,
            sections,
            any: CompiledSection {
                closers: MarkerSet::new(closers),
                headers,
                inline: MarkerSet::new(inline),
                framing,
            },
            rules,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Returns the families, as one bit each, to which opener or ignored marker `which` belongs; none if
    /// there is only one family.
    pub(crate) fn families_of(&self, which: usize) -> u64 {
        self.families.get(which).copied().unwrap_or(0)
    }

    /// Returns the section that closer number `which` of the answer ends.
    pub(crate) fn section_of_closer(&self, which: usize) -> usize {
        let at = which.saturating_sub(self.first_closer);
        self.closer_sections.get(at).copied().unwrap_or(usize::MAX)
    }

    /// Returns `true` for the beginning of a special token that would end reasoning, or begin a call in it.
    pub(crate) fn is_cut_in_thinking(&self, text: &str, tools: &CompiledTools) -> bool {
        let rest = text.trim_start_matches(['\r', '\n']).as_bytes();
        let Self { any, min_cut_bytes, .. } = self;
        rest.len() >= *min_cut_bytes
            && (any.closers.is_cut_token(rest)
                || any.headers.is_cut_token(rest)
                || tools.text.is_cut_token(rest))
    }

    /// Lists the bytes that markers of the dialect begin with, as spelled.
    pub(crate) fn first_bytes(&self) -> impl Iterator<Item = u8> {
        self.starts.firsts().iter().chain(self.text.firsts().iter())
    }

    /// Returns `true` if the beginning of `text` reads as a marker of the dialect, in any case.
    pub(crate) fn resembles(&self, text: &[u8]) -> bool {
        self.starts.resembles(text) || self.text.resembles(text)
    }

    /// Returns the form of reasoning opened by marker `which`; `None` stands for an opener before the
    /// text.
    pub(crate) fn section(&self, which: Option<usize>) -> &CompiledSection {
        which.and_then(|which| self.sections.get(which)).unwrap_or(&self.any)
    }
}
