//! Encodes and decodes the contents of cursors: values of sort keys in a compact binary form.
//!
//! A cursor contains the values of the sort keys of one row. It needs no memory on the server, and rows added
//! or removed around it do not move it. A keyed checksum detects modifications and binds a cursor to its
//! query (REQ-PAG-09, REQ-PAG-10).

use std::borrow::Cow;

use chrono::{DateTime, NaiveDate, Utc};

use super::value::Scalar;

/// Encodes values: a letter for the kind, then the length and the bytes of the value. For example, the string
/// `ab` and null become:
///
/// ```text
/// 's' 2 'a' 'b'  'n'
/// ```
pub(crate) fn pack(values: &[Scalar]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in values {
        match value {
            Scalar::Null => bytes.push(b'n'),
            // A prefix: the letter of the inner value follows.
            Scalar::Stored(value) => {
                bytes.push(b'x');
                bytes.extend(pack(std::slice::from_ref(value)));
            }
            Scalar::Bytes(value) => packed(&mut bytes, b'b', value),
            Scalar::RawText(value) => packed(&mut bytes, b'B', value),
            Scalar::Bool(value) => bytes.push(if *value { b't' } else { b'f' }),
            Scalar::Int(value) => match i64::try_from(*value) {
                Ok(value) => packed(&mut bytes, b'i', &trimmed(value)),
                Err(_) => packed(&mut bytes, b'I', &value.to_le_bytes()),
            },
            Scalar::Float(value) => packed(&mut bytes, b'd', &value.to_le_bytes()),
            Scalar::Text(text) => packed(&mut bytes, b's', text.as_bytes()),
            Scalar::Date(date) => packed(&mut bytes, b'D', date.to_string().as_bytes()),
            Scalar::Instant(instant) => {
                let mut parts = instant.timestamp().to_le_bytes().to_vec();
                parts.extend_from_slice(&instant.timestamp_subsec_nanos().to_le_bytes());
                packed(&mut bytes, b'T', &parts);
            }
        }
    }
    bytes
}

/// Returns the bytes of an integer without redundant sign bytes, so that small numbers make short cursors.
fn trimmed(value: i64) -> Vec<u8> {
    let mut bytes = value.to_le_bytes().to_vec();
    let filler = if value < 0 { 0xff } else { 0 };
    while let [.., before, last] = bytes.as_slice() {
        if *last != filler || (before & 0x80 != 0) != (value < 0) {
            break;
        }
        bytes.pop();
    }
    bytes
}

/// Appends the kind, the length as a variable-length integer (LEB128), and the value.
fn packed(bytes: &mut Vec<u8>, kind: u8, value: &[u8]) {
    bytes.push(kind);
    let mut length = value.len();
    while length >= 0x80 {
        bytes.push(0x80 | (length & 0x7f) as u8);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend_from_slice(value);
}

/// Decodes the values encoded by [`pack`]. Returns `None` for any other bytes.
pub(crate) fn unpack(bytes: &[u8]) -> Option<Vec<Scalar>> {
    let mut rest = bytes;
    let mut values = Vec::new();
    while let Some((kind, tail)) = rest.split_first() {
        rest = tail;
        let (kind, is_stored) = match (kind, tail.split_first()) {
            (b'x', Some((kind, tail))) => {
                rest = tail;
                (kind, true)
            }
            _ => (kind, false),
        };
        let value = unpack_one(*kind, &mut rest)?;
        values.push(if is_stored { Scalar::Stored(Box::new(value)) } else { value });
    }
    Some(values)
}

/// Decodes a value of this kind.
fn unpack_one(kind: u8, rest: &mut &[u8]) -> Option<Scalar> {
    match kind {
        b'n' => return Some(Scalar::Null),
        b't' => return Some(Scalar::Bool(true)),
        b'f' => return Some(Scalar::Bool(false)),
        _ => {}
    }
    let value = take(rest)?;
    Some(match kind {
        b'i' => Scalar::Int(whole(value)?.into()),
        b'I' => Scalar::Int(i128::from_le_bytes(value.try_into().ok()?)),
        b'd' => Scalar::Float(f64::from_le_bytes(value.try_into().ok()?)),
        b's' => Scalar::Text(Cow::Owned(std::str::from_utf8(value).ok()?.to_owned())),
        b'D' => Scalar::Date(std::str::from_utf8(value).ok()?.parse::<NaiveDate>().ok()?),
        b'T' => {
            let (seconds, nanoseconds) = value.split_at_checked(8)?;
            let seconds = i64::from_le_bytes(seconds.try_into().ok()?);
            let nanoseconds = u32::from_le_bytes(nanoseconds.try_into().ok()?);
            Scalar::Instant(DateTime::<Utc>::from_timestamp(seconds, nanoseconds)?)
        }
        b'b' => Scalar::Bytes(value.to_vec()),
        b'B' => Scalar::RawText(value.to_vec()),
        _ => return None,
    })
}

fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let mut length = 0_usize;
    let mut shift = 0_u32;
    loop {
        let (byte, tail) = rest.split_first()?;
        *rest = tail;
        length |= usize::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            break;
        }
        shift += 7;
    }
    let (value, tail) = rest.split_at_checked(length)?;
    *rest = tail;
    Some(value)
}

