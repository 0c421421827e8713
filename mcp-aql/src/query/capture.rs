//! Takes a value out of whatever serializes, without JSON between.

use std::borrow::Cow;
use std::fmt;

use serde::ser::{Impossible, SerializeSeq, SerializeTuple, Serializer};
use serde::{Serialize, ser};

use super::value::Scalar;

/// What a value serializes to.
#[derive(Debug)]
pub(crate) enum Captured {
    One(Scalar),
    Many(Vec<Scalar>),
}

/// The value, unless it is an object or a list of anything but plain values.
pub(crate) fn capture<V: Serialize + ?Sized>(value: &V) -> Option<Captured> {
    value.serialize(Capture).ok()
}

/// The value, if it is a plain one.
pub(crate) fn capture_one<V: Serialize + ?Sized>(value: &V) -> Option<Scalar> {
    match capture(value)? {
        Captured::One(scalar) => Some(scalar),
        Captured::Many(_) => None,
    }
}

/// Not a plain value.
#[derive(Debug)]
pub(crate) struct NotPlain;

impl fmt::Display for NotPlain {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("not a plain value")
    }
}

impl std::error::Error for NotPlain {}

impl ser::Error for NotPlain {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

struct Capture;

/// The methods for whole numbers.
macro_rules! whole_numbers {
    ($($method:ident: $from:ty),*) => {
        $(fn $method(self, value: $from) -> Result<Captured, NotPlain> {
            Ok(Captured::One(Scalar::Int(value.into())))
        })*
    };
}

impl Serializer for Capture {
    type Ok = Captured;
    type Error = NotPlain;
    type SerializeSeq = List;
    type SerializeTuple = List;
    type SerializeTupleStruct = Impossible<Captured, NotPlain>;
    type SerializeTupleVariant = Impossible<Captured, NotPlain>;
    type SerializeMap = Impossible<Captured, NotPlain>;
    type SerializeStruct = Impossible<Captured, NotPlain>;
    type SerializeStructVariant = Impossible<Captured, NotPlain>;

    whole_numbers!(
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_i128: i128, serialize_u8: u8, serialize_u16: u16, serialize_u32: u32,
        serialize_u64: u64
    );

    fn serialize_u128(self, value: u128) -> Result<Captured, NotPlain> {
        i128::try_from(value).map(|value| Captured::One(Scalar::Int(value))).map_err(|_| NotPlain)
    }

    fn serialize_bool(self, value: bool) -> Result<Captured, NotPlain> {
        Ok(Captured::One(Scalar::Bool(value)))
    }

    fn serialize_f32(self, value: f32) -> Result<Captured, NotPlain> {
        self.serialize_f64(widened(value))
    }

    fn serialize_f64(self, value: f64) -> Result<Captured, NotPlain> {
        Ok(Captured::One(float(value)))
    }

    fn serialize_char(self, value: char) -> Result<Captured, NotPlain> {
        Ok(Captured::One(value.to_string().into()))
    }

    fn serialize_str(self, value: &str) -> Result<Captured, NotPlain> {
        Ok(Captured::One(value.to_owned().into()))
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<Captured, NotPlain> {
        Err(NotPlain)
    }

    fn serialize_none(self) -> Result<Captured, NotPlain> {
        Ok(Captured::One(Scalar::Null))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Captured, NotPlain> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Captured, NotPlain> {
        Ok(Captured::One(Scalar::Null))
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Captured, NotPlain> {
        Ok(Captured::One(Scalar::Null))
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Captured, NotPlain> {
        Ok(Captured::One(Scalar::Text(Cow::Borrowed(variant))))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Captured, NotPlain> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Captured, NotPlain> {
        Err(NotPlain)
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<List, NotPlain> {
        Ok(List(Vec::with_capacity(length.unwrap_or_default().min(64))))
    }

    fn serialize_tuple(self, length: usize) -> Result<List, NotPlain> {
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

/// The number that JSON shows: 0.1, and not the 0.10000000149 that is nearest to it in fewer bits.
pub(crate) fn widened(value: f32) -> f64 {
    value.to_string().parse().unwrap_or_else(|_| value.into())
}

/// A number as it is compared: -0 is 0, and what is none is missing, as in JSON.
pub(crate) fn float(value: f64) -> Scalar {
    if value.is_finite() { Scalar::Float(value + 0.0) } else { Scalar::Null }
}

struct List(Vec<Scalar>);

impl List {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotPlain> {
        self.0.push(capture_one(value).ok_or(NotPlain)?);
        Ok(())
    }
}

impl SerializeSeq for List {
    type Ok = Captured;
    type Error = NotPlain;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotPlain> {
        self.push(value)
    }

    fn end(self) -> Result<Captured, NotPlain> {
        Ok(Captured::Many(self.0))
    }
}

impl SerializeTuple for List {
    type Ok = Captured;
    type Error = NotPlain;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotPlain> {
        self.push(value)
    }

    fn end(self) -> Result<Captured, NotPlain> {
        Ok(Captured::Many(self.0))
    }
}
