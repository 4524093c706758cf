//! Arguments of a native call that are a string whose text is a JSON object.

use forgeline_json::{JsonTracker, Unescape};

/// Maximum number of bytes after which arguments that have not begun are taken as they are.
const MAX_WAIT_BYTES: usize = 64;

/// The form of the arguments of a native call.
#[derive(Debug)]
pub(super) enum ArgumentForm {
    /// The first byte of the value has not arrived: only this text.
    Unknown(String),
    /// JSON.
    Plain,
    /// A string with the text of an object.
    Quoted(Box<QuotedObject>),
}

/// The object inside a string.
#[derive(Debug, Default)]
pub(super) struct QuotedObject {
    unescape: Unescape,
    tracker: JsonTracker,
}

impl QuotedObject {
    fn push(&mut self, piece: &str, out: &mut impl FnMut(&str)) {
        let Self { unescape, tracker } = self;
        unescape.feed(piece, &mut |text| {
            tracker.push(text);
            out(text);
        });
    }

    /// Returns `true` once the object is complete.
    pub(super) fn is_whole(&self) -> bool {
        self.tracker.is_whole()
    }
}

impl ArgumentForm {
    /// Passes on the text of the arguments: of a string the object inside it, if there is one.
    pub(super) fn push(&mut self, piece: &str, out: &mut impl FnMut(&str)) {
        let mut held = match self {
            Self::Plain => return out(piece),
            Self::Quoted(object) => return object.push(piece, out),
            Self::Unknown(held) => std::mem::take(held),
        };
        held.push_str(piece);
        let mut inside = String::new();
        let is_string = held.trim_start().starts_with('"');
        if is_string {
            Unescape::default().feed(&held, &mut |text| inside.push_str(text));
        }
        let begins = if is_string { inside.trim_start() } else { held.trim_start() };
        if begins.is_empty() && held.len() < MAX_WAIT_BYTES {
            *self = Self::Unknown(held);
        } else if is_string && begins.starts_with('{') {
            let mut object = Box::<QuotedObject>::default();
            object.push(&held, out);
            *self = Self::Quoted(object);
        } else {
            *self = Self::Plain;
            out(&held);
        }
    }

    /// Passes on what is held at the end of the arguments.
    pub(super) fn finish(&mut self, out: &mut impl FnMut(&str)) {
        if let Self::Unknown(held) = self {
            out(&std::mem::take(held));
        }
    }
}
