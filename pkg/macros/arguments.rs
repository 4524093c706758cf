//! The arguments of the function.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Attribute, Error, FnArg, GenericArgument, Pat, PatType, PathArguments, PathSegment, Result,
    Type, spanned::Spanned,
};

/// The arguments of a tool's function.
#[derive(Default)]
pub(crate) struct ToolArguments {
    /// The fields of the struct that is read from the arguments of a call.
    pub(crate) fields: Vec<TokenStream>,
    /// The values that the function is called with, in its order.
    pub(crate) passed: Vec<TokenStream>,
    /// The type of the state.
    pub(crate) state: Option<Type>,
    pub(crate) has_context: bool,
}

impl ToolArguments {
    /// Reads the arguments of a function, and takes the attributes that belong to the fields of the struct.
    pub(crate) fn take_from<'a>(inputs: impl Iterator<Item = &'a mut FnArg>) -> Result<Self> {
        let mut arguments = Self::default();
        for input in inputs {
            match input {
                FnArg::Typed(typed) => arguments.add(typed)?,
                FnArg::Receiver(receiver) => {
                    let problem = "a tool is a function without `self`; share values by an argument of \
                        type `State<T>`";
                    return Err(Error::new(receiver.span(), problem));
                }
            }
        }
        Ok(arguments)
    }

    fn add(&mut self, argument: &mut PatType) -> Result<()> {
        let (own, left): (Vec<_>, Vec<_>) =
            std::mem::take(&mut argument.attrs).into_iter().partition(is_of_field);
        argument.attrs = left;
        if is_context(&argument.ty) {
            if self.has_context {
                return Err(Error::new(argument.ty.span(), "a tool has at most one `ToolContext`"));
            }
            self.has_context = true;
            self.passed.push(quote!(context));
        } else if let Some(state) = state_of(&argument.ty) {
            if self.state.is_some() {
                let problem = "a tool has at most one `State`; put its values into one struct";
                return Err(Error::new(argument.ty.span(), problem));
            }
            self.state = Some(state.clone());
            self.passed.push(quote!(::forgeline::agent::tools::State(state)));
        } else {
            self.add_field(argument, &own)?;
        }
        Ok(())
    }

    fn add_field(&mut self, argument: &PatType, attributes: &[Attribute]) -> Result<()> {
        let Pat::Ident(name) = &*argument.pat else {
            let problem = "an argument of a tool is a name; take it apart in the function's body";
            return Err(Error::new(argument.pat.span(), problem));
        };
        if let Type::Reference(_) = &*argument.ty {
            let problem = "an argument of a tool is read from JSON; expected a type without a reference, such as \
                `String`";
            return Err(Error::new(argument.ty.span(), problem));
        }
        let (name, kind) = (&name.ident, &argument.ty);
        self.fields.push(quote!(#(#attributes)* #name: #kind));
        self.passed.push(quote!(arguments.#name));
        Ok(())
    }
}

/// Returns `true` for an attribute that belongs to the schema of an argument.
fn is_of_field(attribute: &Attribute) -> bool {
    ["doc", "serde", "schemars"].iter().any(|name| attribute.path().is_ident(name))
}

fn last_segment(kind: &Type) -> Option<&PathSegment> {
    let Type::Path(path) = kind else { return None };
    path.path.segments.last()
}

fn is_context(kind: &Type) -> bool {
    last_segment(kind).is_some_and(|last| last.ident == "ToolContext" && last.arguments.is_empty())
}

/// Returns the type within a `State`.
fn state_of(kind: &Type) -> Option<&Type> {
    let last = last_segment(kind).filter(|last| last.ident == "State")?;
    let PathArguments::AngleBracketed(generics) = &last.arguments else { return None };
    match generics.args.first() {
        Some(GenericArgument::Type(state)) if generics.args.len() == 1 => Some(state),
        _ => None,
    }
}
