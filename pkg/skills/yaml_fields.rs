//! The subset of YAML that skills use in their frontmatter: strings, lists of strings, and maps of strings.

use std::borrow::Cow;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput};

use super::line_fault::{LineFault, fault};

/// The fields of a document: name, line and value.
pub(super) type FrontmatterFields = Vec<(String, usize, YamlValue)>;

/// The value of a field.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum YamlValue {
    Text(String),
    /// The strings of a list.
    List(Vec<String>),
    /// The members of a map whose values are strings.
    Map(Vec<(String, String)>),
    /// A reference to another value.
    Other,
}

/// Returns the fields of a document that starts after `lines_before` lines.
pub(super) fn values(yaml: &str, lines_before: usize) -> Result<FrontmatterFields, LineFault> {
    let mut events = YamlEvents { parser: Parser::new_from_str(yaml), lines_before };
    let mut fields = FrontmatterFields::new();
    loop {
        match events.next()? {
            (Event::StreamStart | Event::DocumentStart(_), _) => {}
            (Event::MappingStart(..), _) => break,
            (Event::StreamEnd, _) => return Ok(fields),
            (Event::Scalar(text, ..), _) if is_null(&text) => {}
            (_, line) => {
                return Err(fault(line, "expected lines `key: value`, such as `name: pdf`"));
            }
        }
    }
    loop {
        let (key, line) = match events.next()? {
            (Event::MappingEnd, _) => return Ok(fields),
            (Event::Scalar(key, ..), line) => (key.into_owned(), line),
            (_, line) => return Err(fault(line, "a key must be a text, such as `name`")),
        };
        if fields.iter().any(|(known, ..)| *known == key) {
            return Err(fault(line, format!("`{key}` is a duplicate key; remove one of them")));
        }
        let value = events.value()?;
        fields.push((key, line, value));
    }
}

/// The events of a document.
struct YamlEvents<'y> {
    parser: Parser<'y, StrInput<'y>>,
    lines_before: usize,
}

impl<'y> YamlEvents<'y> {
    /// Returns the next event and its line.
    fn next(&mut self) -> Result<(Event<'y>, usize), LineFault> {
        let next: Option<Result<(Event<'y>, Span), ScanError>> = self.parser.next_event();
        match next {
            None => Ok((Event::StreamEnd, self.lines_before)),
            Some(Ok((event, span))) => Ok((event, self.lines_before + span.start.line())),
            Some(Err(error)) => {
                let line = self.lines_before + error.marker().line();
                let problem = format!(
                    "this is not YAML: {}; put a text with `: ` or ` #` into quotes",
                    error.info()
                );
                Err(fault(line, problem))
            }
        }
    }

    /// Returns the value that starts with the next event; values nested inside a list or map are left out.
    fn value(&mut self) -> Result<YamlValue, LineFault> {
        match self.next()?.0 {
            Event::Scalar(text, style, ..) => Ok(YamlValue::Text(written(text, style))),
            Event::SequenceStart(..) => {
                let texts = self.inside()?.into_iter().flatten();
                Ok(YamlValue::List(texts.collect()))
            }
            Event::MappingStart(..) => {
                let inside = self.inside()?;
                let pairs = inside.chunks(2).filter_map(|pair| match pair {
                    [Some(key), Some(value)] => Some((key.clone(), value.clone())),
                    _ => None,
                });
                Ok(YamlValue::Map(pairs.collect()))
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::Alias(_)
            | Event::SequenceEnd
            | Event::MappingEnd => Ok(YamlValue::Other),
        }
    }

    /// Returns the strings up to the end of the current list or map, and `None` for each other value in it.
    fn inside(&mut self) -> Result<Vec<Option<String>>, LineFault> {
        let (mut found, mut depth) = (Vec::new(), 0_usize);
        loop {
            match self.next()?.0 {
                Event::SequenceStart(..) | Event::MappingStart(..) => {
                    depth += 1;
                    if depth == 1 {
                        found.push(None);
                    }
                }
                Event::SequenceEnd | Event::MappingEnd if depth > 0 => depth -= 1,
                Event::SequenceEnd | Event::MappingEnd | Event::StreamEnd => return Ok(found),
                Event::Scalar(text, style, ..) if depth == 0 => {
                    found.push(Some(written(text, style)));
                }
                // A reference to another value.
                Event::Alias(_) if depth == 0 => found.push(None),
                Event::Nothing
                | Event::StreamStart
                | Event::DocumentStart(_)
                | Event::DocumentEnd
                | Event::Alias(_)
                | Event::Scalar(..) => {}
            }
        }
    }
}

/// Returns the text of a value; a null becomes an empty text.
fn written(text: Cow<'_, str>, style: ScalarStyle) -> String {
    if style == ScalarStyle::Plain && is_null(&text) { String::new() } else { text.into_owned() }
}

fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null")
}
