//! Declarations of the structs of a wire format, which are read in place and leniently.

/// Implements in-place reading of an object, member by member: large structs are filled instead of
/// returned level by level.
///
/// `$object` and `$map` name the struct and the map access for use in the expressions. Without a
/// list of kinds to ignore, anything but an object is an error. An expression after `@` runs first,
/// and one after `else` handles the members that have no field.
macro_rules! in_place {
    ($type:ty as $object:ident, $map:ident, ignoring [$($other:ident)*]; $(@ $begin:expr;)?
     $($(#[$attribute:meta])* $key:ident => $read:expr,)* $(; else $name:ident => $rest:expr)?) => {
        $crate::decode::lax_json::fill_with! { $type, ignoring $($other)*;
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut $map: A) -> Result<(), A::Error> {
                $crate::decode::wire_struct::keys! { $($(#[$attribute])* $key)*; $($name)? }
                let $object = self.0;
                $($begin;)?
                while let Some(key) = $map.next_key()? {
                    match key {
                        $(Key::$key => $read,)*
                        $(Key::Unknown($name) => $rest,)?
                        #[allow(unreachable_patterns, reason = "some objects have a place for the rest")]
                        Key::Unknown { .. } => {
                            $map.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(())
            }
        }
    };
}

/// Declares the keys of an object; unknown keys keep their name only where it is used.
macro_rules! keys {
    ($($(#[$attribute:meta])* $key:ident)*;) => {
        #[derive(serde::Deserialize)]
        #[serde(field_identifier, rename_all = "snake_case")]
        #[allow(non_camel_case_types, reason = "keys of `wire!` are names of fields")]
        enum Key {
            $($(#[$attribute])* $key,)*
            #[serde(other)]
            Unknown,
        }
    };
    ($($(#[$attribute:meta])* $key:ident)*; $name:ident) => {
        #[derive(serde::Deserialize)]
        #[serde(field_identifier, rename_all = "snake_case", bound(deserialize = "'de: 'k"))]
        #[allow(non_camel_case_types, reason = "keys of `wire!` are names of fields")]
        enum Key<'k> {
            $($(#[$attribute])* $key,)*
            Unknown($crate::decode::lax_json::LaxName<'k>),
        }
    };
}

/// Declares a struct that is read in place: the fields of the first list are members with the same name,
/// and those after `besides` are not members. A field may specify the way in which its member is read; `also` reads further ones;
/// all others are in `rest`.
macro_rules! wire {
    ($(#[$meta:meta])* struct $name:ident<'a> as $object:ident, $map:ident, ignoring [$($other:ident)*];
     $(@ $begin:expr;)?
     $($(#[$attribute:meta])* $field:ident: $type:ty $(= $read:expr)?,)*
     $(; besides $($own:ident: $own_type:ty),+)? $(; also $($key:ident => $more:expr),+)?) => {
        $(#[$meta])*
        #[derive(Debug, Default)]
        pub(super) struct $name<'a> {
            $(pub(super) $field: $type,)*
            $($(pub(super) $own: $own_type,)+)?
            pub(super) rest: $crate::decode::JsonEntries<'a>,
        }

        $crate::decode::wire_struct::in_place! { $name<'a> as $object, $map, ignoring [$($other)*]; $(@ $begin;)?
            $($(#[$attribute])* $field => $crate::decode::wire_struct::wire!(@read $object $map $field $($read)?),)*
            $($($key => $more,)+)?
            ; else name => $object.rest.push(name.0, $map.next_value()?)
        }
    };
    (@read $object:ident $map:ident $field:ident) => { $object.$field = $map.next_value()? };
    (@read $object:ident $map:ident $field:ident $read:expr) => { $read };
}

/// Implements `Deserialize` for a struct that is read in place, so that lists of it can be read.
macro_rules! by_filling {
    ($name:ident) => {
        impl<'de: 'a, 'a> serde::Deserialize<'de> for $name<'a> {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let mut object = Self::default();
                let into = $crate::decode::lax_json::FillInto(&mut object);
                serde::de::DeserializeSeed::deserialize(into, deserializer)?;
                Ok(object)
            }
        }
    };
}

pub(crate) use {by_filling, in_place, keys, wire};
