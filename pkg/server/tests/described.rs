//! The description of the routes: each response of the tests of the service is as it says.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, LazyLock, Mutex},
};

use axum::{
    extract::{MatchedPath, Request},
    middleware::Next,
};
use jsonschema::Validator;

use super::*;

/// The description. Its objects have no other members than those that it names.
static DESCRIPTION: LazyLock<Value> = LazyLock::new(|| {
    let mut description = openapi();
    let schemas = description["components"]["schemas"].as_object_mut().unwrap();
    for (name, schema) in schemas {
        // A problem may have members that tell more.
        if name != "Problem" {
            close(schema);
        }
    }
    description
});

fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members.contains_key("properties") && !members.contains_key("additionalProperties") {
                members.insert("additionalProperties".to_owned(), false.into());
            }
            members.values_mut().for_each(close);
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns the validator of a schema in the description.
fn validator(schema: &Value) -> Arc<Validator> {
    static KNOWN: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap();
    let build = || {
        let mut whole = schema.clone();
        whole["components"] = DESCRIPTION["components"].clone();
        Arc::new(jsonschema::validator_for(&whole).unwrap())
    };
    Arc::clone(known.entry(schema.to_string()).or_insert_with(build))
}

/// The router of the service, which checks its responses.
pub(super) fn router(service: Service) -> Router {
    crate::router(service).layer(axum::middleware::from_fn(checked))
}

/// Returns the description of a path as the router knows it, below any other path.
fn item(path: &str) -> Option<&'static Value> {
    let path = path.replace('*', "");
    let paths = DESCRIPTION["paths"].as_object().unwrap();
    let own = paths.iter().filter(|(own, _)| path.ends_with(own.as_str()));
    own.max_by_key(|(own, _)| own.len()).map(|(_, item)| item)
}

async fn checked(request: Request, next: Next) -> Response {
    let method = request.method().as_str().to_ascii_lowercase();
    let path = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let response = next.run(request).await;
    let of = path.as_deref().and_then(|path| Some((path, item(path)?)));
    let Some((path, item)) = of else {
        let own = ["/", "/console/{name}"];
        let is_own = path.as_deref().is_none_or(|path| own.iter().any(|it| path.ends_with(it)));
        assert!(is_own, "{path:?} is not described");
        return response;
    };
    let status = response.status();
    let described = item.get(&method).or_else(|| item.get("get").filter(|_| method == "head"));
    let Some(operation) = described else {
        // A preflight request of a page of another origin is answered before the routes.
        let is_refused = status == StatusCode::METHOD_NOT_ALLOWED || method == "options";
        assert!(is_refused || status.as_u16() >= 400, "{method} {path}: {status} is not described");
        return response;
    };
    let answers = &operation["responses"];
    let kind = response.headers().get(header::CONTENT_TYPE);
    let kind = kind.map(|kind| kind.to_str().unwrap().split(';').next().unwrap().to_owned());
    let answer = match answers.get(status.as_str()) {
        Some(answer) if kind.as_deref() != Some("application/problem+json") => answer,
        _ => {
            assert!(status.as_u16() >= 400, "{method} {path}: {status} is not described");
            &answers["default"]
        }
    };
    if answer.get("content").is_none() {
        // It may have the type of what it is about.
        let (head, body) = response.into_parts();
        let bytes = to_bytes(body, 64 << 20).await.unwrap();
        assert!(bytes.is_empty(), "{method} {path}: {status} has a body: {bytes:?}");
        return Response::from_parts(head, Body::empty());
    }
    let (Some(kind), true) = (kind, method != "head") else { return response };
    let content = answer["content"].get(&kind).or_else(|| answer["content"].get("*/*"));
    let content = content.unwrap_or_else(|| panic!("{method} {path}: {status} with {kind}"));
    let Some(schema) = content.get("schema") else { return response };
    let (head, body) = response.into_parts();
    let bytes = to_bytes(body, 64 << 20).await.unwrap();
    let value = serde_json::from_slice(&bytes).unwrap();
    let validator = validator(schema);
    let problems: Vec<_> = validator.iter_errors(&value).map(|it| it.to_string()).collect();
    assert!(problems.is_empty(), "{method} {path}: {status}: {problems:?} in {value}");
    Response::from_parts(head, Body::from(bytes))
}

#[test]
fn the_description_is_valid_openapi() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/openapi-3.1.json");
    let meta: Value = serde_json::from_slice(&std::fs::read(folder).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&meta).unwrap();
    let description = openapi();
    let problems: Vec<_> = validator.iter_errors(&description).map(|it| it.to_string()).collect();
    assert!(problems.is_empty(), "{problems:?}");
    for (name, schema) in description["components"]["schemas"].as_object().unwrap() {
        assert!(jsonschema::draft202012::meta::is_valid(schema), "{name}: {schema}");
    }
    let mut wrong = description;
    wrong["paths"]["/v1/runs"]["post"]["responses"] = json!([]);
    assert!(!validator.is_valid(&wrong));
}

#[test]
fn each_reference_has_its_schema_and_each_operation_a_name_of_its_own() {
    let description = openapi();
    let text = description.to_string();
    for reference in text.split("\"$ref\":\"#").skip(1) {
        let pointer = reference.split('"').next().unwrap();
        assert!(description.pointer(pointer).is_some(), "{pointer}");
    }
    let mut names = BTreeSet::new();
    for item in description["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            let name = operation["operationId"].as_str().unwrap();
            assert!(names.insert(name.to_owned()), "{name} twice");
            assert!(operation["summary"].as_str().unwrap().ends_with('.'), "{operation}");
        }
    }
    assert!(names.len() >= 30, "{names:?}");
}

#[tokio::test]
async fn the_page_on_the_service_lists_each_route_that_is_described() {
    let page = include_str!("../../../docs/guide/service.md");
    let description = openapi();
    for path in description["paths"].as_object().unwrap().keys() {
        assert!(page.contains(path.as_str()), "docs/guide/service.md does not list {path}");
    }
    let (_, app) = service(chatty());
    let (status, served) = value(get(&app, "/v1/openapi.json", "ann").await).await;
    assert_eq!((status, served), (200, description));
    assert_eq!(get(&app, "/v1/openapi.json", "").await.status(), 401);
}
