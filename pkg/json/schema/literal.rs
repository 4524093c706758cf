//! Literals of JSON, as they are spelled in JSON and in other languages.

use std::borrow::Cow;

use super::JsonTypes;
use crate::is_number;

/// The largest exponent with which a whole number is written out.
const MAX_WHOLE_EXPONENT: usize = 18;

impl JsonTypes {
    /// Returns a JSON number as the allowed types want it, if they want it otherwise: a whole number without a fraction and an
    /// exponent, where only integers are allowed.
    #[doc(hidden)]
    pub fn whole(self, number: &str) -> Option<String> {
        let is_integer = self.has(Self::INTEGER) && !self.has(Self::FRACTION.and(Self::STRING));
        is_integer.then(|| digits_of_whole(number)).flatten()
    }

    /// Returns the JSON value of an allowed type that a string contains without doubt: a number, `true` or `false` in any of
    /// their usual spellings, and `null`; `None` where strings are allowed.
    #[doc(hidden)]
    pub fn value_in_string(self, text: &str) -> Option<String> {
        let json = self.literal(text).filter(|_| self.are_no_strings())?;
        let is_meant = match &*json {
            "null" => self.has(Self::NULL),
            "true" | "false" => true,
            _ => is_number(text),
        };
        is_meant.then(|| json.into_owned())
    }

    /// Returns the JSON literal of an allowed type that `text` spells. `None` is one if null is
    /// allowed; if strings are not, then null and all of Python's words are, in capitals too, zeros and a plus may precede a
    /// number, and an integer may be written with a fraction of zeros.
    #[doc(hidden)]
    pub fn literal(self, text: &str) -> Option<Cow<'_, str>> {
        let word = match text {
            "true" => Some(("true", Self::BOOLEAN)),
            "false" => Some(("false", Self::BOOLEAN)),
            "null" => Some(("null", Self::NULL)),
            "True" | "TRUE" if self.are_no_strings() => Some(("true", Self::BOOLEAN)),
            "False" | "FALSE" if self.are_no_strings() => Some(("false", Self::BOOLEAN)),
            "None" if self.has(Self::NULL) => Some(("null", Self::NULL)),
            "None" | "NULL" if self.are_no_strings() => Some(("null", Self::NULL)),
            _ => None,
        };
        if let Some((json, kind)) = word {
            // If strings are not allowed, nothing is closer to a missing value than null.
            let is_admitted = self.is_unknown() || self.has(kind);
            let is_null = kind == Self::NULL && self.are_no_strings();
            return (is_admitted || is_null).then_some(json.into());
        }
        let mut number: Cow<'_, str> =
            if self.are_no_strings() { plain_number(text).into() } else { text.into() };
        if self.has(Self::INTEGER) && !self.has(Self::FRACTION.and(Self::STRING)) {
            number = whole_number(&number).into_owned().into();
        }
        let is_fraction = number.contains(['.', 'e', 'E']);
        let kind = if is_fraction { Self::FRACTION } else { Self::NUMBER };
        ((self.is_unknown() || self.has(kind)) && is_number(&number)).then_some(number)
    }
}

/// Returns a number without a plus and without the leading zeros that JSON does not allow.
fn plain_number(text: &str) -> String {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let sign = if text.starts_with('-') { "-" } else { "" };
    let digits = unsigned.trim_start_matches('0');
    let needs_zero =
        digits.len() < unsigned.len() && !digits.starts_with(|first: char| first.is_ascii_digit());
    format!("{sign}{}{digits}", if needs_zero { "0" } else { "" })
}

/// Returns a number without a fraction of zeros and without an exponent, if it is a whole one; any other text as it is.
fn whole_number(text: &str) -> Cow<'_, str> {
    digits_of_whole(text).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Returns the digits of a whole number that is written with a fraction or an exponent.
fn digits_of_whole(text: &str) -> Option<String> {
    if !text.contains(['.', 'e', 'E']) || !is_number(text) {
        return None;
    }
    let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: usize = exponent.parse().ok().filter(|power| *power <= MAX_WHOLE_EXPONENT)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0');
    let zeros = exponent.checked_sub(fraction.len())?;
    Some(plain_number(&format!("{whole}{fraction}{}", "0".repeat(zeros))))
}

#[cfg(test)]
mod tests {
    use super::JsonTypes;

    // Found: PEER
    #[test]
    fn literals_are_read_as_the_types_that_are_admitted() {
        let nullable = JsonTypes::STRING.and(JsonTypes::NULL);
        #[rustfmt::skip]
        let rows = [
            (JsonTypes::INTEGER,                 "3.0",   Some("3")),
            (JsonTypes::INTEGER,                 "-30.00", Some("-30")),
            (JsonTypes::INTEGER,                 "0.0",   Some("0")),
            (JsonTypes::INTEGER,                 "3.5",   None),
            (JsonTypes::INTEGER,                 "1.5e3", Some("1500")),
            (JsonTypes::INTEGER,                 "-2E+1", Some("-20")),
            (JsonTypes::INTEGER,                 "0e0",   Some("0")),
            (JsonTypes::INTEGER,                 "1.25e1", None),
            (JsonTypes::INTEGER,                 "10e-1", None),
            (JsonTypes::INTEGER,                 "1e400", None),
            (JsonTypes::NUMBER,                  "1e3",   Some("1e3")),
            (JsonTypes::INTEGER,                 "3.",    None),
            (JsonTypes::INTEGER,                 "30",    Some("30")),
            (JsonTypes::NUMBER,                  "3.0",   Some("3.0")),
            (nullable,                       "None",  Some("null")),
            (nullable,                       "null",  Some("null")),
            (nullable,                       "True",  None),
            (JsonTypes::INTEGER.and(JsonTypes::NULL), "None", Some("null")),
            (JsonTypes::INTEGER,                 "null",  Some("null")),
            (JsonTypes::INTEGER,                 "None",  Some("null")),
            (JsonTypes::BOOLEAN,                 "FALSE", Some("false")),
            (JsonTypes::BOOLEAN,                 "TRUE",  Some("true")),
            (JsonTypes::INTEGER,                 "TRUE",  None),
            (JsonTypes::STRING,                  "NULL",  None),
            (JsonTypes::STRING,                  "None",  None),
            (JsonTypes::default(),               "None",  None),
            (JsonTypes::default(),               "3.0",   Some("3.0")),
        ];
        for (types, text, want) in rows {
            assert_eq!(types.literal(text).as_deref(), want, "{types:?} {text}");
        }
    }
}
