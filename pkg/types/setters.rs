//! Setters, written once for all types with options.

/// Writes chained setters, one a line: `name: Type;` or `name: Type => value;`, where `value` may use
/// `name`. With a leading `field as Type:`, they set members of that field.
macro_rules! setters {
    ($field:ident as $owner:ident: $($name:ident: $kind:ty $(=> $value:expr)?;)+) => { $(
        #[doc = concat!("Sets [`", stringify!($name), "`](", stringify!($owner), "::", stringify!($name), ").")]
        #[must_use]
        pub fn $name(mut self, $name: $kind) -> Self {
            self.$field.$name = crate::types::setters!(@ $name $($value)?);
            self
        }
    )+ };
    (@ $name:ident) => { $name };
    (@ $name:ident $value:expr) => { $value };
    ($($name:ident: $kind:ty $(=> $value:expr)?;)+) => { $(
        #[doc = concat!("Sets [`", stringify!($name), "`](Self::", stringify!($name), ").")]
        #[must_use]
        pub fn $name(mut self, $name: $kind) -> Self {
            self.$name = crate::types::setters!(@ $name $($value)?);
            self
        }
    )+ };
}

pub(crate) use setters;
