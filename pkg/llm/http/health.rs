//! Health checks: the list of models, read without sending a prompt.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::{
    WireFormat,
    provider::{Inner, failure, read_start, within},
    url::host,
};
use crate::{
    llm::{
        Health, ProviderError, TimeoutKind, body::Deadline, decode::wrong_body,
        transport::HttpRequest,
    },
    types::Text,
};

/// Longest list of models that is read.
const MAX_LIST_BYTES: usize = 4 << 20;

/// Longest time of a health check.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(10);

impl<W: WireFormat> Inner<W> {
    /// Asks for the list of models.
    pub(super) async fn health(&self) -> Result<Health, ProviderError> {
        let start = Instant::now();
        let deadline = Deadline::new(start, TimeoutKind::Total, HEALTH_TIMEOUT);
        let http = HttpRequest::new("GET", self.wire.models_endpoint(&self.config));
        let http = http.header("accept", "application/json");
        let (mut response, redactor, has_key) = self.send(http, deadline).await?;
        // A server without a list of models is there nevertheless.
        let has_list = !matches!(response.status, 404 | 405 | 501);
        if has_list && !(200..300).contains(&response.status) {
            let patience = self.config.timeouts.error_body;
            return Err(failure(response, deadline, patience, &redactor).await);
        }
        let ids = if has_list {
            let mut list = Vec::new();
            let reading = read_start(&mut response.body, MAX_LIST_BYTES, &mut list);
            within(deadline, reading).await?;
            if list.len() >= MAX_LIST_BYTES {
                return Err(ProviderError::Decode {
                    offset: MAX_LIST_BYTES as u64,
                    reason: Text::from("the list of models is longer than 4 MiB"),
                });
            }
            let no_list = || wrong_body(&String::from_utf8_lossy(&list), "a list of models");
            Some(models(&list).ok_or_else(|| redactor.error(no_list()))?)
        } else {
            None
        };
        // Others may list their models to anybody.
        let vendor = W::defaults().base_url;
        let is_vendor =
            vendor.starts_with("https://") && host(&vendor) == host(self.config.base_url.trim());
        let key_checked = ids.is_some() && has_key && is_vendor;
        let model = self.config.model.as_str();
        let ids = ids.filter(|_| !model.is_empty());
        Ok(Health {
            latency: start.elapsed(),
            key_checked,
            model_listed: ids.map(|ids| ids.iter().any(|id| names(id, model))),
        })
    }
}

/// Reads the ids in a list of models, in the words of any vendor; `None` when it is not such a list.
fn models(list: &[u8]) -> Option<Vec<String>> {
    let list = list.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(list);
    let list: Value = serde_json::from_slice(list).ok()?;
    let named = || ["data", "models"].iter().find_map(|key| list.get(key)?.as_array());
    let entries = list.as_array().or_else(named)?;
    let id = |entry: &Value| {
        let id = ["id", "name", "model"].iter().find_map(|key| entry.get(key)?.as_str());
        id.map(str::to_owned)
    };
    Some(entries.iter().filter_map(id).collect())
}

/// Returns `true` when the listed `id` is `model`, be it below a folder, with the date of its making
/// or with the tag that is meant when none is named.
fn names(id: &str, model: &str) -> bool {
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
    use super::{models, names};

    #[test]
    fn lists_are_read_in_every_form_and_a_date_or_a_default_tag_is_no_other_model() {
        let lists = [
            r#"{"object":"list","data":[{"id":"a"}]}"#,
            r#"{"models":[{"name":"a"}]}"#,
            r#"[{"id":"a"}]"#,
            "\u{feff}[{\"id\":\"a\"}]",
        ];
        for list in lists {
            assert_eq!(models(list.as_bytes()), Some(vec!["a".to_owned()]), "{list}");
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
