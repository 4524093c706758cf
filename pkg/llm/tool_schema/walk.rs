//! The walk through a schema that rewrites it.
//!
//! Each step keeps what is allowed or allows more, never less. In contexts in which more would mean less, such as inside `not`,
//! a schema that cannot be kept is left out whole.

use serde_json::{Value, json};

use super::{
    References, SchemaNeed, ToolSchemaRules, UnfitSchema,
    draft::{self, LISTS, MAPS, NOTES, SINGLES},
    enums,
    merge::{SchemaFields, conjoin, says_nothing},
    references::SchemaDefinitions,
};

/// Maximum depth of a schema that is rewritten.
pub(super) const MAX_DEPTH: usize = 64;

/// Maximum number of parts of a schema once its references are inlined.
pub(super) const MAX_PARTS: usize = 10_000;

/// One walk through a schema.
pub(super) struct SchemaRewrite<'s> {
    pub(super) rules: &'s ToolSchemaRules,
    pub(super) definitions: SchemaDefinitions<'s>,
    /// The references that are being inlined.
    open: Vec<String>,
    /// The number of times that a schema is inlined inside itself.
    repeats: usize,
    /// Keywords that the schema's draft does not have; not empty if the draft is an old one.
    unknown: Vec<&'static str>,
    parts: usize,
    /// The number of times that the result allowed more than the original.
    wider: usize,
    /// The number of enclosing keywords that turn more into less.
    turned: usize,
    twists: NarrowingRisks,
    left_out: Vec<String>,
}

/// The conditions that together could make a schema allow less.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "two facts that are wanted together")]
struct NarrowingRisks {
    /// A reference was kept in a context in which more turns into less.
    turned_reference: bool,
    /// A definition allows more than the original.
    wider_definition: bool,
}

/// The result of a walk.
pub(super) struct WalkResult {
    /// The keywords that are no longer expressed.
    pub(super) left_out: Vec<String>,
    /// `true` if a definition allows more and is used in a context that then allows less.
    pub(super) is_twisted: bool,
}

impl<'s> SchemaRewrite<'s> {
    pub(super) fn new(rules: &'s ToolSchemaRules, root: &'s Value, repeats: usize) -> Self {
        Self {
            rules,
            definitions: SchemaDefinitions::new(root),
            open: vec!["#".to_owned()],
            repeats,
            unknown: draft::unknown_in(root),
            parts: 0,
            wider: 0,
            turned: 0,
            twists: NarrowingRisks::default(),
            left_out: Vec::new(),
        }
    }

    pub(super) fn end(self) -> WalkResult {
        let is_twisted = self.twists.turned_reference && self.twists.wider_definition;
        WalkResult { left_out: self.left_out, is_twisted }
    }

    /// Records that the meaning of `keyword` is no longer expressed.
    pub(super) fn leave_out(&mut self, keyword: &str) {
        self.wider += 1;
        if !self.left_out.iter().any(|known| known == keyword) {
            self.left_out.push(keyword.to_owned());
        }
    }

    fn is_old(&self) -> bool {
        !self.unknown.is_empty()
    }

    fn enter(&mut self, depth: usize) -> Result<(), UnfitSchema> {
        self.parts += 1;
        if depth > MAX_DEPTH {
            return Err(UnfitSchema::TooDeep(MAX_DEPTH));
        }
        if self.parts > MAX_PARTS { Err(UnfitSchema::TooLarge(MAX_PARTS)) } else { Ok(()) }
    }

