//! The JSON types that a schema allows.

use serde_json::Value;

/// The JSON types that a schema allows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JsonTypes(u8);

impl JsonTypes {
    #[doc(hidden)]
    pub const STRING: Self = Self(1);
    pub(super) const NUMBER: Self = Self(2 | 4);
    pub(super) const INTEGER: Self = Self(4);
    pub(super) const FRACTION: Self = Self(2);
    pub(super) const BOOLEAN: Self = Self(8);
    #[doc(hidden)]
    pub const NULL: Self = Self(16);
    #[doc(hidden)]
    pub const ARRAY: Self = Self(32);
    #[doc(hidden)]
    pub const OBJECT: Self = Self(64);
    /// All but strings.
    #[doc(hidden)]
    pub const JSON: Self = Self(126);

    /// Returns the type with this name; an unknown name carries no information.
    #[doc(hidden)]
    pub fn named(name: &str) -> Self {
        match name {
            "string" => Self::STRING,
            "number" => Self::NUMBER,
            "integer" => Self::INTEGER,
            "boolean" => Self::BOOLEAN,
            "null" => Self::NULL,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => Self::alias(name),
        }
    }

    /// Returns the type meant by a type name of a programming language or a database, as found in tool lists; case
    /// and text in brackets after it are ignored.
    fn alias(name: &str) -> Self {
        let name = name.trim().to_ascii_lowercase();
        let word = name.split(['(', '[', '<', ' ']).next().unwrap_or_default();
        let begins = |starts: &[&str]| starts.iter().any(|start| word.starts_with(start));
        match word {
            "string" | "str" | "text" | "varchar" | "nvarchar" | "char" | "character" | "enum" => {
                Self::STRING
            }
            "boolean" | "bool" | "binary" => Self::BOOLEAN,
            "null" | "none" | "nonetype" => Self::NULL,
            "array" | "arr" | "tuple" | "set" => Self::ARRAY,
            "object" | "obj" | "map" => Self::OBJECT,
            "bigint" | "smallint" | "tinyint" => Self::INTEGER,
            "double" | "decimal" | "real" => Self::NUMBER,
            "interval" | "internal" => Self::default(),
            _ if begins(&["int", "uint", "long", "short", "unsigned"]) => Self::INTEGER,
            _ if begins(&["num", "float"]) => Self::NUMBER,
            _ if begins(&["dict"]) => Self::OBJECT,
            _ if begins(&["list"]) => Self::ARRAY,
            _ => Self::default(),
        }
    }

    /// Returns the type of a nested value that begins with this byte.
    #[doc(hidden)]
    pub const fn beginning_with(first: u8) -> Self {
        if first == b'{' { Self::OBJECT } else { Self::ARRAY }
    }

    /// Returns the type of a value.
    pub(crate) fn of_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number.is_f64() => Self::NUMBER,
            Value::Number(_) => Self::INTEGER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    /// Returns the types that either allows.
    #[doc(hidden)]
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the types that both allow, if both carry information and agree.
    pub(super) fn meet(self, other: Self) -> Self {
        match Self(self.0 & other.0) {
            both if !both.is_unknown() => both,
            _ if self.is_unknown() => other,
            _ => self,
        }
    }

    /// Returns `true` if one of `other` is explicitly allowed.
    #[doc(hidden)]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns `true` if there is no information.
    #[doc(hidden)]
    pub fn is_unknown(self) -> bool {
        self == Self::default()
    }

    /// Returns `true` if there is information, and strings are not allowed.
    #[doc(hidden)]
    pub fn are_no_strings(self) -> bool {
        !self.is_unknown() && !self.has(Self::STRING)
    }

    /// Returns the types that any of several schemas allows; one without information allows all.
    #[doc(hidden)]
    pub fn any_of(all: impl Iterator<Item = Self>) -> Self {
        let join = |one: Self, other: Self| {
            if one.is_unknown() || other.is_unknown() { Self::default() } else { one.and(other) }
        };
        all.reduce(join).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::JsonTypes;

    // Found: PEER
    #[test]
    fn types_of_languages_and_databases_are_those_of_json() {
        #[rustfmt::skip]
        let rows: [(&[&str], JsonTypes); 6] = [
            (&["string", "str", "Text", "VARCHAR(20)", "char", "enum"],               JsonTypes::STRING),
            (&["integer", "int", "Int64", "uint8", "long", "short", "unsigned int", "bigint"], JsonTypes::INTEGER),
            (&["number", "num", "float", "float32", "double", "Decimal"],             JsonTypes::NUMBER),
            (&["boolean", "bool"],                                                     JsonTypes::BOOLEAN),
            (&["array", "arr", "list", "List[str]"],                                   JsonTypes::ARRAY),
            (&["object", "dict", "Dict[str, int]", "map", "OBJECT"],                   JsonTypes::OBJECT),
        ];
        for (names, want) in rows {
            for name in names {
                assert_eq!(JsonTypes::named(name), want, "{name}");
            }
        }
        for name in ["", "any", "interval", "date", "stringify"] {
            assert!(JsonTypes::named(name).is_unknown(), "{name}");
        }
    }
}
