//! Bodies that are changed at random.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::RequestProblem;

/// The number of values in a body, itself included.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(members) => members.values().map(count).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Replaces the value with this number by another one.
fn replace(value: &mut Value, at: &mut usize, other: &Value) {
    if *at == 0 {
        *value = other.clone();
    }
    *at = at.wrapping_sub(1);
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, at, other)),
        Value::Object(members) => members.values_mut().for_each(|it| replace(it, at, other)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Checks that bodies in which values are others, or which are cut or overwritten, are read or refused with a place that they have.
pub(crate) fn mutated(body: &Value, read: impl Fn(&[u8]) -> Result<(), RequestProblem>) {
    assert_eq!(read(body.to_string().as_bytes()), Ok(()));
    let others = [
        json!(null),
        json!(true),
        json!(-7),
        json!(1e300),
        json!(""),
        json!("text"),
        json!([]),
        json!({}),
        json!([7]),
        json!(["x"]),
        json!([[]]),
        json!([{}]),
        json!({ "type": "text" }),
        json!({ "type": 7 }),
    ];
    let values = count(body);
    proptest!(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }, |(
        changes in prop::collection::vec((0..values, 0..others.len()), 1..4),
        bytes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        end in any::<prop::sample::Index>(),
        is_cut in prop::bool::weighted(0.1),
    )| {
        let mut body = body.clone();
        for (at, other) in changes {
            replace(&mut body, &mut at.clone(), &others[other]);
        }
        let mut written = body.to_string().into_bytes();
        for (at, byte) in bytes {
            let at = at.index(written.len());
            written[at] = byte;
        }
        if is_cut {
            written.truncate(end.index(written.len()));
        }
        if let Err(problem) = read(&written) {
            prop_assert!(!problem.problem.is_empty(), "{problem}");
            let first = problem.place.split(['.', '[']).next().unwrap_or_default();
            let is_there = first.is_empty() || String::from_utf8_lossy(&written).contains(first);
            prop_assert!(is_there || problem.problem.contains("missing") || problem.problem.contains("found null"), "{problem}");
        }
    });
}
