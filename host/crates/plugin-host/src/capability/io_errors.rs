//! Errors of streams as guests get them, instead of what wasmtime gives: the text of one is a bounded line (wasmtime's holds a backtrace of
//! the host, with paths of the machine that built it, where `RUST_BACKTRACE` is set), and one of a request says which.

use hooks::fault::one_line;
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi_http::Error;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;

use crate::state::State;

/// Longest text of an error, in bytes.
const MAX_TEXT_BYTES: usize = 512;

/// Where wasmtime links what is replaced. Another version would define a function that nobody calls, which tests of both would tell.
const IO_ERROR: &str = "wasi:io/error@0.2.12";
const HTTP_TYPES: &str = "wasi:http/types@0.2.12";

/// Replaces what is linked.
///
/// # Errors
/// When there is nothing of that kind.
pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let text = |store: StoreContextMut<'_, State>, (error,): (Resource<wasmtime::Error>,)| {
        let error = store.data().table.get(&error)?;
        Ok((one_line(&error.to_string(), MAX_TEXT_BYTES),))
    };
    linker.instance(IO_ERROR)?.func_wrap("[method]error.to-debug-string", text)?;
    let code = |store: StoreContextMut<'_, State>, (error,): (Resource<wasmtime::Error>,)| {
        let error = store.data().table.get(&error)?;
        let of_request = || error.downcast_ref::<Error>().map(code_of);
        Ok((error.downcast_ref::<ErrorCode>().cloned().or_else(of_request),))
    };
    linker.instance(HTTP_TYPES)?.func_wrap("http-error-code", code)
}

/// What a body that ends too early ended with. The kinds are those that [`http`](super::http) makes.
fn code_of(error: &Error) -> ErrorCode {
    match error {
        Error::ConnectionTimeout => ErrorCode::ConnectionTimeout,
        Error::HttpRequestBodySize(limit) => ErrorCode::HttpRequestBodySize(*limit),
        Error::HttpResponseBodySize(limit) => ErrorCode::HttpResponseBodySize(*limit),
        Error::HttpRequestDenied => ErrorCode::HttpRequestDenied,
        Error::TlsProtocolError => ErrorCode::TlsProtocolError,
        Error::ConnectionRefused => ErrorCode::ConnectionTerminated,
        Error::HttpProtocolError => ErrorCode::HttpProtocolError,
        other => ErrorCode::InternalError(Some(one_line(&other.to_string(), MAX_TEXT_BYTES))),
    }
}
