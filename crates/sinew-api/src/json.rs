//! JSON from clients: no member twice, and a bounded number of values.
//!
//! Where two members have one name, readers disagree on which of them counts: what one program
//! checked, another would carry out. And a value takes up to a hundred times the memory of its
//! text, so their number is bounded, not only the bytes.

use std::{cell::Cell, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The most values of a message: four times those of the longest motion that fits into one.
const MAX_VALUES: u32 = 1 << 19;
/// An object costs as much memory as this many numbers.
const OBJECT: u32 = 16;

/// Reads one document.
pub(crate) fn parse(text: &[u8]) -> Result<Value, serde_json::Error> {
    let left = Cell::new(MAX_VALUES);
    let mut reader = serde_json::Deserializer::from_slice(text);
    let value = Strict(&left).deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// A value, and how many more there may be.
#[derive(Clone, Copy)]
struct Strict<'a>(&'a Cell<u32>);

impl Strict<'_> {
    fn count<E: Error>(self, values: u32) -> Result<(), E> {
        let left = self.0.get().checked_sub(values);
        self.0.set(left.ok_or_else(|| E::custom("too many values"))?);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.count(1)?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.count(OBJECT)?;
        let mut members = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if members.contains_key(&key) {
                let key: String = key.chars().take(60).collect();
                return Err(A::Error::custom(format_args!("member {key:?} stands there twice")));
            }
            let value = entries.next_value_seed(self)?;
            members.insert(key, value);
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_what_serde_json_reads() {
        for text in [
            "null",
            "[true, -1, 2, 1.5e3, \"a\\u00e9\\n\", {}, [], {\"a\": {\"b\": [1]}, \"c\": null}]",
            "18446744073709551615",
            "-0.0",
        ] {
            let plain: Value = serde_json::from_str(text).expect("is JSON");
            assert_eq!(parse(text.as_bytes()).expect("is JSON"), plain);
        }
        let deep = "[".repeat(100_000);
        for text in ["", "{", "1 2", "{\"a\":1,}", "\"\u{0}\"", "1e999", &deep] {
            assert!(parse(text.as_bytes()).is_err(), "{text:.20}");
        }
        assert!(parse(b"\"\xFF\"").is_err());
    }

    #[test]
    fn a_member_that_stands_there_twice_is_an_error_at_any_depth() {
        for text in [
            r#"{"confirm":false,"confirm":true}"#,
            r#"[{"a":{"b":1,"c":2,"b":1}}]"#,
            r#"{"a":1,"\u0061":1}"#,
        ] {
            let error = parse(text.as_bytes()).expect_err(text).to_string();
            assert!(error.contains("twice"), "{error}");
        }
        assert!(parse(br#"[{"a":1},{"a":1}]"#).is_ok());
    }

    #[test]
    fn the_number_of_values_is_bounded() {
        let list = |item: &str, count: usize| format!("[{}]", vec![item; count].join(","));
        assert!(parse(list("0", 500_000).as_bytes()).is_ok());
        assert!(parse(list("0", 600_000).as_bytes()).is_err());
        assert!(parse(list("{}", 40_000).as_bytes()).is_err());
    }
}
