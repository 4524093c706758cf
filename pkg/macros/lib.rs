//! The attribute `tool`: a tool of an agent from an async function.
//!
//! Programs use it as `forgeline::tool`, with the feature `runtime`. The generated code names everything by
//! `::forgeline`, also the crates that derive the schema: a program needs no dependency on them.

mod arguments;
mod expand;
mod options;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

// Its examples name the facade, whose tests run them.
#[cfg_attr(not(doctest), doc = include_str!("tool.md"))]
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    let expanded = expand::tool(options.into(), item.into());
    expanded.unwrap_or_else(syn::Error::into_compile_error).into()
}
