//! A JSON list as it comes without `alt=sse`.

use serde_json::value::RawValue;

/// The members of a JSON list that may be cut.
pub(super) struct List<'a>(&'a str);

impl<'a> List<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self(text.strip_prefix('[').unwrap_or(text))
    }

    pub(super) fn next(&mut self) -> Option<&'a str> {
        let rest = self.0.trim_start().trim_start_matches(',');
        let mut members = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        let member = members.next()?.ok()?;
        self.0 = rest.split_at_checked(members.byte_offset())?.1;
        Some(member.get())
    }

    pub(super) fn is_whole(&self) -> bool {
        self.0.trim_start().starts_with(']')
    }
}
