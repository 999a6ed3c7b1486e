//! Tools that a plugin offers to the model: what it lists, what it is called with, what it gives back.

pub use crate::bindings::host::creel::plugin::types::{ContentBlock, Image, ToolOutcome, ToolResult};
pub use crate::bindings::tools::{ActiveModel, Call as ToolCall, Scope as ToolScope, Tool};

use crate::error::Result;
use crate::json_text;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

impl Tool {
    /// A tool without parameters. The model reads the description, so it should say when to use the tool.
    ///
    /// ```
    /// use creel_plugin::{Tool, json};
    ///
    /// let tool = Tool::new("roll_dice", "Rolls dice and returns each result.").parameters(&json!({
    ///     "type": "object",
    ///     "properties": { "count": { "type": "integer", "minimum": 1, "maximum": 20 } },
    ///     "required": ["count"],
    /// }));
    /// assert_eq!(tool.name, "roll_dice");
    /// ```
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            label: None,
            description: description.into(),
            parameters: json_text::write(&json!({ "type": "object", "properties": {} })),
            output_schema: None,
            optional: false,
        }
    }

    /// JSON Schema of the parameters, of type `object`; the host checks calls against it.
    #[must_use]
    pub fn parameters(mut self, schema: &Value) -> Self {
        self.parameters = json_text::write(schema);
        self
    }

    /// Name to show.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// JSON Schema of the result's details.
    #[must_use]
    pub fn output_schema(mut self, schema: &Value) -> Self {
        self.output_schema = Some(json_text::write(schema));
        self
    }

    /// Hide it until the operator allows it.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }
}

impl ToolCall {
    /// The parameters as a type of your own.
    ///
    /// # Errors
    /// The parameters do not have the type's shape.
    pub fn params<T: DeserializeOwned>(&self) -> Result<T> {
        json_text::read("parameters", &self.params)
    }

    /// The parameters as an open value.
    ///
    /// # Errors
    /// The text is not JSON, which no host sends.
    pub fn params_value(&self) -> Result<Value> {
        self.params()
    }
}

impl ToolResult {
    /// A result of one text.
    ///
    /// ```
    /// use creel_plugin::{ToolResult, json};
    ///
    /// let result = ToolResult::text("3, 5").details(&json!({ "dice": [3, 5] }));
    /// assert!(!result.terminate);
    /// ```
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![ContentBlock::Text(text.into())], details: None, terminate: false }
    }

    /// One more piece, a picture: the bytes of the file and its media type.
    #[must_use]
    pub fn and_image(mut self, mime_type: impl Into<String>, data: Vec<u8>) -> Self {
        self.content.push(ContentBlock::Image(Image { data, mime_type: mime_type.into() }));
        self
    }

    /// A JSON value for user interfaces and hooks; the model never sees it.
    #[must_use]
    pub fn details(mut self, value: &Value) -> Self {
        self.details = Some(json_text::write(value));
        self
    }

    /// End the turn after this batch of tool calls.
    #[must_use]
    pub fn and_terminate(mut self) -> Self {
        self.terminate = true;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{ContentBlock, Tool, ToolResult};
    use serde_json::json;

    #[test]
    fn a_new_tool_takes_an_empty_object() {
        assert_eq!(Tool::new("t", "d").parameters, r#"{"type":"object","properties":{}}"#);
    }

    #[test]
    fn a_tool_says_what_it_was_told() {
        let tool = Tool::new("t", "d").label("T").output_schema(&json!({ "type": "array" })).optional();
        assert_eq!(tool.label.as_deref(), Some("T"));
        assert_eq!(tool.output_schema.as_deref(), Some(r#"{"type":"array"}"#));
        assert!(tool.optional);
    }

    #[test]
    fn a_result_keeps_its_pieces_in_order() {
        let result = ToolResult::text("a").and_image("image/png", vec![1, 2]).and_terminate();
        assert!(matches!(
            result.content.as_slice(),
            [ContentBlock::Text(text), ContentBlock::Image(image)] if text == "a" && image.data == [1, 2]
        ));
        assert!(result.terminate);
    }
}
