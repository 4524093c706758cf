//! The names under which the tools of a server are offered.

use std::collections::BTreeSet;

use ring::digest::{SHA256, digest};

/// Maximum length of a tool's name, including the prefix `mcp.<server>.`, in bytes: vendors accept no more.
const MAX_WHOLE_NAME: usize = 64;

/// The length of the mark that makes a name unique, with the `_` before it.
const MARK_LENGTH: usize = 9;

/// The names of a server's tools, each valid and different from the others.
#[derive(Debug)]
pub(crate) struct OfferedNames {
    prefix: String,
    /// The names that are taken, as they are sent to vendors.
    taken: BTreeSet<String>,
}

impl OfferedNames {
    /// Returns the names for the tools of a server, of which none is given yet.
    pub(crate) fn of_server(server: &str) -> Self {
        Self { prefix: format!("mcp.{server}."), taken: BTreeSet::new() }
    }

    /// Returns the names for the tools that a server calls so, in the same order. A name that vendors accept stays as it is; the others are
    /// spelled with accepted characters, and end in a mark made from the own name.
    pub(crate) fn for_tools<'n>(
        &mut self,
        own: impl IntoIterator<Item = &'n str> + Clone,
    ) -> Vec<String> {
        let plain = own.clone().into_iter().map(|own| self.take(own));
        let plain: Vec<_> = plain.collect();
        let named = own.into_iter().zip(plain);
        named.map(|(own, plain)| plain.unwrap_or_else(|| self.marked(own))).collect()
    }

    /// Returns the whole name, unless it is invalid or taken.
    fn take(&mut self, name: &str) -> Option<String> {
        let whole = format!("{}{name}", self.prefix);
        let is_usable = is_valid(name) && whole.len() <= MAX_WHOLE_NAME;
        (is_usable && self.taken.insert(whole.replace('.', "_"))).then_some(whole)
    }

    /// Returns a name with a mark, which differs for tools of the same name.
    fn marked(&mut self, own: &str) -> String {
        let is_plain = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
        let spelled: String = own.chars().map(|it| if is_plain(it) { it } else { '_' }).collect();
        let room = MAX_WHOLE_NAME.saturating_sub(self.prefix.len() + MARK_LENGTH);
        let spelled = spelled.get(..room.min(spelled.len())).unwrap_or_default();
        let mut count = 0_u32;
        loop {
            let text = if count == 0 { own.to_owned() } else { format!("{own}\n{count}") };
            let digest = digest(&SHA256, text.as_bytes());
            let mark = digest.as_ref().first_chunk().copied().map_or(count, u32::from_be_bytes);
            if let Some(whole) = self.take(&format!("{spelled}_{mark:08x}")) {
                return whole;
            }
            count = count.saturating_add(1);
        }
    }
}

/// Returns `true` for the name of a tool that vendors accept behind a prefix, once its dots are replaced.
fn is_valid(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    name.split('.').all(|part| !part.is_empty() && part.bytes().all(is_plain))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(server: &str, own: &[&str]) -> Vec<String> {
        OfferedNames::of_server(server).for_tools(own.iter().copied())
    }

    // Rows: N-45
    #[test]
    fn n45_an_accepted_name_stays_and_each_other_one_gets_a_mark() {
        let own =
            ["read/all", "list.all", "list_all", "a b", "é", "", "read_all", "a b", "..", "x"];
        let named = names("s", &own);
        let plain: Vec<_> = named.iter().map(|it| it.trim_start_matches("mcp.s.")).collect();
        assert_eq!((plain[1], plain[6], plain[9]), ("list.all", "read_all", "x"));
        for (at, start) in
            [(0, "read_all_"), (2, "list_all_"), (3, "a_b_"), (4, "__"), (7, "a_b_"), (8, "___")]
        {
            let mark = plain[at].strip_prefix(start).unwrap_or_else(|| panic!("{named:?}"));
            assert_eq!(mark.len(), 8, "{named:?}");
        }
        // The mark is made from the name alone, so that a permission holds in the next program.
        assert_eq!(named[3], names("s", &["a b"])[0]);
        let long = "y".repeat(70);
        let named = names(&"n".repeat(32), &[&long, &format!("{long}z")]);
        assert!(named.iter().all(|name| name.len() == 64) && named[0] != named[1], "{named:?}");
    }

    proptest! {
        #[test]
        fn all_names_are_valid_and_unique(server in "[a-zA-Z0-9_-]{1,32}", own: Vec<String>, odd in prop::collection::vec("[ab._/ é]{0,3}", 0..20)) {
            let own: Vec<_> = own.iter().chain(&odd).map(String::as_str).collect();
            let named = names(&server, &own);
            prop_assert_eq!(named.len(), own.len());
            prop_assert!(named.iter().all(|name| is_valid(name) && name.len() <= MAX_WHOLE_NAME));
            let wire: BTreeSet<_> = named.iter().map(|name| name.replace('.', "_")).collect();
            prop_assert_eq!(wire.len(), own.len());
        }
    }
}
