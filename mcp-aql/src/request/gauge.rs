//! Measures a result while it is written, so that nobody has to read it again.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CharEscape, Formatter, Serializer};

use super::limits::{Broken, Measure, too_large};
use crate::error::OperationError;
use crate::vocab::Limits;

/// Writes data as compact JSON behind what `text` holds, within the limits of a reply (REQ-ENC-09 to
/// REQ-ENC-12). `depth` objects and arrays are open already.
pub(crate) fn write_json<T: Serialize + ?Sized>(
    text: &mut Vec<u8>,
    data: &T,
    depth: usize,
    limits: &Limits,
) -> Result<(), OperationError> {
    let most = limits.max_response_size;
    let mut writer = Bounded { text, most, over: false };
    let mut gauge = Gauge { measure: Measure::new(depth, limits), broken: None };
    let written = data.serialize(&mut Serializer::with_formatter(&mut writer, &mut gauge));
    if let Some(broken) = gauge.broken {
        return Err(broken.error(limits));
    }
    if writer.over || text.len() > most {
        return Err(too_large("response_size", most, most.saturating_add(1), "bytes"));
    }
    written.map_err(OperationError::internal)
}

/// Stops writing once the reply has grown past its limit: not at once, but when it needs more room.
struct Bounded<'a> {
    text: &'a mut Vec<u8>,
    most: usize,
    over: bool,
}

impl Bounded<'_> {
    #[cold]
    fn grow(&mut self, more: usize) -> io::Result<()> {
        if more > self.most.saturating_sub(self.text.len()) {
            self.over = true;
            return Err(stop());
        }
        self.text.reserve(more);
        Ok(())
    }
}

impl Write for Bounded<'_> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() > self.text.capacity() - self.text.len() {
            self.grow(bytes.len())?;
        }
        self.text.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Compact JSON that is counted.
struct Gauge<'a> {
    measure: Measure<'a>,
    broken: Option<Broken>,
}

impl Gauge<'_> {
    #[inline]
    fn note(&mut self, measured: Result<(), Broken>) -> io::Result<()> {
        measured.map_err(|broken| {
            self.broken = Some(broken);
            stop()
        })
    }
}

/// Ends the writing; what is told about it is kept elsewhere.
#[cold]
fn stop() -> io::Error {
    io::ErrorKind::FileTooLarge.into()
}

impl Formatter for &mut Gauge<'_> {
    #[inline]
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let measured = self.measure.open(true);
        self.note(measured)?;
        writer.write_all(b"[")
    }

    #[inline]
    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        let measured = self.measure.element();
        self.note(measured)?;
        if first { Ok(()) } else { writer.write_all(b",") }
    }

    #[inline]
    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.measure.close(true);
        writer.write_all(b"]")
    }

    #[inline]
    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let measured = self.measure.open(false);
        self.note(measured)?;
        writer.write_all(b"{")
    }

    #[inline]
    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.measure.close(false);
        writer.write_all(b"}")
    }

    #[inline]
    fn begin_string<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.measure.begin_text();
        writer.write_all(b"\"")
    }

    #[inline]
    fn end_string<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let measured = self.measure.end_text();
        self.note(measured)?;
        writer.write_all(b"\"")
    }

    #[inline]
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        self.measure.text(fragment.len());
        writer.write_all(fragment.as_bytes())
    }

    #[inline]
    fn write_char_escape<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        // An escape stands for one byte.
        self.measure.text(1);
        serde_json::ser::CompactFormatter.write_char_escape(writer, escape)
    }

    /// JSON that somebody else wrote: it is read.
    fn write_raw_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let measured = self.measure.json(fragment);
        self.note(measured)?;
        writer.write_all(fragment.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::super::limits::check_response;
    use super::*;
    use crate::error::ErrorCode;
    use proptest::prelude::*;
    use serde_json::{Value, json, value::RawValue};

    fn limits() -> Limits {
        Limits {
            max_response_size: 400,
            max_string_length: 10,
            max_array_elements: 3,
            max_nesting_depth: 4,
            ..Limits::default()
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i32>().prop_map(Value::from),
            "[a-zé\"\\\\\u{1}\\[\\]{},]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 24, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::btree_map("[a-z\n]{0,11}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn written_and_read_measure_the_same(data in any_json(), raw: bool) {
            // REQ-ENC-09 to REQ-ENC-12
            let reply = json!({ "data": data }).to_string();
            let expected = check_response(&reply, &limits());
            let mut text = Vec::new();
            let written = if raw {
                let data = RawValue::from_string(data.to_string()).unwrap();
                write_json(&mut text, &json_with(&data), 0, &limits())
            } else {
                write_json(&mut text, &json!({ "data": data }), 0, &limits())
            };
            let kind = |outcome: Result<(), OperationError>| {
                outcome.map_err(|error| error.details()["limit_type"].clone())
            };
            match kind(expected) {
                Ok(()) => {
                    prop_assert_eq!(kind(written), Ok(()));
                    prop_assert_eq!(String::from_utf8(text).unwrap(), reply);
                }
                // Several limits may be broken, and another one is met first.
                Err(_) => prop_assert!(written.is_err()),
            }
        }
    }

    fn json_with(data: &RawValue) -> std::collections::BTreeMap<&str, &RawValue> {
        std::collections::BTreeMap::from([("data", data)])
    }

    #[test]
    fn data_without_end_is_cut_off() {
        // REQ-ENC-09
        struct Endless;
        impl Serialize for Endless {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(None)?;
                loop {
                    map.serialize_entry("k", "v")?;
                }
            }
        }
        let mut text = Vec::new();
        let error = write_json(&mut text, &Endless, 1, &limits()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ValidationPayloadTooLarge);
        assert_eq!(error.details()["limit_type"], "response_size");
        assert!(text.capacity() <= 2 * 400);
    }
}
