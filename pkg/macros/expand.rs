//! The expansion of the attribute.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{
    Attribute, Error, Expr, ExprLit, ItemFn, Lit, LitStr, Meta, Result, ReturnType, Signature,
    ext::IdentExt as _, parse2, spanned::Spanned as _,
};

use crate::{arguments::ToolArguments, options::ToolOptions};

/// Returns a function that returns the tool.
pub(crate) fn tool(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let ToolOptions { name, setters } = parse2(options)?;
    let mut function: ItemFn = parse2(item)?;
    check(&function.sig)?;
    let ident = function.sig.ident.clone();
    let description = description(&function.attrs);
    if description.trim().is_empty() {
        let problem = "a tool needs a description, by which the model chooses it; write a doc comment \
            (`/// …`) above the function";
        return Err(Error::new(ident.span(), problem));
    }
    let name = name.unwrap_or_else(|| LitStr::new(&ident.unraw().to_string(), ident.span()));
    let ToolArguments { fields, passed, state, has_context } =
        ToolArguments::take_from(function.sig.inputs.iter_mut())?;

    let (outer, inner): (Vec<_>, Vec<_>) =
        std::mem::take(&mut function.attrs).into_iter().partition(is_of_tool);
    function.attrs = inner;
    let visibility = std::mem::replace(&mut function.vis, syn::Visibility::Inherited);
    let (declared, kind, arguments) = if fields.is_empty() {
        (None, quote!(()), quote!(()))
    } else {
        let declared = quote! {
            #[derive(::forgeline::agent::private::serde::Deserialize, ::forgeline::agent::private::schemars::JsonSchema)]
            #[serde(crate = "::forgeline::agent::private::serde")]
            #[schemars(crate = "::forgeline::agent::private::schemars")]
            struct __Arguments { #(#fields,)* }
        };
        (Some(declared), quote!(__Arguments), quote!(arguments))
    };
    let context = if has_context { quote!(context) } else { quote!(_) };
    let call = quote!(#ident(#(#passed),*));
    // What the function returns must be the result of a tool: errors about it point at its type.
    let returned = match &function.sig.output {
        ReturnType::Type(_, returned) => returned.span(),
        ReturnType::Default => ident.span(),
    };
    let (parameter, tool) = if let Some(state) = state {
        let make = quote_spanned!(returned=> ::forgeline::agent::tools::tool_with);
        let called = quote!(|state, #context, #arguments: #kind| #call);
        (quote!(state: #state), quote!(#make(#name, #description, state, #called)))
    } else {
        let make = quote_spanned!(returned=> ::forgeline::agent::tools::tool_fn);
        let called =
            quote!(|#context: ::forgeline::agent::tools::ToolContext, #arguments: #kind| #call);
        (quote!(), quote!(#make(#name, #description, #called)))
    };
    Ok(quote! {
        #(#outer)*
        #visibility fn #ident(#parameter) -> impl ::forgeline::agent::tools::Tool + 'static {
            #declared
            #[allow(clippy::unused_async, reason = "a tool is async, also where it awaits nothing")]
            #function
            #tool #setters
        }
    })
}

/// Checks the function apart from its arguments.
fn check(signature: &Signature) -> Result<()> {
    if signature.asyncness.is_none() {
        let problem = "a tool is an `async fn`; write `async` before `fn`";
        return Err(Error::new(signature.fn_token.span(), problem));
    }
    if !signature.generics.params.is_empty() {
        let problem = "a tool has no generics, as its schema is of one type; name the types";
        return Err(Error::new(signature.generics.span(), problem));
    }
    Ok(())
}

/// Returns the text of doc comments.
fn description(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| {
        let Meta::NameValue(pair) = &attribute.meta else { return None };
        let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &pair.value else { return None };
        pair.path.is_ident("doc").then(|| {
            let line = text.value();
            line.strip_prefix(' ').unwrap_or(&line).to_owned()
        })
    });
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Returns `true` for an attribute of the function that returns the tool.
fn is_of_tool(attribute: &Attribute) -> bool {
    ["doc", "cfg", "deprecated"].iter().any(|name| attribute.path().is_ident(name))
}
