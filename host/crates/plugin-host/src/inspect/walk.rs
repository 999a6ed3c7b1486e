//! Goes through the bytes of a component once: checks that it is one, validates its structure, and notes the names on its outside.
//! Every count is bounded before anything is made of it, since the bytes come from strangers.

use hooks::fault::one_line;
use wasmparser::{BinaryReaderError, ComponentExternalKind, Encoding, Parser, Payload, ValidPayload, Validator, WasmFeatures};

use super::MAX_COMPONENT_BYTES;

/// Most imports, and most exports, of one component. The whole contract has under 50 interfaces, the standard ones under 40.
const MAX_NAMES: usize = 500;

/// Most modules and components inside one component. Language runtimes need under 20.
const MAX_NESTED: usize = 256;

/// Deepest nesting of components. Tools that compose components need 3.
const MAX_DEPTH: usize = 16;

/// Most functions in all modules together; a JavaScript engine has 25 000.
const MAX_FUNCTIONS: usize = 400_000;

/// Longest name on the outside, in bytes.
const MAX_NAME_BYTES: usize = 512;

/// Longest text of the parser in a message, in bytes. It may repeat names.
const MAX_PROBLEM_BYTES: usize = 512;

/// Why bytes cannot be looked at as a component.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InspectError {
    /// It is too large.
    #[error("has {bytes} bytes; a component may have {MAX_COMPONENT_BYTES}")]
    TooLarge {
        /// Its size in bytes.
        bytes: usize,
    },
    /// It is something else altogether.
    #[error("is not WebAssembly: it starts with {start}")]
    NotWasm {
        /// Its first bytes in words.
        start: String,
    },
    /// It is a core module.
    #[error(
        "is a core WebAssembly module, not a component; build with --target wasm32-wasip2 or wrap it with `wasm-tools component new`"
    )]
    CoreModule,
    /// It is damaged, or uses something that this host does not run.
    #[error("is damaged or uses an unsupported feature at byte {offset} of {bytes}: {problem}")]
    Damaged {
        /// Where, in bytes from the start.
        offset: usize,
        /// Its size in bytes.
        bytes: usize,
        /// What is wrong there.
        problem: String,
    },
    /// It ends before it is complete.
    #[error("is cut off: it ends at byte {bytes}, where more must follow; copy or build it again")]
    CutOff {
        /// Its size in bytes.
        bytes: usize,
    },
    /// It has too much of something.
    #[error("has more than {max} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The limit.
        max: usize,
    },
}

/// What is in a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Core modules, at all depths.
    pub modules: usize,
    /// Components inside, at all depths.
    pub components: usize,
    /// Functions with a body, in all modules.
    pub functions: usize,
}

/// What a name on the outside stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// An instance, as all interfaces are.
    Instance,
    /// Anything else.
    Other,
}

/// A name on the outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) name: String,
    pub(super) sort: Sort,
}

/// The outside of a component.
#[derive(Debug, Default)]
pub(super) struct Outline {
    pub(super) counts: Counts,
    pub(super) imports: Vec<Found>,
    pub(super) exports: Vec<Found>,
}

/// The proposals that components may use; the engine enables all of them. Left out is what needs a garbage collector or shared memory,
/// what differs between machines, and what the component model has not settled.
pub fn features() -> WasmFeatures {
    let left_out = WasmFeatures::GC
        | WasmFeatures::GC_TYPES
        | WasmFeatures::FUNCTION_REFERENCES
        | WasmFeatures::EXCEPTIONS
        | WasmFeatures::THREADS
        | WasmFeatures::MEMORY64
        | WasmFeatures::RELAXED_SIMD
        | WasmFeatures::CM_ASYNC;
    (WasmFeatures::WASM3 | WasmFeatures::COMPONENT_MODEL).difference(left_out)
}

/// Validates a component with its function bodies, as compiling it would. Takes about a second for 100 MB.
///
/// # Errors
/// As [`inspect`](super::inspect), and when a function body is not valid.
pub fn validate(component: &[u8]) -> Result<(), InspectError> {
    check_start(component)?;
    let result = Validator::new_with_features(features()).validate_all(component);
    result.map(drop).map_err(|error| damaged(&error, component.len()))
}

