//! The parts of JSON Schema that each provider accepts in the schemas of tools, as data.

/// The parts of JSON Schema that a provider accepts in the schemas of tools that it does not enforce.
///
/// [`SchemaRules`](crate::SchemaRules) are the rules for schemas that it enforces.
///
/// # Examples
///
/// ```
/// use forgeline::llm::{FittedSchema, ToolSchemaRules};
/// use serde_json::json;
///
/// let schema = json!({
///     "type": "object",
///     "properties": { "id": { "type": "string" }, "name": { "type": "string" } },
///     "anyOf": [{ "required": ["id"] }, { "required": ["name"] }],
/// });
/// let FittedSchema::Rewritten { schema, left_out, .. } = ToolSchemaRules::OPENAI.fit(&schema)? else {
///     panic!("OpenAI takes no union at the top");
/// };
/// assert_eq!(schema.get("anyOf"), None);
/// assert_eq!(left_out, ["anyOf"]);
/// # Ok::<(), forgeline::llm::UnfitSchema>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolSchemaRules {
    /// The vendor's documentation of these rules, or the text of its rejection.
    pub source: &'static str,
    /// The day on which the source was read, such as `2026-11-24`.
    pub date: &'static str,
    /// Keywords that must not appear at the root, although they may in subschemas.
    pub not_at_top: &'static [&'static str],
    /// The keywords that are supported; `None` if all are, or are ignored without harm.
    pub keywords: Option<&'static [&'static str]>,
    /// The formats of strings and numbers that are supported; `None` if all are.
    pub formats: Option<&'static [&'static str]>,
    /// The treatment of references.
    pub references: References,
    /// Additional requirements of the provider.
    pub needs: &'static [SchemaNeed],
}

/// The treatment of the references in a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum References {
    /// References into `$defs` and `definitions` are kept, others are inlined.
    Kept,
    /// All references are inlined; if a schema contains itself, the second occurrence becomes any value of its
    /// type.
    WrittenOut,
}

/// A requirement of a provider for the schema of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaNeed {
    /// The root has `properties`.
    Properties,
    /// A schema for arrays has `items`.
    Items,
    /// Names of arguments have at most 64 characters: letters, digits, `_`, `.` and `-`.
    PlainNames,
    /// A `type` is a single name, or a name and `null`.
    SingleTypes,
    /// An `enum` contains only strings and numbers.
    PlainEnums,
    /// A single value is written as an `enum`, not as a `const`.
    EnumForConst,
}

/// The keywords of Gemini's JSON schemas, and those that the walk itself needs.
#[rustfmt::skip]
const GEMINI_KEYWORDS: &[&str] = &[
    "type", "format", "title", "description", "default", "enum", "items", "prefixItems", "minItems",
    "maxItems", "minimum", "maximum", "anyOf", "properties", "additionalProperties", "required",
    "propertyOrdering",
];

/// All keywords except those that an Ollama server drops before the model's template.
#[rustfmt::skip]
const OLLAMA_KEYWORDS: &[&str] = &[
    "type", "format", "title", "description", "default", "examples", "enum", "items", "prefixItems",
    "minItems", "maxItems", "uniqueItems", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "anyOf", "not",
    "properties", "patternProperties", "additionalProperties", "required", "minProperties",
    "maxProperties",
];

impl ToolSchemaRules {
    /// The rules of a provider about which nothing is known: each schema is sent unchanged.
    pub const ANY: Self = Self {
        source: "",
        date: "2026-11-24",
        not_at_top: &[],
        keywords: None,
        formats: None,
        references: References::Kept,
        needs: &[],
    };

    /// The rules of OpenAI's Chat Completions and compatible servers.
    pub const OPENAI: Self = Self {
        source: "`invalid_function_parameters`: \"schema must have type 'object' and not have \
                 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top level\", \"object schema missing \
                 properties\", \"array schema missing items\"",
        not_at_top: &["oneOf", "anyOf", "allOf", "enum", "const", "not"],
        needs: &[SchemaNeed::Properties, SchemaNeed::Items],
        ..Self::ANY
    };

    /// The rules of OpenAI's Responses, the same as for Chat Completions.
    pub const RESPONSES: Self = Self::OPENAI;

    /// The rules of Anthropic Messages.
    pub const ANTHROPIC: Self = Self {
        source: "`invalid_request_error`: \"input_schema does not support oneOf, allOf, or anyOf at the \
                 top level\", \"must match JSON Schema draft 2020-12\", \"Property keys should match \
                 pattern '^[a-zA-Z0-9_.-]{1,64}$'\"",
        not_at_top: &["oneOf", "anyOf", "allOf"],
        needs: &[SchemaNeed::PlainNames],
        ..Self::ANY
    };

    /// The rules of Gemini's `parametersJsonSchema`.
    pub const GEMINI: Self = Self {
        source: "reference of `responseJsonSchema`: \"only the following properties are supported\", \"If \
                 $ref is set on a sub-schema, no other properties\"; 400: \"ref loops are only supported \
                 if they include optional or nullable property values\"",
        not_at_top: &["oneOf", "anyOf", "allOf", "enum", "const", "not"],
        keywords: Some(GEMINI_KEYWORDS),
        formats: Some(&["date-time", "date", "time", "enum", "int32", "int64", "float", "double"]),
        references: References::WrittenOut,
        needs: &[
            SchemaNeed::Items,
            SchemaNeed::SingleTypes,
            SchemaNeed::PlainEnums,
            SchemaNeed::EnumForConst,
        ],
        ..Self::ANY
    };

    /// The rules of Ollama's chat: what its server parses and models' templates show.
    pub const OLLAMA: Self = Self {
        source: "`ToolFunctionParameters` and `ToolProperty` in api/types.go of its server: properties \
                 are objects, and `$ref`, `allOf`, `oneOf` and `const` do not reach the template",
        not_at_top: &["oneOf", "anyOf", "allOf", "enum", "const", "not"],
        keywords: Some(OLLAMA_KEYWORDS),
        references: References::WrittenOut,
        needs: &[SchemaNeed::Properties, SchemaNeed::EnumForConst],
        ..Self::ANY
    };

    /// The rules of Cohere's Chat, version 2.
    pub const COHERE: Self = Self {
        source: "docs.cohere.com, \"Structured outputs\": no composition but unions and no ranges are \
                 enforced; parameters are an object",
        not_at_top: &["oneOf", "anyOf", "allOf", "enum", "const", "not"],
        needs: &[SchemaNeed::Properties],
        ..Self::ANY
    };

    pub(super) fn has(&self, need: SchemaNeed) -> bool {
        self.needs.contains(&need)
    }

    /// Returns `true` if the keyword is supported in subschemas.
    pub(super) fn keeps(&self, keyword: &str) -> bool {
        self.keywords.is_none_or(|known| known.contains(&keyword))
    }
}
