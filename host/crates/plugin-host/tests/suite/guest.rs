//! Guests as text. A guest is a core module with the names of the canonical ABI; `wit-component` makes a component of it and of the
//! contract, so that its types are the real ones.

use std::path::Path;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// Where guests put what they return. Zeroes here are `ok(none)`.
pub(crate) const ANSWER: u32 = 1024;

/// Name of the hook that most guests handle.
pub(crate) const GUARD: &str = "before-tool-call";

/// A core module with memory, an allocator that never frees, and `items`.
pub(crate) fn module(items: &str) -> String {
    format!(
        r#"(module
            {imports}
            (memory (export "memory") 2)
            (global $next (mut i32) (i32.const 65536))
            (global $calls (mut i32) (i32.const 0))
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (local $at i32)
                (local.set $at (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
                (global.set $next (i32.add (local.get $at) (local.get 3)))
                (local.get $at))
            {items})"#,
        imports = "",
    )
}

/// The function `handle` of a hook, with locals `$args` (where the arguments are) and `$i`.
pub(crate) fn handle(hook: &str, body: &str) -> String {
    format!(r#"(func $handle (export "creel:plugin/{hook}@0.1.0#handle") (param $args i32) (result i32) (local $i i32) {body})"#)
}

/// Stores words from [`ANSWER`] on and returns them.
pub(crate) fn answer(words: &[(u32, &str)]) -> String {
    let mut code = String::new();
    for (offset, word) in words {
        code.push_str(&format!("(i32.store (i32.const {}) {word})", ANSWER + offset));
    }
    format!("{code} (i32.const {ANSWER})")
}

/// A guard that blocks with `reason`, a text at `at` that is `length` bytes long.
pub(crate) fn block(at: &str, length: &str) -> String {
    answer(&[(4, "(i32.const 1)"), (20, "(i32.const 1)"), (24, "(i32.const 1)"), (28, at), (32, length)])
}

/// A component that exports one hook.
pub(crate) fn with_hook(hook: &str, body: &str, items: &str) -> Vec<u8> {
    component(&format!("export creel:plugin/{hook}@0.1.0;"), &module(&format!("{} {items}", handle(hook, body))))
}

/// A component that guards tool calls.
pub(crate) fn guard(body: &str) -> Vec<u8> {
    with_hook(GUARD, body, "")
}

/// A guard that blocks each call with a letter: `a` for the first call that the instance serves, `b` for the second, ….
pub(crate) fn counter() -> Vec<u8> {
    guard(&format!(
        "(i32.store8 (i32.const 512) (i32.add (i32.const 97) (global.get $calls)))
         (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
         {}",
        block("(i32.const 512)", "(i32.const 1)")
    ))
}

/// Makes a component of a core module and of what its world says.
pub(crate) fn component(world: &str, core: &str) -> Vec<u8> {
    let contract = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../wit");
    let mut resolve = Resolve::default();
    resolve.push_dir(contract).expect("the contract parses");
    encode(resolve, world, core, StringEncoding::UTF8)
}

/// Makes a component that uses other packages, given as text, beside the contract.
pub(crate) fn component_with(packages: &str, world: &str, core: &str) -> Vec<u8> {
    encoded(packages, world, core, StringEncoding::UTF8)
}

/// The same with another encoding of its texts.
pub(crate) fn encoded(packages: &str, world: &str, core: &str, encoding: StringEncoding) -> Vec<u8> {
    let contract = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../wit");
    let mut resolve = Resolve::default();
    resolve.push_dir(contract).expect("the contract parses");
    resolve.push_str("other.wit", packages).expect("the packages parse");
    encode(resolve, world, core, encoding)
}

/// Makes a component against another contract, given as text.
pub(crate) fn component_of(contract: &str, world: &str, core: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    resolve.push_str("contract.wit", contract).expect("the contract parses");
    encode(resolve, world, core, StringEncoding::UTF8)
}

fn encode(mut resolve: Resolve, world: &str, core: &str, encoding: StringEncoding) -> Vec<u8> {
    let text = format!("package test:guest; world guest {{ {world} }}");
    let package = resolve.push_str("guest.wit", &text).expect("the world parses");
    let world = resolve.select_world(&[package], None).expect("there is one world");
    let mut module = wat::parse_str(core).expect("the module parses");
    embed_component_metadata(&mut module, &resolve, world, encoding).expect("the metadata fits");
    ComponentEncoder::default().module(&module).expect("the module fits its world").validate(true).encode().expect("a component")
}
