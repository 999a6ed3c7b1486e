//! What an empty field looks like, by type: absent if it can be, else empty, zero or `false`. Knows types, not fields.

use std::sync::Arc;

use domain::JsonText;
use domain::message::{AgentMessage, AssistantMessage, ToolResultMessage, UserMessage};
use domain::payload::ReplyPayload;
use serde_json::{Map, Value};

use crate::events::before_install::{Plugin, Skill, Target};

/// A value that can be left out.
pub trait Blank: Sized {
    /// The value that stands for this one when it is not told.
    #[must_use]
    fn blank(&self) -> Self;
}

macro_rules! blank_by_default {
    ($($type:ty),*) => {
        $(impl Blank for $type {
            fn blank(&self) -> Self {
                Self::default()
            }
        })*
    };
}

blank_by_default!(bool, u16, u32, u64, String, ReplyPayload);

impl<T> Blank for Option<T> {
    fn blank(&self) -> Self {
        None
    }
}

impl<T> Blank for Vec<T> {
    fn blank(&self) -> Self {
        Self::new()
    }
}

impl<T> Blank for Arc<[T]> {
    fn blank(&self) -> Self {
        Self::from([])
    }
}

impl Blank for JsonText {
    fn blank(&self) -> Self {
        Self::empty_object()
    }
}

/// Access that can be refused: it is.
impl Blank for Result<(), String> {
    fn blank(&self) -> Self {
        Err("it is not among the fields of this handler".to_owned())
    }
}

/// The id stays: it tells which call it is.
impl Blank for ToolResultMessage {
    fn blank(&self) -> Self {
        Self {
            tool_call_id: self.tool_call_id.clone(),
            tool_name: String::new(),
            content: Vec::new(),
            details: None,
            is_error: false,
            timestamp: 0,
            extra: Map::new(),
        }
    }
}

/// The role stays: without it it would be no message.
impl Blank for AgentMessage {
    fn blank(&self) -> Self {
        match self {
            Self::User(_) => Self::User(UserMessage::default()),
            Self::Assistant(_) => Self::Assistant(AssistantMessage::default()),
            Self::ToolResult(result) => Self::ToolResult(result.blank()),
            Self::Custom(_) => Self::Custom(Map::from_iter([("role".to_owned(), Value::from(self.role()))])),
        }
    }
}

/// What is installed stays, a skill or a plugin; everything about it goes.
impl Blank for Target {
    fn blank(&self) -> Self {
        match self {
            Self::Skill(_) => Self::Skill(Box::new(Skill { install_id: String::new(), install_spec: None })),
            Self::Plugin(plugin) => Self::Plugin(Plugin {
                plugin_id: String::new(),
                content_type: plugin.content_type,
                package_name: None,
                manifest_id: None,
                version: None,
                extensions: Vec::new(),
            }),
        }
    }
}
