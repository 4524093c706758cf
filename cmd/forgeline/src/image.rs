//! `--image`: pictures that go with a question.

use std::{fs::File, io::Read as _, path::Path};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use forgeline::{llm::picture_kind, types::Part};

use crate::exit::{UsageResult as _, usage};

/// Longest picture, in bytes; vendors take less.
const MAX_BYTES: u64 = 20 << 20;

/// Returns the picture in a file; the kind is that of its content, whatever its name.
///
/// # Errors
///
/// A usage error for a file that cannot be read or is not a picture that models read.
pub(crate) fn picture(path: &Path) -> anyhow::Result<Part> {
    let shown = path.display();
    let advice = || format!("cannot read {shown}; give --image the path of a picture");
    let file = File::open(path).usage_context(advice)?;
    let mut bytes = Vec::new();
    let length = file.take(MAX_BYTES + 1).read_to_end(&mut bytes).usage_context(advice)?;
    if length as u64 > MAX_BYTES {
        let most = MAX_BYTES >> 20;
        return Err(usage(format!("{shown} is larger than {most} MiB; give a smaller picture")));
    }
    let media_type = picture_kind(&bytes).ok_or_else(|| {
        usage(format!("{shown} is not a picture; --image takes PNG, JPEG, GIF and WebP"))
    })?;
    Ok(Part::image(media_type, BASE64_STANDARD.encode(bytes)))
}
