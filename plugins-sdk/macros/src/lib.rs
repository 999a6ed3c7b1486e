//! The `#[plugin]` attribute of `creel-plugin`: turns the methods of an `impl Plugin` block into the exports of a component.
//!
//! Never used by itself: the code that it writes refers to `creel_plugin`. It adds exports and nothing else, so what the author
//! wrote stays as it is.

mod exports;

use proc_macro::TokenStream;
use quote::quote;
use syn::parse::Nothing;
use syn::{ItemImpl, parse_macro_input};

/// Exports the hooks that an `impl Plugin for …` block implements, and no others.
///
/// The block is the only list: a hook whose method is there is exported, one whose method is not keeps its default and does not
/// exist for the host. A `#[cfg(…)]` on a method counts for its export too.
#[proc_macro_attribute]
pub fn plugin(options: TokenStream, item: TokenStream) -> TokenStream {
    parse_macro_input!(options as Nothing);
    let block = parse_macro_input!(item as ItemImpl);
    let exports = exports::of(&block).unwrap_or_else(|error| error.into_compile_error());
    quote! { #block #exports }.into()
}