/// Goes through a component.
pub(super) fn walk(component: &[u8]) -> Result<Outline, InspectError> {
    check_start(component)?;
    let mut walk = Walk { bytes: component.len(), depth: 0, outline: Outline::default() };
    let mut validator = Validator::new_with_features(features());
    let mut parser = Parser::new(0);
    parser.set_features(features());
    for payload in parser.parse_all(component) {
        let payload = payload.map_err(|error| damaged(&error, component.len()))?;
        walk.bound(&payload)?;
        match validator.payload(&payload) {
            // A body is left for the compiler.
            Ok(ValidPayload::Ok | ValidPayload::Parser(_) | ValidPayload::Func(..) | ValidPayload::End(_)) => {}
            Err(error) => return Err(damaged(&error, component.len())),
        }
        walk.note(payload)?;
    }
    Ok(walk.outline)
}

/// Tells components from everything else by size and first bytes, so that the message can be about that.
pub(crate) fn check_start(component: &[u8]) -> Result<(), InspectError> {
    if component.len() > MAX_COMPONENT_BYTES {
        return Err(InspectError::TooLarge { bytes: component.len() });
    }
    if !component.starts_with(b"\0asm") {
        return Err(InspectError::NotWasm { start: describe_start(component) });
    }
    match Parser::new(0).parse(component, true) {
        Ok(wasmparser::Chunk::Parsed { payload: Payload::Version { encoding: Encoding::Module, .. }, .. }) => {
            Err(InspectError::CoreModule)
        }
        Ok(_) => Ok(()),
        Err(error) => Err(damaged(&error, component.len())),
    }
}

fn describe_start(bytes: &[u8]) -> String {
    let start = &bytes[..bytes.len().min(4)];
    match start {
        [] => "nothing, the file is empty".to_owned(),
        [b'(' | b';', ..] => "text; convert it with `wasm-tools parse`".to_owned(),
        [0x7f, b'E', b'L', b'F'] => "the mark of machine code; this host compiles plugins itself".to_owned(),
        other => other.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" "),
    }
}

fn damaged(error: &BinaryReaderError, bytes: usize) -> InspectError {
    // The parser has the offset of the end for input that ended, and no kind to ask for.
    if error.offset() >= bytes || error.message().starts_with("unexpected end-of-file") {
        return InspectError::CutOff { bytes };
    }
    InspectError::Damaged { offset: error.offset(), bytes, problem: one_line(error.message(), MAX_PROBLEM_BYTES) }
}

struct Walk {
    bytes: usize,
    depth: usize,
    outline: Outline,
}

impl Walk {
    /// Refuses what is too much before the validator makes anything of it.
    fn bound(&mut self, payload: &Payload<'_>) -> Result<(), InspectError> {
        let counts = &mut self.outline.counts;
        match payload {
            Payload::ModuleSection { .. } => counts.modules += 1,
            Payload::ComponentSection { .. } => counts.components += 1,
            Payload::CodeSectionStart { count, .. } => counts.functions = counts.functions.saturating_add(*count as usize),
            _ => return Ok(()),
        }
        at_most(counts.modules + counts.components, MAX_NESTED, "modules and components inside")?;
        at_most(counts.functions, MAX_FUNCTIONS, "functions")?;
        at_most(self.depth, MAX_DEPTH, "levels of components inside each other")
    }

    /// Notes names of the outermost component.
    fn note(&mut self, payload: Payload<'_>) -> Result<(), InspectError> {
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => self.depth += 1,
            Payload::End(_) => self.depth = self.depth.saturating_sub(1),
            Payload::ComponentImportSection(imports) if self.depth == 0 => {
                for import in imports {
                    let import = import.map_err(|error| damaged(&error, self.bytes))?;
                    self.outline.imports.push(found(import.name.name, import.ty.kind())?);
                    at_most(self.outline.imports.len(), MAX_NAMES, "imports")?;
                }
            }
            Payload::ComponentExportSection(exports) if self.depth == 0 => {
                for export in exports {
                    let export = export.map_err(|error| damaged(&error, self.bytes))?;
                    self.outline.exports.push(found(export.name.name, export.kind)?);
                    at_most(self.outline.exports.len(), MAX_NAMES, "exports")?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn found(name: &str, kind: ComponentExternalKind) -> Result<Found, InspectError> {
    at_most(name.len(), MAX_NAME_BYTES, "bytes in the name of an import or export")?;
    let sort = if kind == ComponentExternalKind::Instance { Sort::Instance } else { Sort::Other };
    Ok(Found { name: name.to_owned(), sort })
}

fn at_most(count: usize, max: usize, what: &'static str) -> Result<(), InspectError> {
    if count > max { Err(InspectError::TooMany { what, max }) } else { Ok(()) }
}
