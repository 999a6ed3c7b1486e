//! What the macro makes of `wit/`: records, host traits and typed exports of every interface. Nothing here is written by hand, and
//! only `convert`, `capability`, `export` and the tool adapter look at it.
//!
//! Records that go to a guest are borrowed, so that making one copies no text; answers are owned.
#![allow(
    missing_docs,
    unreachable_pub,
    dead_code,
    unused_variables,
    elided_lifetimes_in_paths,
    unused_imports,
    clippy::all,
    reason = "generated code"
)]

wasmtime::component::bindgen!({
    world: "all-hooks",
    path: "../../../wit",
    exports: { default: async },
    imports: {
        // The only host functions of this version that wait.
        "creel:plugin/tools-invoke": async,
        "creel:plugin/messages-send": async,
        "creel:plugin/sessions-read": async,
        "creel:plugin/kv": async,
        "creel:plugin/session-extension": async,
    },
    ownership: Borrowing { duplicate_if_necessary: true },
});
