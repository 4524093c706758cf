//! Health checks and the list of models, read without sending a prompt.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::{
    HttpProvider, WireFormat,
    provider::{HttpShared, failure, read_start, within},
    redact::SecretRedactor,
    url::host,
};
use crate::{
    Health, ListedModel, ProviderError, Request, TimeoutKind, body::BodyDeadline,
    decode::wrong_body, transport::HttpRequest,
};
use forgeline_types::Text;

/// Maximum size of a model list, in bytes.
const MAX_LIST_BYTES: usize = 4 << 20;

/// Maximum duration of a health check.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(10);

/// The model list of a server, if it has one, and whether the request had a key.
struct ModelList {
    models: Option<Vec<ListedModel>>,
    has_key: bool,
}

/// The bytes of the model list, if the server has one.
pub(super) struct ListBody {
    pub(super) body: Option<Vec<u8>>,
    redactor: SecretRedactor,
    has_key: bool,
}

impl<W: WireFormat> HttpProvider<W> {
    /// Returns the models that the server lists, in its order. No prompt is sent.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Unsupported`] when the server has no list, [`ProviderError::Timeout`] after 10 s,
    /// [`ProviderError::Decode`] for a list that is longer than 4 MiB or invalid, and the errors of a
    /// request.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn list() -> Result<(), forgeline::llm::ProviderError> {
    /// let provider = forgeline::llm::openai::OpenAi::builder().base_url("http://127.0.0.1:8080").build()?;
    /// for model in provider.models().await? {
    ///     println!("{} {:?}", model.id, model.context_tokens);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn models(&self) -> Result<Vec<ListedModel>, ProviderError> {
        let none = || ProviderError::Unsupported {
            provider: Text::from(W::PROVIDER),
            feature: Text::from("a list of models at this address"),
        };
        self.inner().list().await?.models.ok_or_else(none)
    }
}

impl<W: WireFormat> HttpShared<W> {
    /// Checks that the server is reachable.
    pub(super) async fn health(&self) -> Result<Health, ProviderError> {
        let start = Instant::now();
        let ModelList { models, has_key } = self.list().await?;
        // Other servers may list their models without a valid key.
        let vendor = W::defaults().base_url;
        let is_vendor =
            vendor.starts_with("https://") && host(&vendor) == host(self.config.base_url.trim());
        let key_checked = models.is_some() && has_key && is_vendor;
        let model = self.config.model.as_str();
        let models = models.filter(|_| !model.is_empty());
        Ok(Health {
            latency: start.elapsed(),
            key_checked,
            model_listed: models.map(|list| list.iter().any(|listed| names(&listed.id, model))),
        })
    }

    /// Requests the model list.
    async fn list(&self) -> Result<ModelList, ProviderError> {
        let deadline = BodyDeadline::new(Instant::now(), TimeoutKind::Total, HEALTH_TIMEOUT);
        let ListBody { body, redactor, has_key } = self.list_body(deadline).await?;
        let Some(list) = body else { return Ok(ModelList { models: None, has_key }) };
        let no_list = || wrong_body(&String::from_utf8_lossy(&list), "a list of models");
        let models = models(&list).ok_or_else(|| redactor.error(no_list()))?;
        Ok(ModelList { models: Some(models), has_key })
    }

    /// Requests the model list, and does not read it.
    pub(super) async fn list_body(
        &self,
        deadline: Option<BodyDeadline>,
    ) -> Result<ListBody, ProviderError> {
        let http = HttpRequest::new("GET", self.wire.models_endpoint(&self.config));
        let mut http = http.header("accept", "application/json");
        for (name, value) in self.wire.headers(&Request::default()) {
            http = http.header(name, value);
        }
        let (mut response, redactor, has_key) = self.send_unowned(http, deadline).await?;
        // A server without a model list is reachable nevertheless.
        if matches!(response.status, 404 | 405 | 501) {
            return Ok(ListBody { body: None, redactor, has_key });
        }
        if !(200..300).contains(&response.status) {
            let patience = self.config.timeouts.error_body;
            return Err(failure(response, deadline, patience, &redactor).await);
        }
        let mut list = Vec::new();
        let reading = read_start(&mut response.body, MAX_LIST_BYTES, &mut list);
        within(deadline, reading).await?;
        if list.len() >= MAX_LIST_BYTES {
            return Err(ProviderError::Decode {
                offset: MAX_LIST_BYTES as u64,
                reason: Text::from("the list of models is longer than 4 MiB"),
            });
        }
        Ok(ListBody { body: Some(list), redactor, has_key })
    }
}

/// Members with the maximum number of tokens of prompt and answer together, the server's own limit first.
pub(super) const CONTEXT: [&str; 7] = [
    "/max_model_len",
    "/meta/n_ctx",
    "/context_length",
    "/context_window",
    "/max_input_tokens",
    "/inputTokenLimit",
    "/max_context_length",
];

