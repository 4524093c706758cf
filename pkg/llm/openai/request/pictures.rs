//! The pictures that hosts of Chat Completions accept.

use super::host::ServerHost;
use crate::http::url;
use forgeline_types::{MediaRules, PictureKinds};

/// The length of base64 of this many bytes.
const fn letters(bytes: u64) -> u64 {
    bytes.div_ceil(3) * 4
}

/// Hosts that state what a picture may have at most, in base64 characters, each with the page that says so.
#[rustfmt::skip]
const MOST: [(&str, u64); 3] = [
    // Of all pictures of a request: platform.openai.com/docs/guides/images-vision
    ("api.openai.com", letters(50 << 20)),
    // Of a request with base64: console.groq.com/docs/vision
    ("api.groq.com",   4 << 20),
    // docs.x.ai/docs/guides/image-understanding; 10 MiB in earlier versions of the page.
    ("api.x.ai",       letters(20 << 20)),
];

/// Returns the rules of the host of a base URL.
pub(super) fn rules(base_url: &str) -> MediaRules {
    let name = url::host(base_url).split(':').next().unwrap_or_default().to_ascii_lowercase();
    let most = MOST.iter().find(|(host, _)| name.ends_with(host)).map(|(_, most)| *most);
    let pictures = match ServerHost::from_url(base_url) {
        ServerHost::Other if most.is_none() => PictureKinds::Any,
        ServerHost::Other
        | ServerHost::OpenAi
        | ServerHost::OpenRouter
        | ServerHost::DeepSeek
        | ServerHost::Mistral
        | ServerHost::Perplexity => PictureKinds::Web,
    };
    MediaRules::default().document_addresses(false).pictures(pictures).max_picture_letters(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rows: N-24
    #[test]
    fn a_host_that_states_a_size_has_it_as_its_limit() {
        #[rustfmt::skip]
        let rows = [
            ("https://api.openai.com/v1",      Some(69_905_068), PictureKinds::Web),
            ("https://api.groq.com/openai/v1", Some(4 << 20),    PictureKinds::Web),
            ("https://api.x.ai/v1",            Some(27_962_028), PictureKinds::Web),
            ("https://api.mistral.ai/v1",      None,             PictureKinds::Web),
            ("https://api.grok.example/v1",    None,             PictureKinds::Any),
            ("http://127.0.0.1:8080/v1",       None,             PictureKinds::Any),
        ];
        for (base, most, pictures) in rows {
            let rules = rules(base);
            assert_eq!((rules.max_picture_letters, rules.pictures), (most, pictures), "{base}");
            assert!(!rules.document_addresses, "{base}");
        }
    }
}
