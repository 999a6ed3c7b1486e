//! The parts of WASI that hostile guests import, as text, and core imports of the functions that many of them use.

/// The packages.
pub(crate) const PACKAGES: &str = "package test:other;
    interface back-door { open: func(); }
    package wasi:io@0.2.0 {
        interface poll {
            resource pollable { ready: func() -> bool; block: func(); }
            poll: func(in: list<borrow<pollable>>) -> list<u32>;
        }
        interface error { resource error; }
        interface streams {
            use error.{error};
            use poll.{pollable};
            variant stream-error { last-operation-failed(error), closed }
            resource input-stream {
                blocking-read: func(len: u64) -> result<list<u8>, stream-error>;
                subscribe: func() -> pollable;
            }
            resource output-stream {
                blocking-write-and-flush: func(contents: list<u8>) -> result<_, stream-error>;
                subscribe: func() -> pollable;
            }
        }
    }
    package wasi:clocks@0.2.0 {
        interface monotonic-clock {
            use wasi:io/poll@0.2.0.{pollable};
            subscribe-duration: func(when: u64) -> pollable;
        }
    }
    package wasi:cli@0.2.0 {
        interface stdin { use wasi:io/streams@0.2.0.{input-stream}; get-stdin: func() -> input-stream; }
        interface stdout { use wasi:io/streams@0.2.0.{output-stream}; get-stdout: func() -> output-stream; }
        interface exit { exit: func(status: result); }
    }
    package wasi:filesystem@0.2.0 {
        interface types { resource descriptor; }
        interface preopens { use types.{descriptor}; get-directories: func() -> list<tuple<descriptor, string>>; }
    }
    package wasi:random@0.2.0 { interface random { get-random-bytes: func(len: u64) -> list<u8>; } }";

/// Interface of pollables.
pub(crate) const POLL: &str = "wasi:io/poll@0.2.0";

/// Interface of the clock.
pub(crate) const CLOCK: &str = "wasi:clocks/monotonic-clock@0.2.0";

/// Interface of streams.
pub(crate) const STREAMS: &str = "wasi:io/streams@0.2.0";

/// Interface of standard output.
pub(crate) const STDOUT: &str = "wasi:cli/stdout@0.2.0";

/// `$sleep`: makes a pollable for a time in nanoseconds.
pub(crate) const SLEEP: &str =
    r#"(import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $sleep (param i64) (result i32)))"#;

/// `$block`, `$ready`, `$drop` of a pollable, and `$poll` of a list.
pub(crate) const POLLABLE: &str = r#"(import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))
    (import "wasi:io/poll@0.2.0" "[method]pollable.ready" (func $ready (param i32) (result i32)))
    (import "wasi:io/poll@0.2.0" "[resource-drop]pollable" (func $drop (param i32)))
    (import "wasi:io/poll@0.2.0" "poll" (func $poll (param i32 i32 i32)))"#;

/// `$stdout`: a handle to standard output.
pub(crate) const GET_STDOUT: &str = r#"(import "wasi:cli/stdout@0.2.0" "get-stdout" (func $stdout (result i32)))"#;

/// `$write` to an output stream, `$watch` for a pollable of it, and `$close`.
pub(crate) const OUTPUT: &str = r#"(import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
        (func $write (param i32 i32 i32 i32)))
    (import "wasi:io/streams@0.2.0" "[method]output-stream.subscribe" (func $watch (param i32) (result i32)))
    (import "wasi:io/streams@0.2.0" "[resource-drop]output-stream" (func $close (param i32)))"#;
