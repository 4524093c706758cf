//! How a family of models writes reasoning and calls.

/// How reasoning is marked in text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThinkingDialect {
    name: &'static str,
}

impl ThinkingDialect {
    /// Text stays as it is.
    pub const NONE: Self = Self { name: "none" };
    /// Recognised by the opener.
    pub const AUTO: Self = Self { name: "auto" };

    /// The dialect of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        [Self::NONE, Self::AUTO].into_iter().find(|dialect| dialect.name == name)
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }
}

/// How tool calls are written as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDialect {
    name: &'static str,
}

impl ToolDialect {
    /// Text stays as it is.
    pub const NONE: Self = Self { name: "none" };
    /// Recognised by the opener.
    pub const AUTO: Self = Self { name: "auto" };
    /// Forge's own: `<tool>` with JSON or XML.
    pub const FORGE: Self = Self { name: "forge" };

    /// The dialect of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        [Self::NONE, Self::AUTO, Self::FORGE].into_iter().find(|dialect| dialect.name == name)
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }
}
