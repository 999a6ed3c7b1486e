//! What a component may import: a linker per set of grants, which holds what was granted and no more. What is missing was named
//! before, by [`inspect`](crate::inspect); a component that still asks for more does not link.

use std::sync::Arc;

use parking_lot::Mutex;
use wasmtime::Engine;
use wasmtime::component::Linker;
use wasmtime_wasi::p2::bindings::filesystem;

use crate::bindings::creel::plugin as wit;
use crate::capability::config::Config;
use crate::capability::files::Files;
use crate::capability::invocation::Invocation;
use crate::capability::io_errors;
use crate::capability::kv::Kv;
use crate::capability::log::Log;
use crate::capability::messages_send::MessagesSend;
use crate::capability::secrets::SecretsOf;
use crate::capability::session_extension::SessionExtension;
use crate::capability::sessions_read::SessionsRead;
use crate::capability::tool_progress::ToolProgress;
use crate::capability::tools_invoke::ToolsInvoke;
use crate::capability::unavailable::Unavailable;
use crate::grant::Grants;
use crate::state::State;

/// Which of the grants decide what is linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct GrantSet {
    kv: bool,
    secrets: bool,
    session_extension: bool,
    tools_invoke: bool,
    messages_send: bool,
    sessions_read: bool,
}

/// Linkers made so far.
pub(crate) struct Linkers {
    engine: Engine,
    made: Mutex<Vec<(GrantSet, Arc<Linker<State>>)>>,
}

impl Linkers {
    pub(crate) fn new(engine: &Engine) -> Self {
        Self { engine: engine.clone(), made: Mutex::new(Vec::new()) }
    }

    /// The linker for a set of grants.
    pub(crate) fn for_grants(&self, grants: &Grants) -> wasmtime::Result<Arc<Linker<State>>> {
        let set = GrantSet {
            kv: grants.kv.is_some(),
            secrets: grants.secrets.is_some(),
            session_extension: grants.session_extension.is_some(),
            tools_invoke: grants.tools_invoke.is_some(),
            messages_send: grants.messages_send.is_some(),
            sessions_read: grants.sessions_read.is_some(),
        };
        let mut made = self.made.lock();
        if let Some((_, linker)) = made.iter().find(|(of, _)| *of == set) {
            return Ok(Arc::clone(linker));
        }
        let linker = Arc::new(link(&self.engine, set)?);
        made.push((set, Arc::clone(&linker)));
        Ok(linker)
    }
}

fn link(engine: &Engine, set: GrantSet) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    // Instead of those of wasmtime, which know no quota.
    linker.allow_shadowing(true);
    filesystem::types::add_to_linker::<State, Files>(&mut linker, State::files)?;
    filesystem::preopens::add_to_linker::<State, Files>(&mut linker, State::files)?;
    // Refuses each request that is not granted.
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    io_errors::add_to_linker(&mut linker)?;
    linker.allow_shadowing(false);
    wit::types::add_to_linker::<State, Unavailable>(&mut linker, State::unavailable)?;
    wit::log::add_to_linker::<State, Log>(&mut linker, State::log)?;
    wit::config::add_to_linker::<State, Config>(&mut linker, State::config)?;
    wit::invocation::add_to_linker::<State, Invocation>(&mut linker, State::invocation)?;
    wit::tool_progress::add_to_linker::<State, ToolProgress>(&mut linker, State::tool_progress)?;
    wit::tool_authority::add_to_linker::<State, Unavailable>(&mut linker, State::unavailable)?;
    wit::ended_transcript::add_to_linker::<State, Unavailable>(&mut linker, State::unavailable)?;
    if set.kv {
        wit::kv::add_to_linker::<State, Kv>(&mut linker, State::kv)?;
    }
    if set.secrets {
        wit::secrets::add_to_linker::<State, SecretsOf>(&mut linker, State::secrets)?;
    }
    if set.session_extension {
        wit::session_extension::add_to_linker::<State, SessionExtension>(&mut linker, State::session_extension)?;
    }
    if set.tools_invoke {
        wit::tools_invoke::add_to_linker::<State, ToolsInvoke>(&mut linker, State::tools_invoke)?;
    }
    if set.messages_send {
        wit::messages_send::add_to_linker::<State, MessagesSend>(&mut linker, State::messages_send)?;
    }
    if set.sessions_read {
        wit::sessions_read::add_to_linker::<State, SessionsRead>(&mut linker, State::sessions_read)?;
    }
    Ok(linker)
}
