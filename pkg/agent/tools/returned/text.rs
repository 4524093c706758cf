//! Conversion of values into text for the model.

use serde::ser::{Serialize, Serializer};

use crate::agent::tools::ToolError;

/// The text of a call that has nothing to report.
const DONE: &str = "Done; there is nothing to report.";

/// The serializer for compact JSON.
type Json = serde_json::Serializer<Vec<u8>>;

/// Writes a value: a string unchanged, an empty value as [`DONE`], anything else as compact JSON.
///
/// # Errors
///
/// Returns an error when JSON cannot represent the value, and for an `Err`.
pub(super) fn written<T: Serialize + ?Sized>(value: &T) -> Result<String, ToolError> {
    let (mut json, mut found) = (serde_json::Serializer::new(Vec::new()), Found::Json);
    let writer = Writer { json: &mut json, found: &mut found };
    value.serialize(writer).map_err(|error| unwritten(&error))?;
    match found {
        Found::Nothing => Ok(DONE.to_owned()),
        Found::Text(text) if text.is_empty() => Ok(DONE.to_owned()),
        Found::Text(text) => Ok(text),
        Found::Failed(error) => Err(error),
        Found::Json => String::from_utf8(json.into_inner()).map_err(|error| unwritten(&error)),
    }
}

fn unwritten(error: &dyn std::error::Error) -> ToolError {
    ToolError::failed(format!(
        "its result cannot be written as JSON ({error}); return a value that JSON can hold, or a string"
    ))
}

/// The kind of a value.
enum Found {
    /// Written as JSON.
    Json,
    Nothing,
    Text(String),
    /// The `Err` of a `Result`.
    Failed(ToolError),
}

/// A serializer that inspects the outermost value, and leaves the values inside it to JSON.
struct Writer<'a> {
    json: &'a mut Json,
    found: &'a mut Found,
}

impl Writer<'_> {
    #[expect(clippy::unnecessary_wraps, reason = "what the methods of a serializer return")]
    fn finds(self, found: Found) -> Result<(), serde_json::Error> {
        *self.found = found;
        Ok(())
    }
}

/// Leaves values to JSON.
macro_rules! as_json {
    ($($method:ident($($name:ident: $type:ty),*) -> $made:ty;)+) => {
        $(fn $method(self, $($name: $type),*) -> Result<$made, Self::Error> {
            self.json.$method($($name),*)
        })+
    };
}

impl<'a> Serializer for Writer<'a> {
    type Ok = ();
    type Error = serde_json::Error;
    type SerializeSeq = <&'a mut Json as Serializer>::SerializeSeq;
    type SerializeTuple = <&'a mut Json as Serializer>::SerializeTuple;
    type SerializeTupleStruct = <&'a mut Json as Serializer>::SerializeTupleStruct;
    type SerializeTupleVariant = <&'a mut Json as Serializer>::SerializeTupleVariant;
    type SerializeMap = <&'a mut Json as Serializer>::SerializeMap;
    type SerializeStruct = <&'a mut Json as Serializer>::SerializeStruct;
    type SerializeStructVariant = <&'a mut Json as Serializer>::SerializeStructVariant;

    as_json! {
        serialize_bool(value: bool) -> ();
        serialize_i8(value: i8) -> ();
        serialize_i16(value: i16) -> ();
        serialize_i32(value: i32) -> ();
        serialize_i64(value: i64) -> ();
        serialize_i128(value: i128) -> ();
        serialize_u8(value: u8) -> ();
        serialize_u16(value: u16) -> ();
        serialize_u32(value: u32) -> ();
        serialize_u64(value: u64) -> ();
        serialize_u128(value: u128) -> ();
        serialize_f32(value: f32) -> ();
        serialize_f64(value: f64) -> ();
        serialize_bytes(value: &[u8]) -> ();
        serialize_seq(length: Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(length: usize) -> Self::SerializeTuple;
        serialize_tuple_struct(name: &'static str, length: usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(name: &'static str, index: u32, variant: &'static str, length: usize)
            -> Self::SerializeTupleVariant;
        serialize_map(length: Option<usize>) -> Self::SerializeMap;
        serialize_struct(name: &'static str, length: usize) -> Self::SerializeStruct;
        serialize_struct_variant(name: &'static str, index: u32, variant: &'static str, length: usize)
            -> Self::SerializeStructVariant;
    }

    fn serialize_char(self, value: char) -> Result<(), Self::Error> {
        self.finds(Found::Text(value.into()))
    }

    fn serialize_str(self, value: &str) -> Result<(), Self::Error> {
        self.finds(Found::Text(value.to_owned()))
    }

    fn serialize_none(self) -> Result<(), Self::Error> {
        self.finds(Found::Nothing)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Self::Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Self::Error> {
        self.finds(Found::Nothing)
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Self::Error> {
        self.finds(Found::Nothing)
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), Self::Error> {
        self.finds(Found::Text(variant.to_owned()))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), Self::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Self::Error> {
        match (name, variant) {
            // Serde writes a `Result` in this way.
            ("Result", "Ok") => value.serialize(self),
            ("Result", "Err") => {
                let failed = written(value).map_or_else(|error| error, ToolError::failed);
                self.finds(Found::Failed(failed))
            }
            _ => self.json.serialize_newtype_variant(name, index, variant, value),
        }
    }
}
