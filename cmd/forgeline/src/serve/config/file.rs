//! A TOML file as a list of its members, each with its line.

use std::ops::Range;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// A file.
#[derive(Debug)]
pub(super) struct ConfigFile<'f> {
    name: &'f str,
    text: &'f str,
    /// In the order of the file.
    pub(super) members: Vec<FileMember<'f>>,
    /// What is wrong with its form, a line each.
    pub(super) mistakes: Vec<String>,
}

/// A member of the file.
#[derive(Debug)]
pub(super) struct FileMember<'f> {
    pub(super) path: Vec<String>,
    pub(super) is_table: bool,
    span: Range<usize>,
    value: Option<DeValue<'f>>,
}

impl<'f> ConfigFile<'f> {
    /// Reads a text.
    pub(super) fn parse(name: &'f str, text: &'f str) -> Self {
        let (table, errors) = DeTable::parse_recoverable(text);
        let mut file = Self { name, text, members: Vec::new(), mistakes: Vec::new() };
        for error in errors {
            let line = file.line(error.span().map_or(0, |span| span.start));
            file.mistakes.push(format!("{name}:{line}: {}", error.message()));
        }
        file.add(&[], table.into_inner());
        file.members.sort_by_key(|member| member.span.start);
        file
    }

    fn add(&mut self, above: &[String], table: DeTable<'f>) {
        for (key, value) in table {
            let span = key.span();
            let path = [above, &[key.into_inner().into_owned()]].concat();
            let value = Spanned::into_inner(value);
            if let DeValue::Table(below) = value {
                let (is_table, value) = (true, None);
                self.members.push(FileMember { path: path.clone(), is_table, span, value });
                self.add(&path, below);
            } else {
                let (is_table, value) = (false, Some(value));
                self.members.push(FileMember { path, is_table, span, value });
            }
        }
    }

    /// Returns the member that is not a table at this path, such as `limits.runs`.
    pub(super) fn find(&self, path: &str) -> Option<&FileMember<'f>> {
        self.members.iter().find(|member| !member.is_table && member.name() == path)
    }

    /// Returns the place of a member, for a message about it.
    pub(super) fn place(&self, member: &FileMember<'_>) -> String {
        format!("{}:{}: {}", self.name, self.line(member.span.start), member.name())
    }

    fn line(&self, at: usize) -> usize {
        let before = self.text.bytes().take(at);
        before.filter(|byte| *byte == b'\n').count() + 1
    }
}

impl FileMember<'_> {
    /// Returns `true` for a table, or a member, of this table.
    pub(super) fn is_below(&self, table: &str) -> bool {
        self.path.len() > 1 && self.path.first().is_some_and(|first| first == table)
    }

    /// Returns the path, joined by dots.
    pub(super) fn name(&self) -> String {
        self.path.join(".")
    }

    /// Returns the value as a flag has it; `None` for one that no flag has.
    pub(super) fn text(&self) -> Option<String> {
        text(self.value.as_ref()?)
    }

    /// Returns the value as a switch.
    pub(super) fn switch(&self) -> Option<bool> {
        self.value.as_ref()?.as_bool()
    }

    /// Returns the values of a list, or the only value.
    pub(super) fn texts(&self) -> Option<Vec<String>> {
        let value = self.value.as_ref()?;
        if let DeValue::Array(values) = value {
            return values.iter().map(|value| text(value.get_ref())).collect();
        }
        Some(vec![text(value)?])
    }
}

fn text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(is_on) => Some(is_on.to_string()),
        DeValue::Integer(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}
