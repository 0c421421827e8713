//! Distinguishes containers from plain values, as a path does not lead through a plain value
//! (REQ-FLD-08).

use std::fmt;

use serde::ser::{
    self, Impossible, Serialize, SerializeSeq, SerializeTuple, SerializeTupleStruct, Serializer,
};

/// Whether a path can lead into the value: an object, a list with such an entry, or an empty one. A
/// null is as good as an object, as it stands for one that is missing.
pub(super) fn is_container<V: Serialize + ?Sized>(value: &V) -> bool {
    // A value that fails to serialize reports that when it is written.
    value.serialize(Probe).unwrap_or(true)
}

struct Probe;

/// Ends the probe early: the value is a container.
#[derive(Debug)]
struct Found;

impl fmt::Display for Found {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a container")
    }
}

impl std::error::Error for Found {}

impl ser::Error for Found {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

macro_rules! plain {
    ($($method:ident: $ty:ty),* $(,)?) => {
        $(fn $method(self, _: $ty) -> Result<bool, Found> {
            Ok(false)
        })*
    };
}

impl Serializer for Probe {
    type Ok = bool;
    type Error = Found;
    type SerializeSeq = List;
    type SerializeTuple = List;
    type SerializeTupleStruct = List;
    type SerializeTupleVariant = Impossible<bool, Found>;
    type SerializeMap = Impossible<bool, Found>;
    type SerializeStruct = Impossible<bool, Found>;
    type SerializeStructVariant = Impossible<bool, Found>;

    plain!(
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32,
        serialize_i64: i64, serialize_i128: i128, serialize_u8: u8, serialize_u16: u16,
        serialize_u32: u32, serialize_u64: u64, serialize_u128: u128, serialize_f32: f32,
        serialize_f64: f64, serialize_char: char, serialize_str: &str, serialize_bytes: &[u8],
    );

    fn collect_str<T: fmt::Display + ?Sized>(self, _: &T) -> Result<bool, Found> {
        Ok(false)
    }

    fn serialize_none(self) -> Result<bool, Found> {
        Ok(true)
    }

    fn serialize_unit(self) -> Result<bool, Found> {
        Ok(true)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<bool, Found> {
        Ok(true)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
    ) -> Result<bool, Found> {
        Ok(false)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<bool, Found> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<bool, Found> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<bool, Found> {
        Ok(true)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<List, Found> {
        Ok(List { is_empty: true })
    }

    fn serialize_tuple(self, _: usize) -> Result<List, Found> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<List, Found> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Found> {
        Err(Found)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Found> {
        Err(Found)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, Found> {
        Err(Found)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Found> {
        Err(Found)
    }
}

/// A list without a container so far.
struct List {
    is_empty: bool,
}

impl SerializeSeq for List {
    type Ok = bool;
    type Error = Found;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Found> {
        self.is_empty = false;
        if is_container(value) { Err(Found) } else { Ok(()) }
    }

    fn end(self) -> Result<bool, Found> {
        Ok(self.is_empty)
    }
}

impl SerializeTuple for List {
    type Ok = bool;
    type Error = Found;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Found> {
        SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Result<bool, Found> {
        SerializeSeq::end(self)
    }
}

impl SerializeTupleStruct for List {
    type Ok = bool;
    type Error = Found;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Found> {
        SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Result<bool, Found> {
        SerializeSeq::end(self)
    }
}
