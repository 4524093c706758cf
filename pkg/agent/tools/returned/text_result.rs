//! Conversion of values into text for the model.

use serde::ser::{Serialize, Serializer};

use crate::tools::ToolError;

/// The text of a call that has nothing to report.
const DONE: &str = "Done; there is nothing to report.";

/// The serializer for compact JSON.
type CompactJson = serde_json::Serializer<Vec<u8>>;

/// Writes a value: a string unchanged, an empty value as [`DONE`], anything else as compact JSON.
///
/// # Errors
///
/// Returns an error when JSON cannot represent the value, and for an `Err`.
pub(super) fn written<T: Serialize + ?Sized>(value: &T) -> Result<String, ToolError> {
    let (mut json, mut found) = (serde_json::Serializer::new(Vec::new()), ValueKind::Json);
    let writer = ResultWriter { json: &mut json, found: &mut found };
    value.serialize(writer).map_err(|error| unwritten(&error))?;
    match found {
        ValueKind::Nothing => Ok(DONE.to_owned()),
        ValueKind::Text(text) if text.is_empty() => Ok(DONE.to_owned()),
        ValueKind::Text(text) => Ok(text),
        ValueKind::Failed(error) => Err(error),
        ValueKind::Json => String::from_utf8(json.into_inner()).map_err(|error| unwritten(&error)),
    }
}

fn unwritten(error: &dyn std::error::Error) -> ToolError {
    ToolError::failed(format!(
        "its result cannot be written as JSON ({error}); return a value that JSON can represent, or a string"
    ))
}

/// The kind of a value.
enum ValueKind {
    /// Written as JSON.
    Json,
    Nothing,
    Text(String),
    /// The `Err` of a `Result`.
    Failed(ToolError),
}

/// A serializer that inspects the outermost value, and leaves the values inside it to JSON.
struct ResultWriter<'a> {
    json: &'a mut CompactJson,
    found: &'a mut ValueKind,
}

impl ResultWriter<'_> {
    #[expect(clippy::unnecessary_wraps, reason = "what the methods of a serializer return")]
    fn finds(self, found: ValueKind) -> Result<(), serde_json::Error> {
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

impl<'a> Serializer for ResultWriter<'a> {
    type Ok = ();
    type Error = serde_json::Error;
    type SerializeSeq = <&'a mut CompactJson as Serializer>::SerializeSeq;
    type SerializeTuple = <&'a mut CompactJson as Serializer>::SerializeTuple;
    type SerializeTupleStruct = <&'a mut CompactJson as Serializer>::SerializeTupleStruct;
    type SerializeTupleVariant = <&'a mut CompactJson as Serializer>::SerializeTupleVariant;
    type SerializeMap = <&'a mut CompactJson as Serializer>::SerializeMap;
    type SerializeStruct = <&'a mut CompactJson as Serializer>::SerializeStruct;
    type SerializeStructVariant = <&'a mut CompactJson as Serializer>::SerializeStructVariant;

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
        self.finds(ValueKind::Text(value.into()))
    }

    fn serialize_str(self, value: &str) -> Result<(), Self::Error> {
        self.finds(ValueKind::Text(value.to_owned()))
    }

    fn serialize_none(self) -> Result<(), Self::Error> {
        self.finds(ValueKind::Nothing)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Self::Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Self::Error> {
        self.finds(ValueKind::Nothing)
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Self::Error> {
        self.finds(ValueKind::Nothing)
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), Self::Error> {
        self.finds(ValueKind::Text(variant.to_owned()))
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
                self.finds(ValueKind::Failed(failed))
            }
            _ => self.json.serialize_newtype_variant(name, index, variant, value),
        }
    }
}
