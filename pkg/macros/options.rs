//! The options of the attribute.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Error, Expr, Ident, LitStr, Result, Token,
    parse::{Parse, ParseStream},
};

/// Options with a value, which a method of the tool takes.
const WITH_VALUE: [&str; 6] =
    ["effects", "origin", "module", "permission", "timeout", "max_result_chars"];

/// Options without a value.
const ALONE: [&str; 4] = ["loop_breaking", "idempotent", "may_repeat", "alone"];

/// The options of a tool.
pub(crate) struct ToolOptions {
    /// The name, where it is not that of the function.
    pub(crate) name: Option<LitStr>,
    /// The calls of methods of the tool.
    pub(crate) setters: TokenStream,
}

impl Parse for ToolOptions {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut options = Self { name: None, setters: TokenStream::new() };
        let mut known: Vec<Ident> = Vec::new();
        while !input.is_empty() {
            let option: Ident = input.parse()?;
            if known.contains(&option) {
                return Err(Error::new(
                    option.span(),
                    format!("the option `{option}` is given twice"),
                ));
            }
            options.read(&option, input)?;
            known.push(option);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

impl ToolOptions {
    /// Reads the rest of an option.
    fn read(&mut self, option: &Ident, input: ParseStream<'_>) -> Result<()> {
        let is_any = |names: &[&str]| names.iter().any(|name| option == name);
        if option == "name" {
            input.parse::<Token![=]>()?;
            let name: LitStr = input.parse()?;
            if name.value().is_empty() {
                return Err(Error::new(name.span(), "the name of a tool is empty; write one"));
            }
            self.name = Some(name);
        } else if is_any(&WITH_VALUE) {
            input.parse::<Token![=]>()?;
            let value: Expr = input.parse()?;
            self.setters.extend(quote!(.#option(#value)));
        } else if is_any(&ALONE) {
            self.setters.extend(quote!(.#option()));
        } else {
            let (with, alone) = (WITH_VALUE.join("`, `"), ALONE.join("`, `"));
            let problem =
                format!("a tool has no option `{option}`; expected `name`, `{with}`, `{alone}`");
            return Err(Error::new(option.span(), problem));
        }
        Ok(())
    }
}
