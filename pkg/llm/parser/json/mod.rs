//! Calls as JSON.

mod call;
mod value;

pub(super) use call::JsonCall;
pub(super) use value::JsonValue;

pub(super) use crate::json::{
    Kind, Number as Digits, Strictness, Token as Out, Tokenizer as Lenient, Unescape, escape_into,
    escape_of, is_plain, special,
};
