//! Base URLs in every spelling lead to the method and to the list of models, for every vendor.

use forgeline::llm::{
    anthropic::Messages, cohere::ChatV2, gemini::GenerateContent, http::WireFormat,
    ollama::OllamaChat, openai::ChatCompletions, responses::Responses,
};

/// The two addresses of a setup with this base URL and model.
fn endpoints<W: WireFormat>(base_url: &str, model: &str) -> [String; 2] {
    let mut config = W::defaults();
    (config.base_url, config.model) = (base_url.into(), model.into());
    let wire = W::default();
    [wire.endpoint(&config), wire.models_endpoint(&config)].map(|url| url.to_string())
}

#[test]
fn base_urls_in_every_spelling_lead_to_the_endpoints() {
    type Of = fn(&str, &str) -> [String; 2];
    let openai: Of = endpoints::<ChatCompletions>;
    let responses: Of = endpoints::<Responses>;
    let anthropic: Of = endpoints::<Messages>;
    let gemini: Of = endpoints::<GenerateContent>;
    let ollama: Of = endpoints::<OllamaChat>;
    let cohere: Of = endpoints::<ChatV2>;
    // What follows the base, where the vendor's usual address is `G` or `V`.
    let g = |rest: &str| format!("https://generativelanguage.googleapis.com{rest}");
    let v =
        |rest: &str| format!("https://r-aiplatform.googleapis.com/v1/projects/p/locations/r{rest}");
    let s = str::to_owned;
    #[rustfmt::skip]
    let cases: Vec<(Of, String, &str, String, String)> = vec![
        (openai,    s("http://h:8080"),                 "", s("http://h:8080/v1/chat/completions"),  s("http://h:8080/v1/models")),
        (openai,    s("http://h:8080/"),                "", s("http://h:8080/v1/chat/completions"),  s("http://h:8080/v1/models")),
        (openai,    s(" http://h:8080/v1"),             "", s("http://h:8080/v1/chat/completions"),  s("http://h:8080/v1/models")),
        (openai,    s("http://h:8080/v1/"),             "", s("http://h:8080/v1/chat/completions"),  s("http://h:8080/v1/models")),
        (openai,    s("https://h/openai/v1"),           "", s("https://h/openai/v1/chat/completions"), s("https://h/openai/v1/models")),
        (openai,    s("https://h/v1/chat/completions"), "", s("https://h/v1/chat/completions"),      s("https://h/v1/models")),
        (openai,    s("https://h/d/x?api-version=1"),   "", s("https://h/d/x/chat/completions?api-version=1"), s("https://h/d/x/models?api-version=1")),
        (responses, s("http://h"),                      "", s("http://h/v1/responses"),              s("http://h/v1/models")),
        (responses, s("https://h/v1/responses/"),       "", s("https://h/v1/responses"),             s("https://h/v1/models")),
        (responses, s("https://h/v1?api-version=1"),    "", s("https://h/v1/responses?api-version=1"), s("https://h/v1/models?api-version=1")),
        (anthropic, s("http://h:8080"),                 "", s("http://h:8080/v1/messages"),          s("http://h:8080/v1/models?limit=1000")),
        (anthropic, s("http://h:8080/v1/"),             "", s("http://h:8080/v1/messages"),          s("http://h:8080/v1/models?limit=1000")),
        (anthropic, s("http://h:8080/v1/messages"),     "", s("http://h:8080/v1/messages"),          s("http://h:8080/v1/models?limit=1000")),
        (anthropic, s("https://h/a?x=1"),               "", s("https://h/a/messages?x=1"),           s("https://h/a/models?x=1&limit=1000")),
        (gemini,    g(""),                     "m",             g("/v1beta/models/m:streamGenerateContent?alt=sse"),      g("/v1beta/models?pageSize=1000")),
        (gemini,    g("/v1alpha/"),            "m",             g("/v1alpha/models/m:streamGenerateContent?alt=sse"),     g("/v1alpha/models?pageSize=1000")),
        (gemini,    g(""),                     "models/m",      g("/v1beta/models/m:streamGenerateContent?alt=sse"),      g("/v1beta/models?pageSize=1000")),
        (gemini,    g(""),                     "tunedModels/m", g("/v1beta/tunedModels/m:streamGenerateContent?alt=sse"), g("/v1beta/models?pageSize=1000")),
        (gemini,    v("/publishers/google"),   "m",             v("/publishers/google/models/m:streamGenerateContent?alt=sse"), v("/publishers/google/models?pageSize=1000")),
        (gemini,    v(""),                     "endpoints/7",   v("/endpoints/7:streamGenerateContent?alt=sse"),          v("/models?pageSize=1000")),
        (gemini,    g("/v1/models/m:streamGenerateContent?alt=sse"), "m", g("/v1/models/m:streamGenerateContent?alt=sse"), g("/v1/models?alt=sse&pageSize=1000")),
        (gemini,    s("http://h:1?x=2"),       "m",             s("http://h:1/v1beta/models/m:streamGenerateContent?x=2&alt=sse"), s("http://h:1/v1beta/models?x=2&pageSize=1000")),
        (ollama,    s("http://h:11434"),                "", s("http://h:11434/api/chat"),            s("http://h:11434/api/tags")),
        (ollama,    s("http://h:11434/"),               "", s("http://h:11434/api/chat"),            s("http://h:11434/api/tags")),
        (ollama,    s("http://h:11434/api/"),           "", s("http://h:11434/api/chat"),            s("http://h:11434/api/tags")),
        (ollama,    s("http://h:11434/api/chat"),       "", s("http://h:11434/api/chat"),            s("http://h:11434/api/tags")),
        (ollama,    s("http://h:11434/v1"),             "", s("http://h:11434/api/chat"),            s("http://h:11434/api/tags")),
        (ollama,    s("https://h/ollama?k=v"),          "", s("https://h/ollama/api/chat?k=v"),      s("https://h/ollama/api/tags?k=v")),
        (cohere,    s("https://api.cohere.com"),         "", s("https://api.cohere.com/v2/chat"),    s("https://api.cohere.com/v1/models?page_size=1000")),
        (cohere,    s("https://api.cohere.com/v2/"),     "", s("https://api.cohere.com/v2/chat"),    s("https://api.cohere.com/v1/models?page_size=1000")),
        (cohere,    s("https://api.cohere.com/v2/chat"), "", s("https://api.cohere.com/v2/chat"),    s("https://api.cohere.com/v1/models?page_size=1000")),
        (cohere,    s("http://h/cohere/v2?x=1"),         "", s("http://h/cohere/v2/chat?x=1"),       s("http://h/cohere/v1/models?x=1&page_size=1000")),
    ];
    for (of, base, model, method, models) in cases {
        assert_eq!(of(&base, model), [method, models], "{base} {model}");
    }
}
