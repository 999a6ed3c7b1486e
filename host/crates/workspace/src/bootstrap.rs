//! Bootstrap files: texts of the workspace that go into the system prompt (8.3). [`collect`] builds the list, whoever may change it
//! changes it, [`render`] brings it within its limits and reports sizes. The prompt itself is written elsewhere.

mod collect;
pub mod names;
mod notice;
mod render;

pub use collect::{Audience, BootstrapContent, BootstrapFile, Selection, collect};
pub use notice::{NoticePolicy, TruncationNotice, truncation_notice};
pub use render::{BootstrapLimits, FileReport, FileState, InjectedFile, Rendered, render};
