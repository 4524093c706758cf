//! The parts of JSON Schema that each provider takes in the schemas of tools, as data.

/// The parts of JSON Schema that a provider takes in the schemas of tools that it does not enforce.
///
/// [`SchemaRules`](crate::llm::SchemaRules) are those of schemas that it enforces.
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
/// let FittedSchema::Rewritten { schema, left_out } = ToolSchemaRules::OPENAI.fit(&schema)? else {
///     panic!("OpenAI takes no union at the top");
/// };
/// assert_eq!(schema.get("anyOf"), None);
/// assert_eq!(left_out, ["anyOf"]);
/// # Ok::<(), forgeline::llm::UnfitSchema>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolSchemaRules {
    /// The place where the vendor says so, or the words of its refusal.
    pub source: &'static str,
    /// The day on which that was read, as `2026-11-24`.
    pub date: &'static str,
    /// Keywords that the whole schema must not have, although a schema inside it may.
    pub not_at_top: &'static [&'static str],
    /// The keywords that are understood; `None` when all are, or are ignored without harm.
    pub keywords: Option<&'static [&'static str]>,
    /// The formats of strings and numbers that are understood; `None` when all are.
    pub formats: Option<&'static [&'static str]>,
    /// The fate of references.
    pub references: References,
    /// Further needs of the provider.
    pub needs: &'static [SchemaNeed],
}

/// The fate of the references of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum References {
    /// Those into `$defs` and `definitions` are kept, others are written out.
    Kept,
    /// Each is written out; where a schema contains itself, the second time anything of its type will
    /// do.
    WrittenOut,
}

/// A need of a provider in the schema of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaNeed {
    /// The whole schema has `properties`.
    Properties,
    /// A schema of arrays has `items`.
    Items,
    /// Names of arguments have at most 64 characters, which are letters, digits, `_`, `.` and `-`.
    PlainNames,
    /// A `type` is one name, or one name and `null`.
    SingleTypes,
    /// An `enum` has strings and numbers only.
    PlainEnums,
    /// A single value is an `enum`, not a `const`.
    EnumForConst,
}

/// The keywords of Gemini's JSON schemas, with those that our own walk needs.
#[rustfmt::skip]
const GEMINI_KEYWORDS: &[&str] = &[
    "type", "format", "title", "description", "default", "enum", "items", "prefixItems", "minItems",
    "maxItems", "minimum", "maximum", "anyOf", "properties", "additionalProperties", "required",
    "propertyOrdering",
];

/// All keywords but those that a server of Ollama drops on the way to the model's template.
#[rustfmt::skip]
const OLLAMA_KEYWORDS: &[&str] = &[
    "type", "format", "title", "description", "default", "examples", "enum", "items", "prefixItems",
    "minItems", "maxItems", "uniqueItems", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "anyOf", "not",
    "properties", "patternProperties", "additionalProperties", "required", "minProperties",
    "maxProperties",
];

impl ToolSchemaRules {
    /// The rules of a provider of which nothing is known: each schema goes unchanged.
    pub const ANY: Self = Self {
        source: "",
        date: "2026-11-24",
        not_at_top: &[],
        keywords: None,
        formats: None,
        references: References::Kept,
        needs: &[],
    };

    /// OpenAI's Chat Completions, and servers that speak it.
    pub const OPENAI: Self = Self {
        source: "`invalid_function_parameters`: \"schema must have type 'object' and not have \
                 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top level\", \"object schema missing \
                 properties\", \"array schema missing items\"",
        not_at_top: &["oneOf", "anyOf", "allOf", "enum", "const", "not"],
        needs: &[SchemaNeed::Properties, SchemaNeed::Items],
        ..Self::ANY
    };

    /// OpenAI's Responses: as Chat Completions.
    pub const RESPONSES: Self = Self::OPENAI;

    /// Anthropic's Messages.
    pub const ANTHROPIC: Self = Self {
        source: "`invalid_request_error`: \"input_schema does not support oneOf, allOf, or anyOf at the \
                 top level\", \"must match JSON Schema draft 2020-12\", \"Property keys should match \
                 pattern '^[a-zA-Z0-9_.-]{1,64}$'\"",
        not_at_top: &["oneOf", "anyOf", "allOf"],
        needs: &[SchemaNeed::PlainNames],
        ..Self::ANY
    };

    /// Gemini's `parametersJsonSchema`.
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

    /// Ollama's chat: what its server parses and the templates of models show.
    pub const OLLAMA: Self = Self {
        source: "`ToolFunctionParameters` and `ToolProperty` in api/types.go of its server: properties \
                 are objects, and `$ref`, `allOf`, `oneOf` and `const` do not reach the template",
        not_at_top: &["oneOf", "anyOf", "allOf", "enum", "const", "not"],
        keywords: Some(OLLAMA_KEYWORDS),
        references: References::WrittenOut,
        needs: &[SchemaNeed::Properties, SchemaNeed::EnumForConst],
        ..Self::ANY
    };

    /// Cohere's Chat, version 2.
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

    /// Returns `true` when the keyword is understood inside the schema.
    pub(super) fn keeps(&self, keyword: &str) -> bool {
        self.keywords.is_none_or(|known| known.contains(&keyword))
    }
}
