//! The macro for chained setters.

/// Defines a chained setter for each named field; its documentation is the given text
/// or a reference to the field.
///
/// `field(Type)` takes the value itself, `field(into Type)` anything that converts into it, and
/// `field(some Type)` or `field(some into Type)` the content of an `Option`. With `in inner`, the
/// fields are those of the member `inner`, whose type comes first.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    ($of:ident: $($fields:tt)+) => { $crate::setters!(@all [$of] $($fields)+); };
    ($of:ident in $inner:ident: $($fields:tt)+) => { $crate::setters!(@all [$of in $inner] $($fields)+); };
    (@all $of:tt $($(#[$doc:meta])* $field:ident($($kind:tt)+)),+ $(,)?) => {
        $( $crate::setters!(@one [$of $(#[$doc])*] $field $($kind)+); )+
    };
    (@one $of:tt $field:ident some into $type:ty) => {
        $crate::setters!(@setter $of $field, impl Into<$type>, Some($field.into()));
    };
    (@one $of:tt $field:ident some $type:ty) => {
        $crate::setters!(@setter $of $field, $type, Some($field));
    };
    (@one $of:tt $field:ident into $type:ty) => {
        $crate::setters!(@setter $of $field, impl Into<$type>, $field.into());
    };
    (@one $of:tt $field:ident $type:ty) => {
        $crate::setters!(@setter $of $field, $type, $field);
    };
    (@setter [[$of:ident $(in $inner:ident)?]] $field:ident, $type:ty, $value:expr) => {
        $crate::setters! { @setter
            [[$of $(in $inner)?] #[doc = concat!("Sets [`", stringify!($field), "`](", stringify!($of), "::", stringify!($field), ").")]]
            $field, $type, $value
        }
    };
    (@setter [[$of:ident $(in $inner:ident)?] $(#[$doc:meta])+] $field:ident, $type:ty, $value:expr) => {
        $(#[$doc])+
        #[must_use]
        pub fn $field(mut self, $field: $type) -> Self {
            self.$($inner.)?$field = $value;
            self
        }
    };
}
