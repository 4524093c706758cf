//! Conversion to JSON text of arguments that arrive in pieces, each with its path.

use std::{collections::HashSet, mem::take};

use serde_json::value::RawValue;

use crate::decode::{EventFault, JsonEntries, lax_json::text};
use forgeline_json::slice;
use forgeline_types::Text;

/// Maximum depth of a path in the arguments.
const MAX_DEPTH: usize = 64;

/// The arguments of one call, as written so far.
#[derive(Debug, Default)]
pub(super) struct PartialArgs {
    /// The open objects and lists, starting with the arguments themselves.
    open: Vec<OpenContainer>,
    /// The path of the string that continues.
    text: Option<Vec<PathStep>>,
}

/// A step from a value to a value inside it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum PathStep {
    Key(Text),
    Index(usize),
}

/// An open object or list.
#[derive(Debug)]
struct OpenContainer {
    /// The step that leads to the container.
    step: Option<PathStep>,
    kind: ContainerKind,
}

#[derive(Debug)]
enum ContainerKind {
    /// An object, with the keys written so far.
    Object(HashSet<Text>),
    /// A list, with the number of its members.
    List(usize),
}

impl PartialArgs {
    /// Returns the JSON text that a piece adds.
    pub(super) fn piece(&mut self, piece: &JsonEntries<'_>) -> Result<Text, EventFault> {
        let place = piece.text("jsonPath");
        let path = steps(&place).ok_or_else(|| fault(&place, "is not a place in the arguments"))?;
        let mut out = String::new();
        let goes_on = piece.get("willContinue").is_some_and(|raw| raw.get() == "true");
        let words = piece.get("stringValue");
        if self.text.as_ref() != Some(&path) {
            self.end_text(&mut out);
            // Null is a value if it is written, but `get` hides it.
            let value =
                words.or_else(|| piece.get("numberValue")).or_else(|| piece.get("boolValue"));
            let is_null = piece.written("nullValue").is_some();
            let Some(value) = value.or(is_null.then_some(RawValue::NULL)) else {
                return Ok(Text::from(out));
            };
            self.go(&path, &place, &mut out)?;
            if words.is_none() {
                out.push_str(value.get());
                return Ok(Text::from(out));
            }
            out.push('"');
            self.text = Some(path);
        }
        let quoted = serde_json::to_string(text(words).as_str()).unwrap_or_default();
        out.push_str(slice(&quoted, 1..quoted.len().saturating_sub(1)));
        if !goes_on {
            self.end_text(&mut out);
        }
        Ok(Text::from(out))
    }

    /// Returns the JSON text that completes the arguments.
    pub(super) fn end(&mut self) -> Text {
        let mut out = String::new();
        self.end_text(&mut out);
        if self.open.is_empty() {
            out.push_str("{}");
        }
        self.close(0, &mut out);
        Text::from(out)
    }

    fn end_text(&mut self, out: &mut String) {
        if take(&mut self.text).is_some() {
            out.push('"');
        }
    }

    fn close(&mut self, depth: usize, out: &mut String) {
        while self.open.len() > depth {
            let Some(container) = self.open.pop() else { return };
            out.push(if matches!(container.kind, ContainerKind::Object(_)) { '}' } else { ']' });
        }
    }

    /// Writes the text before the value at `path`.
    fn go(&mut self, path: &[PathStep], place: &str, out: &mut String) -> Result<(), EventFault> {
        if self.open.is_empty() {
            self.begin(None, path.first(), out);
        }
        let parents = path.len().saturating_sub(1);
        let is_open = |(container, step): &(&OpenContainer, &PathStep)| {
            container.step.as_ref() == Some(*step)
        };
        let shared =
            self.open.iter().skip(1).zip(path.iter().take(parents)).take_while(is_open).count();
        self.close(shared + 1, out);
        for (at, step) in path.iter().enumerate().skip(shared) {
            let Some(container) = self.open.last_mut() else { return Ok(()) };
            container
                .member(step, out)
                .ok_or_else(|| fault(place, "does not follow the pieces before"))?;
            if at < parents {
                self.begin(Some(step.clone()), path.get(at + 1), out);
            }
        }
        Ok(())
    }

    fn begin(&mut self, step: Option<PathStep>, next: Option<&PathStep>, out: &mut String) {
        let is_list = matches!(next, Some(PathStep::Index(_)));
        out.push(if is_list { '[' } else { '{' });
        let kind =
            if is_list { ContainerKind::List(0) } else { ContainerKind::Object(HashSet::new()) };
        self.open.push(OpenContainer { step, kind });
    }
}

impl OpenContainer {
    /// Writes the text before a member; `None` if the member cannot follow what is already written.
    fn member(&mut self, step: &PathStep, out: &mut String) -> Option<()> {
        match (&mut self.kind, step) {
            (ContainerKind::Object(keys), PathStep::Key(key)) => {
                let is_first = keys.is_empty();
                if !keys.insert(key.clone()) {
                    return None;
                }
                out.push_str(if is_first { "" } else { "," });
                out.push_str(&serde_json::to_string(key.as_str()).ok()?);
                out.push(':');
            }
            (ContainerKind::List(count), PathStep::Index(index)) => {
                if index != count {
                    return None;
                }
                out.push_str(if *count == 0 { "" } else { "," });
                *count += 1;
            }
            _ => return None,
        }
        Some(())
    }
}

fn fault(place: &str, reason: &str) -> EventFault {
    EventFault::data(&format!("a piece of a call's arguments at {place:?}, which {reason}"))
}

/// Parses a path such as `$.list[0].name` or `$['a.b']`.
fn steps(path: &str) -> Option<Vec<PathStep>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let (step, after) = if let Some(name) = rest.strip_prefix('.') {
            let end = name.find(['.', '[']).unwrap_or(name.len());
            let (name, after) = name.split_at_checked(end)?;
            (PathStep::Key(Text::from(name)), after)
        } else {
            let inner = rest.strip_prefix('[')?;
            if let Some(quote) = inner.chars().next().filter(|quote| matches!(quote, '\'' | '"')) {
                let end = format!("{quote}]");
                let (name, after) = inner.get(1..)?.split_once(&end)?;
                (PathStep::Key(Text::from(name)), after)
            } else {
                let (number, after) = inner.split_once(']')?;
                (PathStep::Index(number.parse().ok()?), after)
            }
        };
        steps.push(step);
        rest = after;
    }
    (!steps.is_empty() && steps.len() <= MAX_DEPTH).then_some(steps)
}
