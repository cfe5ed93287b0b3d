//! Members of JSON values, with errors that name them.

use alloc::{string::String, vec::Vec};

use serde_json::{Map, Value, error::Category};

use crate::{Error, Got, Result, Wanted};

/// Most bytes of a JSON text that are read. Real messages have up to some tens of thousands.
pub const MAX_JSON: usize = 1 << 20;

/// Reads a text; the depth is bounded by the parser.
pub(super) fn parse(field: &'static str, text: &[u8]) -> Result<Value> {
    if text.len() > MAX_JSON {
        return Err(Error::count(field, Wanted::AtMost(MAX_JSON as u64), text.len()));
    }
    serde_json::from_slice(text).map_err(|error| {
        let got = if error.classify() == Category::Eof {
            "JSON that ends early"
        } else {
            "text that is not JSON"
        };
        Error::new(field, Wanted::What("JSON"), Got::What(got))
    })
}

/// A value that may travel as it is or as JSON text in a string, as several topics do.
pub(super) fn embedded(field: &'static str, value: &Value) -> Result<Value> {
    match value {
        Value::String(text) => parse(field, text.as_bytes()),
        value => Ok(value.clone()),
    }
}

pub(super) fn object<'v>(
    field: &'static str,
    value: Option<&'v Value>,
) -> Result<&'v Map<String, Value>> {
    value.and_then(Value::as_object).ok_or_else(|| wrong(field, "a JSON object", value))
}

pub(super) fn list<'v>(field: &'static str, value: Option<&'v Value>) -> Result<&'v Vec<Value>> {
    value.and_then(Value::as_array).ok_or_else(|| wrong(field, "a list", value))
}

pub(super) fn text<'v>(field: &'static str, value: Option<&'v Value>) -> Result<&'v str> {
    value.and_then(Value::as_str).ok_or_else(|| wrong(field, "text", value))
}

pub(super) fn number(field: &'static str, value: Option<&Value>) -> Result<f64> {
    value.and_then(Value::as_f64).ok_or_else(|| wrong(field, "a number", value))
}

/// A whole number, also one that was written with a fraction of zero.
pub(super) fn whole(field: &'static str, value: Option<&Value>) -> Result<i64> {
    let exact = |number: f64| {
        let whole = number as i64;
        (whole as f64 == number && number.abs() < 9e15).then_some(whole)
    };
    value
        .and_then(|value| value.as_i64().or_else(|| exact(value.as_f64()?)))
        .ok_or_else(|| wrong(field, "a whole number", value))
}

pub(super) fn flag(field: &'static str, value: Option<&Value>) -> Result<bool> {
    value.and_then(Value::as_bool).ok_or_else(|| wrong(field, "true or false", value))
}

/// Text that may be missing.
pub(super) fn text_or_empty<'v>(field: &'static str, value: Option<&'v Value>) -> Result<&'v str> {
    match value {
        None | Some(Value::Null) => Ok(""),
        value => text(field, value),
    }
}

pub(super) fn wrong(field: &'static str, wanted: &'static str, value: Option<&Value>) -> Error {
    let got = match value {
        None => "nothing",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "true or false",
        Some(Value::Number(_)) => "a number",
        Some(Value::String(_)) => "text",
        Some(Value::Array(_)) => "a list",
        Some(Value::Object(_)) => "a JSON object",
    };
    Error::new(field, Wanted::What(wanted), Got::What(got))
}
