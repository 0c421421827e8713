//! Writes JSON as the content of a JSON string, the form in which MCP transports replies.

/// Appends the content of a JSON string, without its quotation marks.
///
/// The bytes are copied one by one, because the input is usually JSON: nearly every word in it is in quotation marks,
/// and each mark must be escaped.
///
/// ```text
/// {"a":1}  →  {\"a\":1}
/// ```
pub fn quote(target: &mut Vec<u8>, text: &[u8]) {
    target.reserve(text.len() + text.len() / 4);
    for byte in text {
        match byte {
            b'"' | b'\\' => target.extend_from_slice(&[b'\\', *byte]),
            0..0x20 => quote_control(target, *byte),
            _ => target.push(*byte),
        }
    }
}

/// Returns the number of bytes by which the content of a JSON string is longer than the JSON in it. If that JSON has
/// line breaks between its tokens, the result is too high.
pub(crate) fn count_escapes(quoted: &[u8]) -> usize {
    let mut bytes = quoted.iter();
    let mut escapes = 0;
    while let Some(byte) = bytes.next() {
        if *byte == b'\\' {
            escapes += 1;
            bytes.next();
        }
    }
    escapes
}

#[cold]
fn quote_control(target: &mut Vec<u8>, byte: u8) {
    match byte {
        b'\n' => target.extend_from_slice(b"\\n"),
        b'\r' => target.extend_from_slice(b"\\r"),
        b'\t' => target.extend_from_slice(b"\\t"),
        0x08 => target.extend_from_slice(b"\\b"),
        0x0c => target.extend_from_slice(b"\\f"),
        _ => target.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn strings_are_quoted_as_serde_json_does(
            text in "[\u{0}-\u{30}\"\\\\a-cé😀\u{7f}]{0,40}|\\PC*"
        ) {
            let mut quoted = b"\"".to_vec();
            quote(&mut quoted, text.as_bytes());
            quoted.push(b'"');
            prop_assert_eq!(quoted, serde_json::to_vec(&text).unwrap());
        }

        #[test]
        fn escapes_are_counted(text in "[\"\\\\a-cé😀\n]{0,40}") {
            let json = serde_json::to_vec(&[text]).unwrap();
            let mut quoted = Vec::new();
            quote(&mut quoted, &json);
            prop_assert_eq!(quoted.len() - count_escapes(&quoted), json.len());
        }
    }
}
