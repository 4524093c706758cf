//! A request's own model, where the provider can serve it.

use std::sync::Arc;

use super::Provider;
use crate::types::Text;

/// Which model serves, when a request may name its own.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelChoice {
    /// Nobody asked for another than the configured one.
    Configured,
    /// The one that was asked for.
    Honoured {
        /// It.
        model: Text,
    },
    /// The configured one, although another was asked for.
    FellBack {
        /// The one that was asked for.
        requested: Text,
        /// The one that serves.
        served: Text,
        /// Why.
        reason: Text,
    },
}

impl ModelChoice {
    /// `provider` with the model that `requested` names, if `is_servable` says that it may have it;
    /// else `provider` as it is. A blank name asks for nothing that could be had.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use forgeline::llm::{ModelChoice, Provider, scripted::ScriptedProvider};
    /// let provider: Arc<dyn Provider> = Arc::new(ScriptedProvider::new([]));
    /// let (_, choice) = ModelChoice::of(&provider, None, |_| true);
    /// assert_eq!(choice, ModelChoice::Configured);
    /// ```
    pub fn of(
        provider: &Arc<dyn Provider>,
        requested: Option<&str>,
        is_servable: impl FnOnce(&str) -> bool,
    ) -> (Arc<dyn Provider>, Self) {
        let same = || Arc::clone(provider);
        let Some(requested) = requested else { return (same(), Self::Configured) };
        let served = provider.info().model.clone();
        let fell_back = |reason: &str| {
            let (requested, reason) = (Text::from(requested), Text::from(reason));
            (same(), Self::FellBack { requested, served: served.clone(), reason })
        };
        let model = requested.trim();
        if model.is_empty() {
            return fell_back("no model is named");
        }
        if model == served.as_str() {
            return (same(), Self::Honoured { model: served });
        }
        if !is_servable(model) {
            return fell_back("the model is not among those that may be served");
        }
        match provider.with_model(model) {
            Some(other) => (other, Self::Honoured { model: Text::from(model) }),
            None => fell_back("the provider has only one model"),
        }
    }
}

#[cfg(all(test, feature = "openai"))]
mod tests {
    use super::*;
    use crate::{llm::openai::OpenAi, testing::ScriptedProvider};

    #[test]
    fn a_request_gets_its_model_or_is_told_why_not() {
        let openai = OpenAi::builder().base_url("http://h").model("configured").build().unwrap();
        let openai: Arc<dyn Provider> = Arc::new(openai);
        let scripted: Arc<dyn Provider> = Arc::new(ScriptedProvider::new([]));
        let fell = |requested: &str, served: &str, reason: &str| ModelChoice::FellBack {
            requested: requested.into(),
            served: served.into(),
            reason: reason.into(),
        };
        let honoured = |model: &str| ModelChoice::Honoured { model: model.into() };
        #[rustfmt::skip]
        let cases = [
            (&openai,   None,               "configured", ModelChoice::Configured),
            (&openai,   Some("other"),      "other",      honoured("other")),
            (&openai,   Some(" other "),    "other",      honoured("other")),
            (&openai,   Some("configured"), "configured", honoured("configured")),
            (&openai,   Some("secret"),     "configured", fell("secret", "configured", "the model is not among those that may be served")),
            (&openai,   Some("  "),         "configured", fell("  ", "configured", "no model is named")),
            (&scripted, Some("other"),      "scripted",   fell("other", "scripted", "the provider has only one model")),
        ];
        for (provider, requested, model, want) in cases {
            let (served, choice) = ModelChoice::of(provider, requested, |model| model != "secret");
            assert_eq!((served.info().model.as_str(), choice), (model, want), "{requested:?}");
        }
    }
}
