//! Skills in the setup of an agent.

use crate::{AgentBuilder, prompts::SkillSet};

impl AgentBuilder {
    /// Adds skills: their list to the system prompt, and the tool `load_skill`. Adds nothing for an empty set.
    #[must_use]
    pub fn skills(self, skills: &impl SkillSet) -> Self {
        match skills.list() {
            Some(list) => self.system_part(list).tools(skills.loaders()),
            None => self,
        }
    }
}
