//! A hostile plugin as a test describes it: what its functions do, what it imports, what it was given. By default it exports a gate that
//! fails closed and a hook that fails open, with the same code behind both, and does nothing bad.

use std::time::Duration;

use hooks::HookId;
use plugin_host::ReadyPlugin;
use plugin_host::grant::Grants;
use plugin_host::limits::Limits;
use wit_component::StringEncoding;

use crate::guest::{self, answer};
use crate::rig::{self, SHORT};
use crate::wasi;

/// Id of the hostile plugin.
pub(crate) const ID: &str = "hostile";

/// Hook of the gate.
const GATE: &str = "before-tool-call";

/// Hook that fails open.
const OPEN: &str = "before-model-resolve";

/// Never ends.
pub(crate) const LOOP: &str = "(loop $again (br $again)) unreachable";

/// A plugin that misbehaves.
#[derive(Clone)]
pub(crate) struct Hostile {
    body: String,
    allocator: String,
    items: String,
    /// Interfaces, and the core imports that go with them.
    imports: Vec<(String, String)>,
    hooks: Vec<&'static str>,
    encoding: StringEncoding,
    limits: Limits,
    grants: Grants,
    budget: Duration,
}

impl Hostile {
    /// Its handlers do this; locals are `$args` and `$i`, and what is returned is an address.
    pub(crate) fn new(body: impl Into<String>) -> Self {
        Self {
            body: body.into(),
            allocator: "(local.set $at (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
                (global.set $next (i32.add (local.get $at) (local.get $size)))
                (local.get $at)"
                .to_owned(),
            items: String::new(),
            imports: Vec::new(),
            hooks: vec![GATE, OPEN],
            encoding: StringEncoding::UTF8,
            limits: Limits::default(),
            grants: Grants::default(),
            budget: SHORT,
        }
    }

    /// Its handlers have no opinion; something else about it is bad.
    pub(crate) fn quiet() -> Self {
        Self::new(answer(&[]))
    }

    /// Its handlers do this and then have no opinion.
    pub(crate) fn doing(body: &str) -> Self {
        Self::new(format!("{body} {}", answer(&[])))
    }

    /// Exports the gate only: what it does makes an answer of that hook.
    pub(crate) fn gate_only(self) -> Self {
        Self { hooks: vec![GATE], ..self }
    }

    /// More functions, memories, tables, data.
    pub(crate) fn with(mut self, items: &str) -> Self {
        self.items.push_str(items);
        self
    }

    /// A start function.
    pub(crate) fn starting(self, body: &str) -> Self {
        self.with(&format!("(func $start {body}) (start $start)"))
    }

    /// What the canonical ABI calls after an answer was read.
    pub(crate) fn after_return(self, body: &str) -> Self {
        let names: String =
            self.hooks.iter().map(|hook| format!(r#"(export "cabi_post_creel:plugin/{hook}@0.1.0#handle")"#)).collect();
        self.with(&format!("(func $post {names} (param i32) {body})"))
    }

    /// The allocator through which the host puts arguments into the guest; locals are `$size` and `$at`.
    pub(crate) fn allocating(self, body: &str) -> Self {
        Self { allocator: body.to_owned(), ..self }
    }

    /// Imports functions of an interface of the contract, or of WASI.
    pub(crate) fn importing(mut self, interface: &str, functions: &str) -> Self {
        let interface = if interface.contains(':') { interface.to_owned() } else { format!("creel:plugin/{interface}@0.1.0") };
        self.imports.push((interface, functions.to_owned()));
        self
    }

    /// Another encoding of its texts.
    pub(crate) fn encoded(self, encoding: StringEncoding) -> Self {
        Self { encoding, ..self }
    }

    /// What the operator allows it.
    pub(crate) fn limited(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// What the operator grants it.
    pub(crate) fn granted(self, grants: Grants) -> Self {
        Self { grants, ..self }
    }

    /// How long each of its calls may take.
    pub(crate) fn within(self, budget: Duration) -> Self {
        Self { budget, ..self }
    }

    pub(crate) fn budget(&self) -> Duration {
        self.budget
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether it exports the hook that fails open too.
    pub(crate) fn is_open_too(&self) -> bool {
        self.hooks.contains(&OPEN)
    }

    /// The component.
    pub(crate) fn component(&self) -> Vec<u8> {
        let exports = self.hooks.iter().map(|hook| format!("export creel:plugin/{hook}@0.1.0; "));
        let world: String = self.imports.iter().map(|(interface, _)| format!("import {interface}; ")).chain(exports).collect();
        guest::encoded(wasi::PACKAGES, &world, &self.core(), self.encoding)
    }

    fn core(&self) -> String {
        let imports: String = self.imports.iter().map(|(_, functions)| functions.as_str()).collect();
        let names: String = self.hooks.iter().map(|hook| format!(r#"(export "creel:plugin/{hook}@0.1.0#handle")"#)).collect();
        format!(
            r#"(module {imports}
                (memory (export "memory") 2)
                (global $next (mut i32) (i32.const 65536))
                (global $calls (mut i32) (i32.const 0))
                (func $allocate (export "cabi_realloc") (param i32 i32 i32) (param $size i32) (result i32) (local $at i32)
                    {allocator})
                (func $handle {names} (param $args i32) (result i32) (local $i i32) {body})
                {items})"#,
            allocator = self.allocator,
            body = self.body,
            items = self.items,
        )
    }

    /// The plugin, ready to be started.
    pub(crate) fn plugin(&self) -> ReadyPlugin {
        let mut plugin = rig::plugin(ID, self.component());
        plugin.limits = self.limits;
        plugin.grants = self.grants.clone();
        plugin.handlers = Vec::new();
        for (hook, id) in [(GATE, HookId::BeforeToolCall), (OPEN, HookId::BeforeModelResolve)] {
            if self.hooks.contains(&hook) {
                let mut entry = rig::entry(id, self.budget);
                // Before everybody else.
                entry.options.priority = 10.0;
                plugin.handlers.push(entry);
            }
        }
        plugin
    }
}
