//! What a caller hears while guests are built. Says nothing itself: the callback decides where it goes.

/// One thing that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress<'a> {
    /// A step begins. One sentence part, like `building plugin tool-guard`.
    Step(&'a str),
    /// A program of the current step printed this line.
    Output(&'a str),
}

/// The callback of the caller.
pub(crate) type Report<'a> = &'a dyn Fn(Progress<'_>);
