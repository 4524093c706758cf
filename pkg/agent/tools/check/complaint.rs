//! Messages about invalid arguments, for the model.

use std::fmt::Write as _;

use jsonschema::{ValidationError, error::ValidationErrorKind as Kind};
use serde_json::Value;

use crate::tools::ToolError;

/// Returns the problem of `arguments`, with its location.
pub(super) fn complaint(error: &ValidationError<'_>, arguments: &Value) -> ToolError {
    let error = nearest(error);
    let mut path = path(error, arguments);
    if let Kind::Required { property } = error.kind()
        && let Some(name) = property.as_str()
    {
        push(&mut path, name);
    }
    ToolError::invalid(path, problem(error))
}

/// Returns the most specific error inside a union: that of the alternative whose type the value has.
fn nearest<'e>(error: &'e ValidationError<'_>) -> &'e ValidationError<'e> {
    let (Kind::AnyOf { context } | Kind::OneOfNotValid { context }) = error.kind() else {
        return error;
    };
    let depth = |error: &ValidationError<'_>| error.instance_path().segments().count();
    let is_of_form = |inner: &&ValidationError<'static>| {
        let is_other = matches!(
            inner.kind(),
            Kind::Type { .. } | Kind::Constant { .. } | Kind::Enum { .. } | Kind::FalseSchema
        );
        !is_other || depth(inner) > depth(error)
    };
    let meant = context.iter().find(|form| form.iter().all(|inner| is_of_form(&inner)));
    meant.and_then(|form| form.first()).map_or(error, |inner| nearest(inner))
}

fn path(error: &ValidationError<'_>, arguments: &Value) -> String {
    let (mut path, mut at) = (String::new(), Some(arguments));
    for part in error.instance_path().as_str().split('/').skip(1) {
        let name = part.replace("~1", "/").replace("~0", "~");
        if at.is_some_and(Value::is_array) {
            // Writing to a string cannot fail.
            let _written = write!(path, "[{name}]");
            at = at.and_then(|items| items.get(name.parse::<usize>().ok()?));
        } else {
            push(&mut path, &name);
            at = at.and_then(|fields| fields.get(&name));
        }
    }
    path
}

fn push(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

fn problem(error: &ValidationError<'_>) -> String {
    match error.kind() {
        Kind::Required { .. } => "is missing".to_owned(),
        Kind::Minimum { limit } => format!("must be at least {limit}"),
        Kind::Maximum { limit } => format!("must be at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("must be more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("must have at least {limit} characters"),
        Kind::MaxLength { limit } => format!("must have at most {limit} characters"),
        Kind::MinItems { limit } => format!("must have at least {limit} items"),
        Kind::MaxItems { limit } => format!("must have at most {limit} items"),
        Kind::AdditionalItems { limit } => format!("must have at most {limit} items"),
        Kind::MinProperties { limit } => format!("must have at least {limit} fields"),
        Kind::MaxProperties { limit } => format!("must have at most {limit} fields"),
        Kind::UniqueItems => "must not have the same item twice".to_owned(),
        Kind::Contains => "lacks an item that it must contain".to_owned(),
        Kind::Pattern { pattern } => format!("must match the pattern `{pattern}`"),
        Kind::Format { format } => format!("must match the format `{format}`"),
        Kind::Not { .. } => "has a form that is not allowed".to_owned(),
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => {
            "fits none of the allowed forms".to_owned()
        }
        Kind::OneOfMultipleValid { .. } => {
            "fits several forms, and only one of them is allowed".to_owned()
        }
        Kind::FalseSchema => "is unknown; remove it".to_owned(),
        Kind::PropertyNames { error } => format!("has a field whose name {}", problem(error)),
        Kind::AdditionalProperties { unexpected }
        | Kind::UnevaluatedProperties { unexpected }
        | Kind::UnevaluatedItems { unexpected } => {
            format!("has unknown items; remove: {}", unexpected.join(", "))
        }
        // Their messages are already worded for the model, or have no helpful wording.
        Kind::Type { .. }
        | Kind::Constant { .. }
        | Kind::Enum { .. }
        | Kind::BacktrackLimitExceeded { .. }
        | Kind::RegexEngineFailure { .. }
        | Kind::ContentEncoding { .. }
        | Kind::ContentMediaType { .. }
        | Kind::Custom { .. }
        | Kind::FromUtf8 { .. }
        | Kind::Referencing(_) => error.to_string(),
    }
}
