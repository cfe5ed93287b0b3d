//! How clients are answered.

use serde_json::{Value, json};
use sinew_robot::Refusal;

/// The answer to a command; none when it was silent success.
pub(crate) fn answer(req: Option<&Value>, result: &Result<Value, Refusal>) -> Option<Value> {
    match (req, result) {
        (Some(_), _) => Some(reply(req, result)),
        (None, Ok(_)) => None,
        (None, Err(refusal)) => Some(json!({ "type": "Error", "error": refusal })),
    }
}

/// An answer that is sent whether `req` was given or not.
pub(crate) fn reply(req: Option<&Value>, result: &Result<Value, Refusal>) -> Value {
    let mut reply = match result {
        Ok(data) => json!({ "type": "Reply", "ok": true, "data": data }),
        Err(refusal) => json!({ "type": "Reply", "ok": false, "error": refusal }),
    };
    if let Some(req) = req {
        reply["req"] = req.clone();
    }
    reply
}
