//! Distinguishes containers from plain values, because a path cannot lead through a plain value (REQ-FLD-08).

use std::fmt;
// This error ends the probe early: the value is a container.
use std::fmt::Error as ContainerFound;

use serde::ser::{
    Impossible, Serialize, SerializeSeq, SerializeTuple, SerializeTupleStruct, Serializer,
};

/// Returns `true` if a path can lead into the value: an object, a list with such an entry, or an empty list. `null`
/// counts as a missing object.
pub(super) fn is_container<V: Serialize + ?Sized>(value: &V) -> bool {
    // A value that fails to serialize reports its error when it is written, so the probe ignores it.
    value.serialize(ContainerProbe).unwrap_or(true)
}

struct ContainerProbe;

macro_rules! plain {
    ($($method:ident: $ty:ty),* $(,)?) => {
        $(fn $method(self, _: $ty) -> Result<bool, ContainerFound> {
            Ok(false)
        })*
    };
}

impl Serializer for ContainerProbe {
    type Ok = bool;
    type Error = ContainerFound;
    type SerializeSeq = ListProbe;
    type SerializeTuple = ListProbe;
    type SerializeTupleStruct = ListProbe;
    type SerializeTupleVariant = Impossible<bool, ContainerFound>;
    type SerializeMap = Impossible<bool, ContainerFound>;
    type SerializeStruct = Impossible<bool, ContainerFound>;
    type SerializeStructVariant = Impossible<bool, ContainerFound>;

    plain!(
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32,
        serialize_i64: i64, serialize_i128: i128, serialize_u8: u8, serialize_u16: u16,
        serialize_u32: u32, serialize_u64: u64, serialize_u128: u128, serialize_f32: f32,
        serialize_f64: f64, serialize_char: char, serialize_str: &str, serialize_bytes: &[u8],
    );

    fn collect_str<T: fmt::Display + ?Sized>(self, _: &T) -> Result<bool, ContainerFound> {
        Ok(false)
    }

    fn serialize_none(self) -> Result<bool, ContainerFound> {
        Ok(true)
    }

    fn serialize_unit(self) -> Result<bool, ContainerFound> {
        Ok(true)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<bool, ContainerFound> {
        Ok(true)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
    ) -> Result<bool, ContainerFound> {
        Ok(false)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<bool, ContainerFound> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<bool, ContainerFound> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<bool, ContainerFound> {
        Ok(true)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<ListProbe, ContainerFound> {
        Ok(ListProbe { is_empty: true })
    }

    fn serialize_tuple(self, _: usize) -> Result<ListProbe, ContainerFound> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<ListProbe, ContainerFound> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, ContainerFound> {
        Err(ContainerFound)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, ContainerFound> {
        Err(ContainerFound)
    }

    fn serialize_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStruct, ContainerFound> {
        Err(ContainerFound)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, ContainerFound> {
        Err(ContainerFound)
    }
}

/// A list in which no container was found until now.
struct ListProbe {
    is_empty: bool,
}

impl SerializeSeq for ListProbe {
    type Ok = bool;
    type Error = ContainerFound;

    fn serialize_element<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
    ) -> Result<(), ContainerFound> {
        self.is_empty = false;
        if is_container(value) { Err(ContainerFound) } else { Ok(()) }
    }

    fn end(self) -> Result<bool, ContainerFound> {
        Ok(self.is_empty)
    }
}

impl SerializeTuple for ListProbe {
    type Ok = bool;
    type Error = ContainerFound;

    fn serialize_element<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
    ) -> Result<(), ContainerFound> {
        SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Result<bool, ContainerFound> {
        SerializeSeq::end(self)
    }
}

impl SerializeTupleStruct for ListProbe {
    type Ok = bool;
    type Error = ContainerFound;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ContainerFound> {
        SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Result<bool, ContainerFound> {
        SerializeSeq::end(self)
    }
}
