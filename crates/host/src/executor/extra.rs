//! One key of ours in a JSON object of other programs.
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Longest `Extra` we write. Longer ones would not fit into one argument of a command (128 KiB), and every read of the
/// node table carries it.
const MAX_LEN: usize = 64 * 1024;

/// A JSON object whose values are kept byte for byte, in their order: numbers of any size and all spellings survive.
struct Object(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Object, M::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Object(pairs))
            }
        }
        d.deserialize_map(Pairs)
    }
}

impl Object {
    fn print(&self) -> Result<String, serde_json::Error> {
        let mut text = String::from("{");
        for (at, (key, value)) in self.0.iter().enumerate() {
            if at > 0 {
                text.push(',');
            }
            text.push_str(&serde_json::to_string(key)?);
            text.push(':');
            text.push_str(value.get());
        }
        text.push('}');
        Ok(text)
    }
}

/// `extra` with `key` set to `body`, or without it where the body is empty; `None` when nothing changes.
///
/// # Errors
/// Why it is left alone, one line.
pub(super) fn with(extra: &str, key: &str, body: &str) -> Result<Option<String>, String> {
    let mut object = match extra.trim() {
        "" | "(null)" => Object(Vec::new()),
        text => serde_json::from_str(text).map_err(|_| {
            "Extra of the node is no JSON object: it is somebody else's, left alone".to_owned()
        })?,
    };
    let before = object.0.iter().find(|(name, _)| name == key).map(|(_, value)| value.get().to_owned());
    object.0.retain(|(name, _)| name != key);
    if body.is_empty() {
        if before.is_none() {
            return Ok(None);
        }
    } else {
        if before.as_deref() == Some(body) {
            return Ok(None);
        }
        let body = RawValue::from_string(body.to_owned())
            .map_err(|error| format!("our own word is no JSON: {error}"))?;
        object.0.push((key.to_owned(), body));
    }
    if object.0.is_empty() {
        return Ok(Some(String::new()));
    }
    let text = object.print().map_err(|error| error.to_string())?;
    if text.len() > MAX_LEN {
        return Err(format!("Extra of the node would be longer than {MAX_LEN} bytes, left alone"));
    }
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    fn with(extra: &str, body: &str) -> Option<String> {
        super::with(extra, "ours", body).unwrap()
    }

    #[test]
    fn what_is_there_already_stays_byte_for_byte() {
        assert_eq!(with("", r#"{"v":1}"#).as_deref(), Some(r#"{"ours":{"v":1}}"#));
        assert_eq!(with("(null)", "1").as_deref(), Some(r#"{"ours":1}"#));
        let theirs = r#"{"z":1.0,"a":123456789012345678901234567890,"é\n":[ 1e400 , "\u0041"],"z":2}"#;
        let both = with(theirs, r#"{"v":1}"#).unwrap();
        assert_eq!(
            both,
            r#"{"z":1.0,"a":123456789012345678901234567890,"é\n":[ 1e400 , "\u0041"],"z":2,"ours":{"v":1}}"#
        );
        assert_eq!(with(&both, "").as_deref(), Some(theirs));
        assert_eq!(with(r#"{"ours":{"v":1}}"#, "").as_deref(), Some(""));
        assert_eq!(with(r#"{ "ours" : 1, "a" : 2 }"#, "3").as_deref(), Some(r#"{"a":2,"ours":3}"#));
    }

    #[test]
    fn what_is_so_already_changes_nothing() {
        assert_eq!(with(r#"{"ours":{"v":1}}"#, r#"{"v":1}"#), None);
        assert_eq!(with("", ""), None);
        assert_eq!(with(r#"{"a":1}"#, ""), None);
    }

    #[test]
    fn what_is_no_object_is_somebody_elses() {
        for foreign in ["rack 7", "[1]", "\"x\"", "{", "7", "null", "{} {}", "{}x"] {
            assert!(super::with(foreign, "ours", "1").is_err(), "{foreign}");
        }
        assert!(super::with("", "ours", "{").is_err());
        let huge = format!("{{\"a\":\"{}\"}}", "x".repeat(100_000));
        assert!(super::with(&huge, "ours", "1").unwrap_err().contains("longer than"));
    }

    proptest! {
        #[test]
        fn any_text_is_answered(extra in "\\PC{0,60}", body in "\\PC{0,20}") {
            let _ = super::with(&extra, "ours", &body);
        }
    }
}
