//! The window of a model, asked of the server that runs it after a request was too long.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    WireFormat, health,
    provider::{HttpShared, read_start, within},
    url,
};
use crate::{TimeoutKind, body::BodyDeadline, transport::HttpRequest};
use forgeline_types::Text;

/// Maximum duration of all questions together.
const PATIENCE: Duration = Duration::from_secs(5);

/// Maximum size of an answer, in bytes.
const MAX_ANSWER_BYTES: usize = 4 << 20;

/// The members in which llama.cpp's server states the tokens of a slot.
const PROPS: [&str; 2] = ["/default_generation_settings/n_ctx", "/n_ctx"];

/// The members in which LM Studio's server states the tokens of a model: as it was loaded, and at most.
const LOADED: [&str; 2] = ["/loaded_context_length", "/max_context_length"];

impl<W: WireFormat> HttpShared<W> {
    /// Returns the number of tokens that the server gives the model. The server is asked once, and not at all if it is the vendor's
    /// own and the catalogue has the model.
    pub(super) async fn context_window(&self) -> Option<u64> {
        let is_vendors = url::is_vendors(&self.config.base_url, &W::defaults().base_url);
        if is_vendors && self.info.context_tokens.is_some() {
            return self.info.context_tokens;
        }
        let ask = || async {
            let deadline = BodyDeadline::new(Instant::now(), TimeoutKind::Total, PATIENCE);
            if let window @ Some(_) = self.listed_window(deadline).await {
                return window;
            }
            if is_vendors {
                return None;
            }
            if let window @ Some(_) = self.props_window(deadline).await {
                return window;
            }
            if let window @ Some(_) = self.shown_window(deadline).await {
                return window;
            }
            self.loaded_window(deadline).await
        };
        *self.window.get_or_init(ask).await
    }

    /// Returns the window by the list of models.
    async fn listed_window(&self, deadline: Option<BodyDeadline>) -> Option<u64> {
        let entries = health::entries(&self.list_body(deadline).await.ok()?.body?)?;
        self.window_in(&entries, &health::CONTEXT)
    }

    /// Returns the first of these numbers of the model in a list.
    fn window_in(&self, entries: &[Value], places: &[&str]) -> Option<u64> {
        let model = self.config.model.as_str();
        let is_model = |entry: &&Value| {
            let id = health::id(entry).filter(|_| !model.is_empty());
            id.is_some_and(|id| health::names(id, model))
        };
        let only = || entries.first().filter(|_| entries.len() == 1);
        let entry = entries.iter().find(is_model).or_else(only)?;
        health::number(entry, places)
    }

    /// Returns the window by the own list of LM Studio's server.
    async fn loaded_window(&self, deadline: Option<BodyDeadline>) -> Option<u64> {
        let http = HttpRequest::new("GET", self.at_root("/api/v0/models"));
        let list = self.answer(http, deadline).await?;
        self.window_in(list.get("data")?.as_array()?, &LOADED)
    }

    /// Returns the window by `/props` of llama.cpp's server.
    async fn props_window(&self, deadline: Option<BodyDeadline>) -> Option<u64> {
        let http = HttpRequest::new("GET", self.at_root("/props"));
        health::number(&self.answer(http, deadline).await?, &PROPS)
    }

    /// Returns the window by `/api/show` of Ollama: the one that its model file sets, or else the one of the model.
    async fn shown_window(&self, deadline: Option<BodyDeadline>) -> Option<u64> {
        let body = json!({ "model": self.config.model }).to_string();
        let http = HttpRequest::new("POST", self.at_root("/api/show"));
        let http = http.header("content-type", "application/json").body(vec![Bytes::from(body)]);
        let shown = self.answer(http, deadline).await?;
        let parameters = shown.get("parameters").and_then(Value::as_str).unwrap_or_default();
        let set = parameters.lines().find_map(|line| {
            let (name, value) = line.trim().split_once(char::is_whitespace)?;
            value.trim().parse().ok().filter(|_| name == "num_ctx")
        });
        let members = shown.get("model_info").and_then(Value::as_object);
        let mut members = members.into_iter().flatten();
        set.or_else(|| members.find(|(name, _)| name.ends_with(".context_length"))?.1.as_u64())
            .filter(|tokens| *tokens > 0)
    }

    /// Returns the URL of a path beside the API of the protocol.
    fn at_root(&self, path: &str) -> Text {
        let (base, query) = url::split(&self.config.base_url);
        let base = base.strip_suffix(W::PATH).unwrap_or(base);
        let base = ["/v1", "/api"].iter().find_map(|own| base.strip_suffix(own)).unwrap_or(base);
        Text::from([base, path, query].concat())
    }

    /// Returns the JSON that the server answers.
    async fn answer(&self, http: HttpRequest, deadline: Option<BodyDeadline>) -> Option<Value> {
        let http = http.header("accept", "application/json");
        let (mut response, _, _) = self.send_unowned(http, deadline).await.ok()?;
        if response.status != 200 {
            return None;
        }
        let mut body = Vec::new();
        let reading = read_start(&mut response.body, MAX_ANSWER_BYTES, &mut body);
        within(deadline, reading).await.ok()?;
        serde_json::from_slice(&body).ok()
    }
}