fn whole(bytes: &[u8]) -> Option<i64> {
    let negative = bytes.last().is_some_and(|last| last & 0x80 != 0);
    let mut all = [if negative { 0xff } else { 0 }; 8];
    all.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(i64::from_le_bytes(all))
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use proptest::prelude::*;

    use mcp_aql_core::internal::paging::CursorKey;

    use super::*;

    fn scalars() -> impl Strategy<Value = Scalar> {
        let stored = |value: Scalar| Scalar::Stored(Box::new(value));
        prop_oneof![
            2 => plain_scalars(),
            1 => prop::collection::vec(any::<u8>(), 0..9).prop_map(Scalar::Bytes),
            1 => prop::collection::vec(any::<u8>(), 0..9).prop_map(Scalar::RawText),
            1 => plain_scalars().prop_map(stored),
        ]
    }

    fn plain_scalars() -> impl Strategy<Value = Scalar> {
        prop_oneof![
            Just(Scalar::Null),
            any::<bool>().prop_map(Scalar::Bool),
            any::<i64>().prop_map(|value| Scalar::Int(value.into())),
            (-300_i128..300).prop_map(Scalar::Int),
            any::<i128>().prop_map(Scalar::Int),
            any::<f64>().prop_filter("a number", |value| !value.is_nan()).prop_map(Scalar::Float),
            ".{0,200}".prop_map(Scalar::from),
            (-700_000_i32..700_000)
                .prop_map(|days| Scalar::Date(NaiveDate::from_num_days_from_ce_opt(days).unwrap())),
            (any::<i32>(), 0_u32..1_000_000_000).prop_map(
                |(seconds, nanoseconds)| Scalar::Instant(
                    DateTime::from_timestamp(seconds.into(), nanoseconds).unwrap()
                )
            ),
        ]
    }

    proptest! {
        #[test]
        fn a_cursor_round_trips(
            values in prop::collection::vec(scalars(), 0..5),
            key: [u8; 16],
        ) {
            // REQ-PAG-09
            let key = CursorKey::new(key);
            let text = key.seal("tasks", &pack(&values));
            prop_assert!(text.bytes().all(|each| each.is_ascii_alphanumeric() || b"-_".contains(&each)));
            prop_assert_eq!(unpack(&key.open("tasks", &text).unwrap()).unwrap(), values);
        }

        #[test]
        fn a_changed_cursor_is_refused(
            values in prop::collection::vec(scalars(), 0..4),
            place: prop::sample::Index,
            bit in 0_u8..8,
        ) {
            // REQ-PAG-10
            let key = CursorKey::new([7; 16]);
            let text = key.seal("tasks", &pack(&values));
            let mut bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
            let place = place.index(bytes.len());
            bytes[place] ^= 1 << bit;
            prop_assert_eq!(key.open("tasks", &URL_SAFE_NO_PAD.encode(bytes)), None);
            prop_assert_eq!(key.open("notes", &text), None);
            prop_assert_eq!(CursorKey::new([8; 16]).open("tasks", &text), None);
        }

        #[test]
        fn any_text_is_survived(text: String, bytes: Vec<u8>) {
            prop_assert_eq!(CursorKey::new([7; 16]).open("tasks", &text), None);
            let _ = unpack(&bytes);
        }
    }

    #[test]
    fn small_values_make_short_cursors() {
        let key = CursorKey::new([7; 16]);
        let values = [Scalar::Int(3), Scalar::from("t-7")];
        assert!(key.seal("tasks", &pack(&values)).len() <= 22);
    }
}
