//! From the methods of an `impl Plugin` block to export statements.
//!
//! Does not know the hooks by name: a method that the trait does not have is refused by the compiler, with its own words.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Attribute, Error, Ident, ImplItem, ItemImpl, Result};

/// The two methods that stand behind the one export `tools`.
const TOOL_METHODS: [&str; 2] = ["list_tools", "execute_tool"];

/// One export and the conditions under which it exists.
struct Export {
    name: Ident,
    conditions: Vec<Attribute>,
}

/// The export statements for a block.
///
/// # Errors
/// The block is not a plain `impl Plugin for Type`, has no method, or has only one of the two tool methods.
pub(crate) fn of(block: &ItemImpl) -> Result<TokenStream> {
    check_shape(block)?;
    let plugin = &block.self_ty;
    let statements = exports(block)?.into_iter().map(|export| {
        let Export { name, conditions } = export;
        // Names of component exports hold `@`, which native linkers take for a symbol version.
        quote! {
            #[cfg(target_family = "wasm")]
            #(#conditions)*
            const _: () = {
                type Exported = ::creel_plugin::__private::Adapter<#plugin>;
                ::creel_plugin::__private::#name::export!(Exported with_types_in ::creel_plugin::__private::#name);
            };
        }
    });
    Ok(quote! {
        // In a native build nothing else names the type, and all of it would count as dead.
        const _: () = ::creel_plugin::__private::assert_plugin::<#plugin>();
        #(#statements)*
    })
}

fn check_shape(block: &ItemImpl) -> Result<()> {
    let trait_name = block.trait_.as_ref().and_then(|(_, path, _)| path.segments.last()).map(|segment| &segment.ident);
    if trait_name.is_none_or(|name| name != "Plugin") {
        return Err(Error::new(block.impl_token.span, "`#[plugin]` belongs on an `impl Plugin for …` block"));
    }
    if !block.generics.params.is_empty() {
        return Err(Error::new_spanned(&block.generics, "a plugin is one concrete type; remove the generic parameters"));
    }
    Ok(())
}

fn exports(block: &ItemImpl) -> Result<Vec<Export>> {
    let methods: Vec<_> = block
        .items
        .iter()
        .filter_map(|item| match item {
            ImplItem::Fn(method) => Some(method),
            _ => None,
        })
        .collect();
    if methods.is_empty() {
        return Err(Error::new(
            block.impl_token.span,
            "a plugin without a hook does nothing; implement at least one method of `Plugin`",
        ));
    }
    let is_tool_method = |name: &Ident| TOOL_METHODS.iter().any(|tool| name == tool);
    let mut exports: Vec<_> = methods
        .iter()
        .filter(|method| !is_tool_method(&method.sig.ident))
        .map(|method| Export { name: method.sig.ident.clone(), conditions: conditions(&method.attrs) })
        .collect();
    let tool_methods: Vec<_> = methods.iter().filter(|method| is_tool_method(&method.sig.ident)).collect();
    match tool_methods.as_slice() {
        [] => {}
        [first, _] => exports.push(Export { name: Ident::new("tools", Span::call_site()), conditions: conditions(&first.attrs) }),
        [only, ..] => {
            return Err(Error::new(only.sig.ident.span(), "a plugin with tools implements both `list_tools` and `execute_tool`"));
        }
    }
    Ok(exports)
}

fn conditions(attributes: &[Attribute]) -> Vec<Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).cloned().collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::{exports, of};
    use syn::{ItemImpl, parse_quote};

    fn names(block: &ItemImpl) -> Vec<String> {
        let exports = exports(block).expect("valid block");
        exports.iter().map(|export| export.name.to_string()).collect()
    }

    fn refusal(block: &ItemImpl) -> String {
        of(block).expect_err("refused block").to_string()
    }

    #[test]
    fn methods_become_exports_in_their_order() {
        let block = parse_quote! {
            impl Plugin for Guard {
                fn before_tool_call() {}
                fn agent_end() {}
            }
        };
        assert_eq!(names(&block), ["before_tool_call", "agent_end"]);
    }

    #[test]
    fn the_two_tool_methods_are_one_export() {
        let block = parse_quote! {
            impl creel_plugin::Plugin for Units {
                fn execute_tool() {}
                fn list_tools() {}
            }
        };
        assert_eq!(names(&block), ["tools"]);
    }

    #[test]
    fn one_tool_method_alone_is_refused() {
        let block = parse_quote! { impl Plugin for Units { fn list_tools() {} } };
        assert!(refusal(&block).contains("both `list_tools` and `execute_tool`"));
    }

    #[test]
    fn a_condition_of_a_method_is_one_of_its_export() {
        let block = parse_quote! {
            impl Plugin for Guard {
                #[cfg(feature = "audit")]
                #[doc = "not copied"]
                fn agent_end() {}
            }
        };
        let written = of(&block).unwrap().to_string();
        assert!(written.contains("feature = \"audit\""), "{written}");
        assert!(!written.contains("not copied"), "{written}");
    }

    #[test]
    fn an_empty_block_is_refused() {
        assert!(refusal(&parse_quote! { impl Plugin for Guard {} }).contains("at least one"));
    }

    #[test]
    fn other_blocks_are_refused() {
        for block in [
            parse_quote! { impl Guard { fn agent_end() {} } },
            parse_quote! { impl Clone for Guard { fn clone(&self) -> Self { Guard } } },
        ] {
            assert!(refusal(&block).contains("impl Plugin for"));
        }
    }

    #[test]
    fn generic_blocks_are_refused() {
        let block = parse_quote! { impl<T> Plugin for Guard<T> { fn agent_end() {} } };
        assert!(refusal(&block).contains("one concrete type"));
    }
}
