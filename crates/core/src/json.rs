//! JSON from bytes that somebody else wrote.
use serde::de::{DeserializeOwned, Error as _};

/// Reads a `T`, by way of text: serde_json reads bytes with functions of their own, and the suite has those for text
/// already. A type read both ways is twice as much code.
///
/// # Errors
/// When the bytes are no UTF-8, no JSON, or no `T`.
pub fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    let text = str::from_utf8(bytes)
        .map_err(|error| serde_json::Error::custom(format!("no UTF-8 text: {error}")))?;
    serde_json::from_str(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_as_text_is_and_what_is_no_text_is_said_to_be_none() {
        assert_eq!(from_bytes::<Vec<u8>>(b"[1, 2]").unwrap(), [1, 2]);
        assert!(from_bytes::<Vec<u8>>(b"[1, 2").is_err());
        assert!(from_bytes::<String>(b"\"caf\xe9\"").unwrap_err().to_string().contains("UTF-8"));
    }
}
