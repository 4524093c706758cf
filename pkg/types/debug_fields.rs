//! `Debug` implementations that show selected fields.

/// Implements `Debug` for a type with fields that cannot or must not be shown: only the listed fields
/// are. `debug_fields!(<T> Sender, sender: capacity = sender.capacity())`
#[doc(hidden)]
#[macro_export]
macro_rules! debug_fields {
    ($(<$($of:ident $(: $bound:ident)?),+>)? $type:ident, $this:ident:
     $($field:ident = $value:expr),+ $(,)?) => {
        impl$(<$($of $(: $bound)?),+>)? std::fmt::Debug for $type$(<$($of),+>)? {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let $this = self;
                let mut shown = formatter.debug_struct(stringify!($type));
                $(shown.field(stringify!($field), &$value);)+
                shown.finish_non_exhaustive()
            }
        }
    };
}
