//! Creel plugin `unit-convert`: a tool that converts units.
//!
//! Pure arithmetic; its errors tell the model what would work instead.

mod convert;
mod number;
mod units;

use convert::Conversion;
use creel_plugin::prelude::*;
use serde::Deserialize;

const TOOL: &str = "convert_units";

/// Parameters of the tool.
#[derive(Deserialize)]
struct Params {
    value: f64,
    from: String,
    to: String,
}

struct UnitConvert;

#[plugin]
impl Plugin for UnitConvert {
    fn list_tools(_: Option<ToolScope>) -> Result<Vec<Tool>> {
        let tool = Tool::new(
            TOOL,
            "Converts a number between units of length, mass, temperature, volume, speed or data size. Units are symbols \
             (km, lb, °F, MiB, km/h) or English names (miles, fahrenheit).",
        )
        .label("Convert units")
        .parameters(&json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["value", "from", "to"],
            "properties": {
                "value": { "type": "number", "description": "The number to convert." },
                "from": { "type": "string", "minLength": 1, "description": "Unit of the number, for example `mi`." },
                "to": { "type": "string", "minLength": 1, "description": "Unit of the result, for example `km`." },
            },
        }))
        .output_schema(&json!({
            "type": "object",
            "required": ["value", "from", "to", "result", "quantity"],
            "properties": {
                "value": { "type": "number" },
                "from": { "type": "string" },
                "to": { "type": "string" },
                "result": { "type": "number" },
                "quantity": { "type": "string" },
            },
        }));
        Ok(vec![tool])
    }

    fn execute_tool(call: ToolCall, _: ToolContext) -> Result<ToolResult> {
        if call.name != TOOL {
            return Err(Error::msg(format!("no tool is called `{}`", call.name)));
        }
        let Params { value, from, to } = call.params()?;
        let Conversion { from, to, result } = convert::convert(value, &from, &to)?;
        let text = format!("{} {} = {} {}", number::shown(value), from.symbol(), number::shown(result), to.symbol());
        Ok(ToolResult::text(text).details(&json!({
            "value": value,
            "from": from.symbol(),
            "to": to.symbol(),
            "result": result,
            "quantity": from.quantity.name(),
        })))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::UnitConvert;
    use creel_plugin::prelude::*;
    use creel_plugin::serde_json::{Value, from_str};
    use creel_plugin::testing::{context, event};

    fn call(params: &Value) -> Result<ToolResult> {
        UnitConvert::execute_tool(event::tool_call("convert_units", params), context::tool())
    }

    #[test]
    fn the_answer_is_a_sentence_and_exact_details() {
        let result = call(&json!({ "value": 5, "from": "kilometers", "to": "mi" })).unwrap();
        let details: Value = from_str(result.details.as_ref().unwrap()).unwrap();
        assert_eq!(details["result"], 5000.0 / 1609.344);
        assert_eq!(details["quantity"], "length");
        let expected = ToolResult::text("5 km = 3.10686 mi").details(&details);
        assert_eq!(result, expected);
    }

    #[test]
    fn wrong_parameters_are_named() {
        let error = call(&json!({ "value": "five", "from": "km", "to": "mi" })).unwrap_err();
        assert!(error.to_string().starts_with("parameters: invalid type"), "{error}");
    }

    #[test]
    fn another_tool_is_refused() {
        let call = event::tool_call("convert_money", &json!({}));
        let error = UnitConvert::execute_tool(call, context::tool()).unwrap_err();
        assert_eq!(error.to_string(), "no tool is called `convert_money`");
    }

    #[test]
    fn every_tool_stands_in_the_manifest() {
        let manifest: Value = from_str(include_str!("../creel.plugin.json")).unwrap();
        assert_eq!(manifest["id"], env!("CARGO_PKG_NAME"));
        assert_eq!(manifest["component"], concat!(env!("CARGO_PKG_NAME"), ".wasm"));
        let tools = UnitConvert::list_tools(None).unwrap();
        let names: Vec<_> = tools.iter().map(|tool| json!(tool.name)).collect();
        assert_eq!(manifest["contracts"]["tools"], json!(names));
        for tool in tools {
            assert_eq!(from_str::<Value>(&tool.parameters).unwrap()["type"], "object");
        }
    }
}