/// The number that the model was trained for: the server may give it less.
const TRAINED: &str = "/meta/n_ctx_train";

/// Members with the maximum number of tokens of one answer.
const OUTPUT: [&str; 5] = [
    "/max_completion_tokens",
    "/top_provider/max_completion_tokens",
    "/outputTokenLimit",
    "/max_output_tokens",
    "/max_tokens",
];

/// Parses a model list in any vendor's format; `None` if it is not one.
fn models(list: &[u8]) -> Option<Vec<ListedModel>> {
    let model = |entry: &Value| {
        let mut model = ListedModel::new(id(entry)?);
        model.context_tokens = number(entry, &CONTEXT).or_else(|| number(entry, &[TRAINED]));
        model.max_output_tokens = number(entry, &OUTPUT);
        Some(model)
    };
    Some(entries(list)?.iter().filter_map(model).collect())
}

/// Returns the entries of a model list in any vendor's format; `None` if it is not one.
pub(super) fn entries(list: &[u8]) -> Option<Vec<Value>> {
    let list = list.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(list);
    let mut list: Value = serde_json::from_slice(list).ok()?;
    let places = ["/data", "/models"];
    let named = places.into_iter().find(|place| list.pointer(place).is_some_and(Value::is_array));
    let list = list.pointer_mut(named.unwrap_or_default())?.take();
    if let Value::Array(entries) = list { Some(entries) } else { None }
}

/// Returns the id of an entry of a model list.
pub(super) fn id(entry: &Value) -> Option<&str> {
    let id = ["id", "name", "model"].iter().find_map(|key| entry.get(key)?.as_str())?;
    // Gemini lists resource names, whose last part is the id.
    Some(id.strip_prefix("models/").unwrap_or(id))
}

/// Returns the first number above 0 at one of these places.
pub(super) fn number(entry: &Value, places: &[&str]) -> Option<u64> {
    places.iter().find_map(|place| entry.pointer(place)?.as_u64()).filter(|number| *number > 0)
}

/// Returns `true` if the listed `id` is `model`, possibly in a folder, with a release date or with
/// the default tag.
pub(super) fn names(id: &str, model: &str) -> bool {
    let is_date = |rest: &str| {
        let digits = rest.bytes().filter(u8::is_ascii_digit).count();
        digits == 8 && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
    };
    let is_model = |id: &str| match id.strip_prefix(model) {
        Some("" | ":latest") => true,
        Some(rest) => rest.strip_prefix('-').is_some_and(is_date),
        None => false,
    };
    is_model(id) || id.rsplit_once('/').is_some_and(|(_, id)| is_model(id))
}

#[cfg(test)]
mod tests {
    use super::{ListedModel, models, names};

    #[test]
    fn lists_are_read_in_every_form_and_a_date_or_a_default_tag_is_no_other_model() {
        let lists = [
            r#"{"object":"list","data":[{"id":"a"}]}"#,
            r#"{"models":[{"name":"a"}]}"#,
            r#"[{"id":"a"}]"#,
            "\u{feff}[{\"id\":\"a\"}]",
        ];
        for list in lists {
            assert_eq!(models(list.as_bytes()), Some(vec![ListedModel::new("a")]), "{list}");
        }
        let sized = [
            r#"{"data":[{"id":"a","max_model_len":9,"context_length":8}]}"#,
            r#"{"data":[{"id":"a","meta":{"n_ctx_train":9}}]}"#,
            r#"{"models":[{"name":"models/a","inputTokenLimit":9,"outputTokenLimit":0}]}"#,
        ];
        for list in sized {
            let want = ListedModel::new("a").context_tokens(9);
            assert_eq!(models(list.as_bytes()), Some(vec![want]), "{list}");
        }
        for list in ["<html></html>", "{}", "\"fine\"", ""] {
            assert_eq!(models(list.as_bytes()), None, "{list}");
        }
        #[rustfmt::skip]
        let cases = [
            ("claude-haiku-4-5-20251001",  "claude-haiku-4-5", true),
            ("gpt-4o-2024-08-06",          "gpt-4o",           true),
            ("models/gemini-2.5-flash",    "gemini-2.5-flash", true),
            ("qwen3:latest",               "qwen3",            true),
            ("gpt-4o-mini",                "gpt-4o",           false),
            ("gpt-4o-mini-2024-07-18",     "gpt-4o",           false),
            ("claude-haiku-4-5",           "claude-haiku-4-5-20251001", false),
        ];
        for (id, model, want) in cases {
            assert_eq!(names(id, model), want, "{id} {model}");
        }
    }
}
