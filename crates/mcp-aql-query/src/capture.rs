//! Converts values of any `Serialize` type to [`Scalar`], without an intermediate JSON value.

use std::borrow::Cow;
// The error for objects and for lists of anything but plain values.
use std::fmt::Error as NotPlain;

use serde::Serialize;
use serde::ser::{Impossible, SerializeSeq, SerializeTuple, Serializer};

use super::value::Scalar;

/// A captured value or list of values.
#[derive(Debug)]
pub(crate) enum CapturedValue {
    One(Scalar),
    Many(Vec<Scalar>),
}

/// Captures a value or a list of plain values. Returns `None` for objects and nested lists.
pub(crate) fn capture<V: Serialize + ?Sized>(value: &V) -> Option<CapturedValue> {
    value.serialize(CaptureSerializer).ok()
}

/// Captures a plain value.
pub(crate) fn capture_one<V: Serialize + ?Sized>(value: &V) -> Option<Scalar> {
    match capture(value)? {
        CapturedValue::One(scalar) => Some(scalar),
        CapturedValue::Many(_) => None,
    }
}

struct CaptureSerializer;

/// Implements the serializer's methods for integers.
macro_rules! whole_numbers {
    ($($method:ident: $from:ty),*) => {
        $(fn $method(self, value: $from) -> Result<CapturedValue, NotPlain> {
            Ok(CapturedValue::One(Scalar::Int(value.into())))
        })*
    };
}

impl Serializer for CaptureSerializer {
    type Ok = CapturedValue;
    type Error = NotPlain;
    type SerializeSeq = ListSerializer;
    type SerializeTuple = ListSerializer;
    type SerializeTupleStruct = Impossible<CapturedValue, NotPlain>;
    type SerializeTupleVariant = Impossible<CapturedValue, NotPlain>;
    type SerializeMap = Impossible<CapturedValue, NotPlain>;
    type SerializeStruct = Impossible<CapturedValue, NotPlain>;
    type SerializeStructVariant = Impossible<CapturedValue, NotPlain>;

    whole_numbers!(
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_i128: i128, serialize_u8: u8, serialize_u16: u16, serialize_u32: u32,
        serialize_u64: u64
    );

    fn serialize_u128(self, value: u128) -> Result<CapturedValue, NotPlain> {
        i128::try_from(value)
            .map(|value| CapturedValue::One(Scalar::Int(value)))
            .map_err(|_| NotPlain)
    }

    fn serialize_bool(self, value: bool) -> Result<CapturedValue, NotPlain> {
        Ok(CapturedValue::One(Scalar::Bool(value)))
    }

    fn serialize_f32(self, value: f32) -> Result<CapturedValue, NotPlain> {
        self.serialize_f64(widened(value))
    }

    fn serialize_f64(self, value: f64) -> Result<CapturedValue, NotPlain> {
        Ok(CapturedValue::One(float(value)))
    }

    fn serialize_char(self, value: char) -> Result<CapturedValue, NotPlain> {
        Ok(CapturedValue::One(value.to_string().into()))
    }

    fn serialize_str(self, value: &str) -> Result<CapturedValue, NotPlain> {
        Ok(CapturedValue::One(value.to_owned().into()))
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<CapturedValue, NotPlain> {
        Err(NotPlain)
    }

    fn serialize_none(self) -> Result<CapturedValue, NotPlain> {
        Ok(CapturedValue::One(Scalar::Null))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<CapturedValue, NotPlain> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<CapturedValue, NotPlain> {
        Ok(CapturedValue::One(Scalar::Null))
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<CapturedValue, NotPlain> {
        Ok(CapturedValue::One(Scalar::Null))
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<CapturedValue, NotPlain> {
        Ok(CapturedValue::One(Scalar::Text(Cow::Borrowed(variant))))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<CapturedValue, NotPlain> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<CapturedValue, NotPlain> {
        Err(NotPlain)
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<ListSerializer, NotPlain> {
        Ok(ListSerializer(Vec::with_capacity(length.unwrap_or_default().min(64))))
    }

    fn serialize_tuple(self, length: usize) -> Result<ListSerializer, NotPlain> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, NotPlain> {
        Err(NotPlain)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, NotPlain> {
        Err(NotPlain)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, NotPlain> {
        Err(NotPlain)
    }

    fn serialize_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStruct, NotPlain> {
        Err(NotPlain)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, NotPlain> {
        Err(NotPlain)
    }
}

/// Widens a float to the number shown in JSON: 0.1, not the nearest `f32` 0.10000000149.
pub(crate) fn widened(value: f32) -> f64 {
    value.to_string().parse().unwrap_or_else(|_| value.into())
}

/// Normalizes a number for comparison: -0 becomes 0. NaN and infinities become null, as in JSON.
pub(crate) fn float(value: f64) -> Scalar {
    if value.is_finite() { Scalar::Float(value + 0.0) } else { Scalar::Null }
}

struct ListSerializer(Vec<Scalar>);

impl ListSerializer {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotPlain> {
        self.0.push(capture_one(value).ok_or(NotPlain)?);
        Ok(())
    }
}

impl SerializeSeq for ListSerializer {
    type Ok = CapturedValue;
    type Error = NotPlain;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotPlain> {
        self.push(value)
    }

    fn end(self) -> Result<CapturedValue, NotPlain> {
        Ok(CapturedValue::Many(self.0))
    }
}

impl SerializeTuple for ListSerializer {
    type Ok = CapturedValue;
    type Error = NotPlain;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotPlain> {
        self.push(value)
    }

    fn end(self) -> Result<CapturedValue, NotPlain> {
        Ok(CapturedValue::Many(self.0))
    }
}