    /// Rewrites a schema.
    fn schema(&mut self, schema: Value, depth: usize) -> Result<Value, UnfitSchema> {
        self.enter(depth)?;
        let fields = match schema {
            Value::Object(fields) => fields,
            Value::Bool(true) => return Ok(json!({})),
            Value::Bool(false) => return Ok(self.nothing()),
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                self.leave_out("schema");
                return Ok(json!({}));
            }
        };
        let open = self.open.len();
        let before = fields.clone();
        let fitted = match self.opened(fields, depth, false)? {
            Some(fields) => Value::Object(self.fields(fields, &before, depth)?),
            None => self.nothing(),
        };
        self.open.truncate(open);
        Ok(fitted)
    }

    /// Returns a schema that allows nothing.
    fn nothing(&mut self) -> Value {
        if self.rules.keeps("not") {
            return json!({ "not": {} });
        }
        self.leave_out("false");
        json!({})
    }

    /// Returns a schema in the newest draft, with its references and, if they are not
    /// accepted, its `allOf` inlined; `None` if it allows nothing.
    pub(super) fn opened(
        &mut self,
        mut fields: SchemaFields,
        depth: usize,
        is_top: bool,
    ) -> Result<Option<SchemaFields>, UnfitSchema> {
        self.modernise(&mut fields);
        while let Some(reference) = fields.get("$ref").and_then(Value::as_str).map(str::to_owned) {
            if self.is_old() {
                let stays = |key: &str| key == "$ref" || is_place(key) || NOTES.contains(&key);
                fields.retain(|key, _| stays(key));
            }
            let is_kept = self.rules.references == References::Kept;
            if is_kept && !is_top && self.definitions.is_definition(&reference) {
                self.twists.turned_reference |= self.turned > 0;
                break;
            }
            self.enter(depth)?;
            fields.shift_remove("$ref");
            let target = self.target(reference);
            if target == Value::Bool(false) {
                return Ok(None);
            }
            let Value::Object(mut target) = target else { continue };
            self.modernise(&mut target);
            fields = self.both(fields, target, "$ref", is_top);
        }
        let flattens = is_top || !self.rules.keeps("allOf");
        if flattens && let Some(Value::Array(members)) = fields.shift_remove("allOf") {
            for member in members {
                self.enter(depth + 1)?;
                if member == Value::Bool(false) {
                    return Ok(None);
                }
                let Value::Object(member) = member else { continue };
                let Some(member) = self.opened(member, depth + 1, is_top)? else { return Ok(None) };
                fields = self.both(fields, member, "allOf", is_top);
            }
        }
        Ok(Some(fields))
    }

    fn modernise(&mut self, fields: &mut SchemaFields) {
        for keyword in draft::modernise(fields, &self.unknown) {
            self.leave_out(&keyword);
        }
        // Draft 7 checks formats, later drafts do not.
        self.wider += usize::from(self.is_old() && fields.contains_key("format"));
    }

    /// Returns the schema that a reference refers to.
    fn target(&mut self, reference: String) -> Value {
        let Some(target) = self.definitions.find(&reference) else {
            self.leave_out("$ref");
            return Value::Bool(true);
        };
        if self.open.iter().filter(|open| **open == reference).count() > self.repeats {
            self.leave_out("$ref");
            return draft::by_type(target);
        }
        self.open.push(reference);
        target.clone()
    }

    /// Returns a schema that requires both, as far as it can be expressed.
    pub(super) fn both(
        &mut self,
        own: SchemaFields,
        other: SchemaFields,
        keyword: &str,
        is_top: bool,
    ) -> SchemaFields {
        if let Some(both) = conjoin(&own, &other) {
            return both;
        }
        if self.rules.keeps("allOf") && !is_top {
            return SchemaFields::from_iter([("allOf".to_owned(), json!([own, other]))]);
        }
        self.leave_out(keyword);
        if keyword == "allOf" { own } else { other }
    }

    /// Rewrites the keywords of one level, whose references are already inlined; `before` is the original.
    pub(super) fn fields(
        &mut self,
        mut fields: SchemaFields,
        before: &SchemaFields,
        depth: usize,
    ) -> Result<SchemaFields, UnfitSchema> {
        if self.rules.has(SchemaNeed::EnumForConst) && !enums::single_value(&mut fields) {
            self.leave_out("const");
        }
        if self.rules.has(SchemaNeed::PlainEnums) && !enums::plain_enum(&mut fields) {
            self.leave_out("enum");
        }
        if self.rules.has(SchemaNeed::SingleTypes) && !enums::single_types(&mut fields) {
            self.leave_out("type");
        }
        if !self.rules.keeps("oneOf") {
            self.any_for_one(&mut fields);
        }
        self.drop_unknown(&mut fields, depth);
        closed_list(&mut fields);
        let looks_around = fields.keys().any(|key| key.starts_with("unevaluated"));
        self.turned += usize::from(looks_around);
        let mut fitted = SchemaFields::new();
        for (key, value) in fields {
            if let Some(value) = self.member(&key, value, depth, &mut fitted)? {
                fitted.insert(key, value);
            }
        }
        self.turned -= usize::from(looks_around);
        if !fitted.contains_key("if") {
            fitted.retain(|key, _| key != "then" && key != "else");
        }
        // Their meaning depends on the keywords around them.
        if looks_around && fitted != *before {
            fitted.retain(|key, _| !key.starts_with("unevaluated"));
            self.leave_out("unevaluatedProperties");
        }
        if self.rules.has(SchemaNeed::Items) && has_arrays(&fitted) && !fitted.contains_key("items")
        {
            fitted.insert("items".to_owned(), json!({}));
        }
        Ok(fitted)
    }

    /// Replaces `oneOf` with `anyOf`, which also allows values that match two of the options.
    fn any_for_one(&mut self, fields: &mut SchemaFields) {
        if let Some(options) = fields.shift_remove("oneOf") {
            self.leave_out("oneOf");
            fields.entry("anyOf").or_insert(options);
        }
    }

    /// Removes the keywords that are not supported, and those whose meaning would change as a result.
    fn drop_unknown(&mut self, fields: &mut SchemaFields, depth: usize) {
        let keeps_places = self.rules.references == References::Kept && depth == 0;
        fields.retain(|key, _| !is_place(key) || keeps_places);
        let Some(known) = self.rules.keywords else { return };
        let mut unknown: Vec<_> =
            fields.keys().filter(|key| !known.contains(&key.as_str())).cloned().collect();
        if unknown.iter().any(|key| key == "patternProperties") {
            unknown.push("additionalProperties".to_owned());
        }
        if unknown.iter().any(|key| key == "prefixItems") {
            unknown.push("items".to_owned());
        }
        for key in unknown {
            if fields.shift_remove(&key).is_some() && !NOTES.contains(&key.as_str()) {
                self.leave_out(&key);
            }
        }
        if let Some(formats) = self.rules.formats
            && let Some(format) = fields.get("format").and_then(Value::as_str)
            && !formats.contains(&format)
        {
            fields.shift_remove("format");
            self.leave_out("format");
        }
    }

    /// Rewrites the value of a keyword; `None` removes the keyword.
    fn member(
        &mut self,
        key: &str,
        value: Value,
        depth: usize,
        fitted: &mut SchemaFields,
    ) -> Result<Option<Value>, UnfitSchema> {
        match value {
            Value::Object(members) if MAPS.contains(&key) => {
                Ok(Some(Value::Object(self.members(key, members, depth)?)))
            }
            Value::Array(members) if LISTS.contains(&key) => {
                let (wider, turns) = (self.wider, usize::from(key == "oneOf"));
                self.turned += turns;
                let members = members.into_iter().map(|member| self.schema(member, depth + 1));
                let members = Value::Array(members.collect::<Result<_, _>>()?);
                self.turned -= turns;
                if key == "oneOf" && self.wider > wider {
                    self.leave_out("oneOf");
                    fitted.entry("anyOf").or_insert(members);
                    return Ok(None);
                }
                Ok(Some(members))
            }
            value @ (Value::Object(_) | Value::Bool(_)) if SINGLES.contains(&key) => {
                self.single(key, value, depth)
            }
            value @ (Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_)) => Ok(Some(value)),
        }
    }

    fn members(
        &mut self,
        key: &str,
        members: SchemaFields,
        depth: usize,
    ) -> Result<SchemaFields, UnfitSchema> {
        let mut fitted = SchemaFields::new();
        let wider = self.wider;
        for (name, member) in members {
            if key == "properties" && member == Value::Bool(false) {
                self.leave_out("false");
                continue;
            }
            fitted.insert(name, self.schema(member, depth + 1)?);
        }
        self.twists.wider_definition |= is_place(key) && self.wider > wider;
        Ok(fitted)
    }

    /// Rewrites the single schema of a keyword.
    fn single(
        &mut self,
        key: &str,
        value: Value,
        depth: usize,
    ) -> Result<Option<Value>, UnfitSchema> {
        if value.is_boolean() && (key == "additionalProperties" || key.starts_with("unevaluated")) {
            return Ok(Some(value));
        }
        let turns = matches!(key, "not" | "if" | "contains");
        let wider = self.wider;
        self.turned += usize::from(turns);
        let schema = self.schema(value, depth + 1)?;
        self.turned -= usize::from(turns);
        if turns && self.wider > wider {
            self.leave_out(key);
            return Ok(None);
        }
        Ok(Some(schema))
    }
}

/// Expresses by its length that a list has no further items.
fn closed_list(fields: &mut SchemaFields) {
    if fields.get("items") != Some(&Value::Bool(false)) {
        return;
    }
    fields.shift_remove("items");
    let tuple = fields.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len);
    let own = fields.get("maxItems").and_then(Value::as_u64);
    let most = own.map_or(tuple as u64, |own| own.min(tuple as u64));
    fields.insert("maxItems".to_owned(), json!(most));
}

/// Returns `true` for a keyword that contains definitions.
pub(super) fn is_place(key: &str) -> bool {
    key == "$defs" || key == "definitions"
}

/// Returns `true` for a schema whose `type` is or includes an array.
fn has_arrays(schema: &SchemaFields) -> bool {
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "array"),
        kind => kind.is_some_and(|kind| kind == "array"),
    }
}

/// Returns `true` if one of these schemas consists of annotations only.
pub(super) fn allows_all(members: &[SchemaFields]) -> bool {
    members.iter().any(says_nothing)
}
