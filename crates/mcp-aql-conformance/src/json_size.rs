//! The size of JSON: the number of values in a text, and the memory of a value.

use serde_json::Value;

/// The maximum number of values in a message, because values take more memory than bytes on the wire. An
/// object counts as several.
pub(crate) const MAX_VALUES: usize = 500_000;
/// The number of values that an object counts as.
pub(crate) const OBJECT_WEIGHT: usize = 16;
/// The length up to which messages are not checked for their number of values, in bytes.
const UNCHECKED_MESSAGE_BYTES: usize = 64 << 10;

/// Whether a JSON text has at most the maximum number of values.
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

/// The length of a value as JSON, if it is at most this, in bytes. Longer values are not written to their end.
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

/// The approximate memory size of a value, in bytes.
pub(crate) fn weight(value: &Value) -> usize {
    const EACH: usize = 32;
    // Room for the first members of a map.
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
