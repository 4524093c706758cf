//! The description of the routes as an `OpenAPI` document, made of the rows of which the router is made.

pub(super) mod schemas;

use axum::{
    Router,
    handler::Handler,
    routing::{self, MethodRouter},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use self::schemas::{ProblemAnswer, VendorErrorAnswer};

/// The place of named schemas in the document.
const SCHEMAS: &str = "/components/schemas";

/// Returns the schema of a type, and adds those that it refers to.
type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// A route: its handler, and what its callers need to know.
pub(crate) struct ApiRoute<S> {
    method: &'static str,
    path: &'static str,
    handler: MethodRouter<S>,
    summary: &'static str,
    /// The places, names and descriptions of parameters that are not in the path.
    parameters: Vec<(&'static str, &'static str, &'static str)>,
    /// The media type and schema of the body.
    body: Option<(&'static str, Option<SchemaOf>)>,
    answers: Vec<RouteAnswer>,
    is_open: bool,
    errors: ErrorForm,
}

/// The form of a route's errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ErrorForm {
    Problem,
    /// That of OpenAI's API.
    Vendor,
}

/// A response that is not an error.
struct RouteAnswer {
    status: u16,
    about: &'static str,
    /// The media type, and the schema if it is JSON.
    content: Option<(&'static str, Option<SchemaOf>)>,
}

/// The media type of JSON.
const JSON: &str = "application/json";

macro_rules! methods {
    ($($method:ident),+) => {$(
        pub(crate) fn $method<H, T>(path: &'static str, handler: H, summary: &'static str) -> Self
        where
            H: Handler<T, S>,
            T: 'static,
        {
            Self::new(stringify!($method), path, routing::$method(handler), summary)
        }
    )+};
}

impl<S: Clone + Send + Sync + 'static> ApiRoute<S> {
    methods!(get, post, put, patch, delete, head, options);

    fn new(
        method: &'static str,
        path: &'static str,
        handler: MethodRouter<S>,
        summary: &'static str,
    ) -> Self {
        let (parameters, answers) = (Vec::new(), Vec::new());
        let (body, is_open, errors) = (None, false, ErrorForm::Problem);
        Self { method, path, handler, summary, parameters, body, answers, is_open, errors }
    }

    /// Adds a member of the query.
    pub(crate) fn query(mut self, name: &'static str, about: &'static str) -> Self {
        self.parameters.push(("query", name, about));
        self
    }

    /// Adds a header of the request.
    pub(crate) fn header(mut self, name: &'static str, about: &'static str) -> Self {
        self.parameters.push(("header", name, about));
        self
    }

    /// Sets the body: an object of this type.
    pub(crate) fn body<B: JsonSchema>(mut self) -> Self {
        self.body = Some((JSON, Some(SchemaGenerator::subschema_for::<B>)));
        self
    }

    /// Sets the body: bytes of any type.
    pub(crate) fn bytes(mut self) -> Self {
        self.body = Some(("*/*", None));
        self
    }

    /// Adds a response with an object of this type.
    pub(crate) fn answers<A: JsonSchema>(self, status: u16, about: &'static str) -> Self {
        self.with(status, about, Some((JSON, Some(SchemaGenerator::subschema_for::<A>))))
    }

    /// Adds a response of this media type.
    pub(crate) fn answers_as(
        self,
        status: u16,
        about: &'static str,
        media_type: &'static str,
    ) -> Self {
        self.with(status, about, Some((media_type, None)))
    }

    /// Adds a response without a body.
    pub(crate) fn answers_empty(self, status: u16, about: &'static str) -> Self {
        self.with(status, about, None)
    }

    /// Marks a route that needs no token.
    pub(crate) fn open(mut self) -> Self {
        self.is_open = true;
        self
    }

    /// Gives the route's errors the form of OpenAI's API.
    pub(crate) fn vendor_errors(mut self) -> Self {
        self.errors = ErrorForm::Vendor;
        self
    }

    fn with(
        mut self,
        status: u16,
        about: &'static str,
        content: Option<(&'static str, Option<SchemaOf>)>,
    ) -> Self {
        self.answers.push(RouteAnswer { status, about, content });
        self
    }

    /// Returns the object of the operation.
    fn operation(&self, generator: &mut SchemaGenerator) -> Value {
        let mut operation = Map::new();
        let words = self.path.split(['/', '{', '}', '*', '-']).filter(|word| !word.is_empty());
        let id: Vec<_> = std::iter::once(self.method).chain(words).collect();
        operation.insert("operationId".to_owned(), id.join("_").into());
        operation.insert("summary".to_owned(), self.summary.into());
        if self.is_open {
            operation.insert("security".to_owned(), json!([{}, { "token": [] }]));
        }
        let in_path = self.path.split('/').filter_map(|part| part.strip_prefix('{'));
        let mut parameters: Vec<_> = in_path
            .map(|name| {
                let name = name.trim_matches(['*', '}']);
                json!({ "in": "path", "name": name, "required": true, "schema": { "type": "string" } })
            })
            .collect();
        parameters.extend(self.parameters.iter().map(|(place, name, about)| {
            json!({ "in": place, "name": name, "description": about, "schema": { "type": "string" } })
        }));
        if !parameters.is_empty() {
            operation.insert("parameters".to_owned(), parameters.into());
        }
        if let Some((media_type, schema)) = self.body {
            let content = json!({ media_type: media(schema, generator) });
            let is_required = schema.is_some();
            let body = json!({ "required": is_required, "content": content });
            operation.insert("requestBody".to_owned(), body);
        }
        let mut responses = Map::new();
        for RouteAnswer { status, about, content } in &self.answers {
            let response = responses.entry(status.to_string()).or_insert_with(|| json!({}));
            response["description"] = (*about).into();
            if let Some((media_type, schema)) = content {
                // A response may have one of several types.
                response["content"][*media_type] = media(*schema, generator);
            }
        }
        let (form, problem) = match self.errors {
            ErrorForm::Problem => {
                ("application/problem+json", generator.subschema_for::<ProblemAnswer>())
            }
            ErrorForm::Vendor => (JSON, generator.subschema_for::<VendorErrorAnswer>()),
        };
        let problem = json!({ form: { "schema": problem } });
        let problem = json!({ "description": "An error.", "content": problem });
        responses.insert("default".to_owned(), problem);
        operation.insert("responses".to_owned(), responses.into());
        operation.into()
    }
}

/// Returns the object of a media type.
fn media(schema: Option<SchemaOf>, generator: &mut SchemaGenerator) -> Value {
    match schema {
        Some(schema) => json!({ "schema": schema(generator) }),
        None => json!({}),
    }
}

/// Adds routes to a router.
pub(crate) fn add_routes<S>(router: Router<S>, table: Vec<ApiRoute<S>>) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    table.into_iter().fold(router, |router, row| router.route(row.path, row.handler))
}

/// Returns the description of routes.
pub(crate) fn describe<S: Clone + Send + Sync + 'static>(routes: &[ApiRoute<S>]) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|it| it.definitions_path = SCHEMAS.into());
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    for route in routes {
        let item = paths.entry(route.path.replace('*', "")).or_insert_with(|| json!({}));
        if let Value::Object(item) = item {
            item.insert(route.method.to_owned(), route.operation(&mut generator));
        }
    }
    let token = json!({ "type": "http", "scheme": "bearer" });
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "forgeline",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Agents as a service. Clients ignore members, events and codes that they do not know: new ones may come at any time.",
        },
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": { "token": token },
        },
        "security": [{ "token": [] }],
    })
}
