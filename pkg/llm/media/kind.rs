//! Media types, and the kinds of bytes.

/// Maximum number of characters of a media type in a note.
pub(super) const MAX_TYPE: usize = 100;

/// The media type of PDF.
pub(super) const PDF: &str = "application/pdf";

/// Returns the media type of an image, by its first bytes; `None` if it is not one of the kinds that all models accept: PNG,
/// JPEG, GIF and WebP.
///
/// # Examples
///
/// ```
/// use forgeline::llm::picture_kind;
///
/// assert_eq!(picture_kind(b"GIF89a"), Some("image/gif"));
/// assert_eq!(picture_kind(b"<svg/>"), None);
/// ```
#[must_use]
pub fn picture_kind(bytes: &[u8]) -> Option<&'static str> {
    let is_webp = || bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        _ if is_webp() => Some("image/webp"),
        _ => None,
    }
}

/// Returns the media type of an image of any known kind, by its first bytes.
pub(super) fn kind_of(bytes: &[u8]) -> Option<&'static str> {
    let brand = bytes.get(4..8).filter(|word| *word == b"ftyp").and(bytes.get(8..12));
    let is_of = |brands: &[&[u8; 4]]| {
        brand.is_some_and(|brand| brands.iter().any(|known| known.as_slice() == brand))
    };
    match picture_kind(bytes) {
        Some(kind) => Some(kind),
        None if is_of(&[b"heic", b"heix", b"hevc", b"hevx"]) => Some("image/heic"),
        None if is_of(&[b"mif1", b"msf1", b"heim", b"heis"]) => Some("image/heif"),
        None if is_of(&[b"avif", b"avis"]) => Some("image/avif"),
        None if bytes.starts_with(b"II*\0") || bytes.starts_with(b"MM\0*") => Some("image/tiff"),
        None if bytes.starts_with(b"BM") => Some("image/bmp"),
        None => None,
    }
}

/// Returns a media type without its parameters, in lower case.
pub(super) fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

pub(super) fn is_url(data: &str) -> bool {
    data.starts_with("http://") || data.starts_with("https://")
}

/// Returns a media type for a note, shortened because it may be any text.
pub(super) fn short(media_type: &str) -> String {
    media_type.chars().filter(|sign| !sign.is_control()).take(MAX_TYPE).collect()
}

/// Returns `true` for the media type of text, such as `text/csv`, `application/json` and `image/svg+xml`.
#[must_use]
pub fn is_text(kind: &str) -> bool {
    const APPLICATION: [&str; 10] =
        ["json", "xml", "yaml", "x-yaml", "toml", "csv", "x-ndjson", "jsonl", "sql", "javascript"];
    let is_one = |name: &str| APPLICATION.contains(&name);
    let suffixed = kind.ends_with("+json") || kind.ends_with("+xml") || kind.ends_with("+yaml");
    kind.starts_with("text/") || suffixed || kind.strip_prefix("application/").is_some_and(is_one)
}
