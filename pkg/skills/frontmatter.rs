//! The frontmatter of a skill: the YAML between the first two `---` lines.

use std::collections::BTreeMap;

use super::{
    line_fault::{LineFault, fault},
    yaml_fields::{FrontmatterFields, YamlValue, values},
};
use forgeline_types::Text;

/// Maximum length of a skill's name, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// Maximum length of a skill's description, in characters.
const MAX_DESCRIPTION_CHARS: usize = 1_024;

/// Maximum length of the `compatibility` text, in characters.
const MAX_COMPATIBILITY_CHARS: usize = 500;

/// Maximum size of the frontmatter, in bytes.
const MAX_FRONTMATTER_BYTES: usize = 16 << 10;

/// The fields of a skill.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SkillFrontmatter {
    pub(super) name: Text,
    pub(super) description: String,
    pub(super) license: Option<String>,
    pub(super) compatibility: Option<String>,
    pub(super) metadata: BTreeMap<String, String>,
    pub(super) allowed_tools: Vec<String>,
}

/// Returns the fields and the instructions of the skill in the folder `folder`.
pub(super) fn parse<'t>(
    folder: &str,
    text: &'t str,
) -> Result<(SkillFrontmatter, &'t str), LineFault> {
    let SkillFileParts { first_line, yaml, body } = split(text)?;
    if yaml.len() > MAX_FRONTMATTER_BYTES {
        let problem = format!(
            "the frontmatter has {} bytes, more than {MAX_FRONTMATTER_BYTES}; move text below it",
            yaml.len()
        );
        return Err(fault(first_line, problem));
    }
    let fields = fields(&values(yaml, first_line)?, first_line, folder)?;
    Ok((fields, body.trim()))
}

/// The parts of a file.
struct SkillFileParts<'t> {
    /// The number of the line that opens the frontmatter.
    first_line: usize,
    yaml: &'t str,
    body: &'t str,
}

fn split(text: &str) -> Result<SkillFileParts<'_>, LineFault> {
    let (mut at, mut opened) = (0, None);
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let after = at + line.len();
        match (opened, line.trim_end()) {
            (None, "") => {}
            (None, "---") => opened = Some((number, after)),
            (None, _) => break,
            (Some((first_line, start)), "---") => {
                let parts = text.get(start..at).zip(text.get(after..));
                let (yaml, body) = parts.unwrap_or_default();
                return Ok(SkillFileParts { first_line, yaml, body });
            }
            (Some(_), _) => {}
        }
        at = after;
    }
    let problem = "there is no frontmatter; begin the file with a line `---`, the fields `name` and \
                   `description`, and a line `---`";
    let no_end = "the frontmatter has no end; add a line `---` after its fields";
    Err(opened.map_or_else(|| fault(1, problem), |(line, _)| fault(line, no_end)))
}

fn fields(
    document: &FrontmatterFields,
    first_line: usize,
    folder: &str,
) -> Result<SkillFrontmatter, LineFault> {
    let mut fields = SkillFrontmatter::default();
    let (mut has_name, mut has_description) = (false, false);
    for (key, line, value) in document {
        match key.as_str() {
            "name" => {
                let name = text(key, *line, value, MAX_NAME_BYTES)?;
                check_name(name, folder).map_err(|problem| fault(*line, problem))?;
                (fields.name, has_name) = (name.into(), true);
            }
            "description" => {
                fields.description = text(key, *line, value, MAX_DESCRIPTION_CHARS)?.into();
                has_description = true;
            }
            "license" => {
                fields.license = Some(text(key, *line, value, MAX_FRONTMATTER_BYTES)?.to_owned());
            }
            "compatibility" => {
                let needs = text(key, *line, value, MAX_COMPATIBILITY_CHARS)?;
                fields.compatibility = Some(needs.to_owned());
            }
            "metadata" => match value {
                YamlValue::Map(map) => fields.metadata = map.iter().cloned().collect(),
                YamlValue::Text(text) if text.is_empty() => {}
                YamlValue::Text(_) | YamlValue::List(_) | YamlValue::Other => {
                    return Err(fault(*line, "`metadata` must be a list of `key: value` lines"));
                }
            },
            "allowed-tools" => match value {
                YamlValue::List(names) => fields.allowed_tools.clone_from(names),
                YamlValue::Text(names) => {
                    fields.allowed_tools = names.split_whitespace().map(str::to_owned).collect();
                }
                YamlValue::Map(_) | YamlValue::Other => {
                    return Err(fault(*line, "`allowed-tools` must be names with spaces between"));
                }
            },
            // Other programs may define additional fields.
            _ => {}
        }
    }
    let missing = [("name", has_name), ("description", has_description)];
    match missing.into_iter().find(|(_, is_there)| !is_there) {
        Some((key, _)) => {
            Err(fault(first_line, format!("`{key}` is missing; add a line `{key}: …`")))
        }
        None => Ok(fields),
    }
}

/// Returns the text of a field.
fn text<'v>(
    key: &str,
    line: usize,
    value: &'v YamlValue,
    max: usize,
) -> Result<&'v str, LineFault> {
    let YamlValue::Text(text) = value else {
        return Err(fault(line, format!("`{key}` must be a text; put it into quotes")));
    };
    let (text, chars) = (text.trim(), text.trim().chars().count());
    if chars == 0 {
        return Err(fault(line, format!("`{key}` is empty; write a text, or remove the line")));
    }
    if chars > max {
        let problem = format!("`{key}` has {chars} characters; shorten it to at most {max}");
        return Err(fault(line, problem));
    }
    Ok(text)
}

/// Checks that a name is valid and equals the name of its folder.
fn check_name(name: &str, folder: &str) -> Result<(), String> {
    if !is_name(name) {
        return Err(format!(
            "the name `{name}` is not valid; use lower case letters, digits and single hyphens \
             between them, at most {MAX_NAME_BYTES}"
        ));
    }
    if name != folder {
        return Err(format!(
            "the name `{name}` is not that of the folder `{folder}`; rename one of them"
        ));
    }
    Ok(())
}

/// Returns `true` for a valid skill name.
fn is_name(name: &str) -> bool {
    let is_part = |part: &str| {
        let is_fit = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        !part.is_empty() && part.bytes().all(is_fit)
    };
    name.len() <= MAX_NAME_BYTES && name.split('-').all(is_part)
}
