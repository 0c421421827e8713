//! Measures JSON: the number of values in a document, and the memory size of a value.

use serde_json::Value;

/// Maximum number of values in a message. The limit exists because values take more memory than their bytes on the
/// wire. An object counts as [`OBJECT_WEIGHT`] values.
pub(crate) const MAX_VALUES: usize = 500_000;
/// Number of values that an object counts as.
pub(crate) const OBJECT_WEIGHT: usize = 16;
/// Maximum length of messages accepted without counting their values, in bytes.
const UNCHECKED_MESSAGE_BYTES: usize = 64 << 10;

/// Returns `true` if a JSON document has at most [`MAX_VALUES`] values. Call it before parsing.
pub(crate) fn is_light(text: &[u8]) -> bool {
    if text.len() <= UNCHECKED_MESSAGE_BYTES {
        return true;
    }
    let (mut count, mut in_text, mut escaped) = (1, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b'[' if !in_text => count += 1,
            b'{' if !in_text => count += OBJECT_WEIGHT,
            _ => {}
        }
    }
    count <= MAX_VALUES
}

/// Returns the length of a value as JSON if it is at most `max` bytes. Serializing a longer value stops early.
pub(crate) fn length_up_to(max: usize, value: &Value) -> Option<usize> {
    struct Counter {
        left: usize,
    }

    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.left = self.left.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::WriteZero)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let mut counter = Counter { left: max };
    serde_json::to_writer(&mut counter, value).ok().map(|()| max - counter.left)
}

/// Returns the approximate memory size of a value, in bytes.
pub(crate) fn weight(value: &Value) -> usize {
    const EACH: usize = 32;
    // A map allocates capacity for its first members.
    const OBJECT: usize = 16 * EACH;
    EACH + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(members) => {
            let inside = members.iter().map(|(name, value)| name.len() + weight(value));
            OBJECT + inside.sum::<usize>()
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn measures_short_values() {
        let value = json!({ "a": [1, 2] });
        assert_eq!(
            [9, 10, 11, 99].map(|max| length_up_to(max, &value)),
            [None, None, Some(11), Some(11)]
        );
    }
}
