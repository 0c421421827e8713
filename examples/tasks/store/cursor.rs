//! Where a page ended, as text that means nothing to anyone else.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::error::TaskError;

/// Tells our cursors from other text, and this form from later ones.
const MARK: u8 = 0xa1;

/// The cursor of the task with this number.
pub(super) fn encode(number: i64) -> String {
    let bytes = number.to_be_bytes();
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let mut text = vec![MARK];
    text.extend(bytes.iter().skip(zeros));
    URL_SAFE_NO_PAD.encode(text)
}

/// The number of the task that a cursor stands for. The task itself may be gone.
pub(super) fn decode(cursor: &str) -> Result<i64, TaskError> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| TaskError::InvalidCursor)?;
    let number = match bytes.split_first() {
        Some((&MARK, number)) if number.len() <= 8 => {
            number.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
        }
        _ => return Err(TaskError::InvalidCursor),
    };
    // One number, one text: what we would not have written ourselves is no cursor.
    i64::try_from(number)
        .ok()
        .filter(|number| *number > 0 && encode(*number) == cursor)
        .ok_or(TaskError::InvalidCursor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_come_back_as_the_number_they_were() {
        // REQ-PAG-09, REQ-PAG-10
        for number in [1, 2, 255, 256, 65_536, 1 << 40, i64::MAX] {
            let cursor = encode(number);
            assert_eq!(decode(&cursor).unwrap(), number, "{cursor}");
            assert!(
                cursor.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
            );
        }
    }

    #[test]
    fn other_text_is_no_cursor() {
        for text in ["", "1", "oQ", "oQA", "oQAB", "oQE=", "oQF", "oQE ", "t-1", "%", "ö", "_____w"]
        {
            assert!(matches!(decode(text), Err(TaskError::InvalidCursor)), "{text:?}");
        }
        assert_eq!(decode("oQE").unwrap(), 1);
    }
}
