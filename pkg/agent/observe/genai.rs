//! Names from OpenTelemetry's conventions for generative AI.

/// Returns the conventions' name for a provider; other providers keep their own names.
pub(crate) fn provider_name(provider: &str) -> &str {
    match provider {
        "gemini" => "gcp.gemini",
        "mistral" => "mistral_ai",
        "xai" => "x_ai",
        "moonshot" => "moonshot_ai",
        "openai-responses" => "openai",
        own => own,
    }
}
