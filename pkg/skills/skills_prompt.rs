//! The part of the system prompt that lists the skills.

use std::{future::ready, sync::Arc};

use futures_core::future::BoxFuture;
use quick_xml::escape::partial_escape;

use super::{load_skill::LOAD_SKILL, skill::Skill};
use forgeline_agent::prompts::{PromptContext, SystemPrompt};
use forgeline_parser::{ThinkingDialect, ToolDialect, private::MarkerEscaper};
use forgeline_types::AgentError;

/// The part of the system prompt that lists skills by name and description; see
/// [`Skills::prompt`](super::Skills::prompt).
///
/// The part is left out without skills, and in runs that may not use `load_skill`. Tags and model
/// markers in a description are broken, so that the description is read as data and not obeyed.
#[derive(Debug, Clone)]
pub struct SkillsPrompt {
    text: Arc<str>,
}

impl SkillsPrompt {
    pub(super) fn new<'s>(skills: impl Iterator<Item = &'s Skill>) -> Self {
        let neutral = MarkerEscaper::new(&ToolDialect::AUTO, &ThinkingDialect::AUTO);
        let entry = |skill: &Skill| {
            let words: Vec<_> = skill.description.split_whitespace().collect();
            let words = words.join(" ");
            let escaped = partial_escape(&*words);
            let (name, description) = (&skill.name, neutral.text(&escaped));
            format!(
                "  <skill>\n    <name>{name}</name>\n    <description>{description}</description>\n  </skill>\n"
            )
        };
        let entries: String = skills.map(entry).collect();
        if entries.is_empty() {
            return Self { text: "".into() };
        }
        let text = format!(
            "## Skills\n\nA skill has instructions for one kind of task. Where the description of one fits your \
             task, read it with `{LOAD_SKILL}` before you begin, and follow it. Load none that does not fit.\n\n\
             <available_skills>\n{entries}</available_skills>"
        );
        Self { text: text.into() }
    }
}

impl SystemPrompt for SkillsPrompt {
    fn build(&self, context: PromptContext) -> BoxFuture<'static, Result<String, AgentError>> {
        let is_offered = context.tool_names().any(|name| name == LOAD_SKILL);
        let text = if is_offered { self.text.to_string() } else { String::new() };
        Box::pin(ready(Ok(text)))
    }
}
