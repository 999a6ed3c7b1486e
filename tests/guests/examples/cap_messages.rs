//! Offers the tool `announce`, which sends the messages that its parameters hold (`messages`: objects with `content` and what else they
//! need) and answers with a JSON list of what became of each. Its own handlers cancel every message that they hear of.

use creel_plugin::messages::{self, Message};
use creel_plugin::prelude::*;
use serde_json::{Value, json};

struct Announces;

#[plugin]
impl Plugin for Announces {
    fn list_tools(_: Option<ToolScope>) -> Result<Vec<Tool>> {
        Ok(vec![Tool::new("announce", "Sends messages.")])
    }

    fn execute_tool(call: ToolCall, _: ToolContext) -> Result<ToolResult> {
        let asked: Value = call.params()?;
        let receipts = asked["messages"].as_array().into_iter().flatten().map(receipt);
        Ok(ToolResult::text(Value::from(receipts.collect::<Vec<_>>()).to_string()))
    }

    fn reply_payload_sending(_: &Call, _: ReplyPayloadSendingEvent, _: MessageContext) -> Result<PayloadDecision> {
        Ok(PayloadDecision::cancel("by its own handler"))
    }

    fn message_sending(_: &Call, _: MessageSendingEvent, _: MessageContext) -> Result<SendDecision> {
        Ok(SendDecision::cancel("by its own handler"))
    }

    fn session_start(_: &Call, _: SessionStartEvent, _: SessionContext) -> Result<()> {
        log::info!("before any run: {:?}", messages::send(Message::text("early")));
        Ok(())
    }
}

fn receipt(asked: &Value) -> Value {
    let text = |key: &str| asked[key].as_str().map(str::to_owned);
    let message = Message {
        channel: text("channel"),
        to: text("to"),
        account_id: text("account"),
        idempotency_key: text("key"),
        ..Message::text(text("content").unwrap_or_default())
    };
    match messages::send(message) {
        Ok(receipt) => json!({ "status": format!("{:?}", receipt.status), "detail": receipt.detail }),
        Err(error) => json!({ "error": format!("{error:?}") }),
    }
}
