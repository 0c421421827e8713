//! A serializer that lets a part of a value through.

use serde::Serialize;
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::container::is_container;
use super::{ALL, OpenPick, Pick};
use crate::query::capture::capture_one;
use crate::query::value::Scalar;

/// A part of a value, with members of ours behind its own.
#[derive(Debug)]
pub(crate) struct Picked<'a, V: ?Sized> {
    pub(crate) value: &'a V,
    pub(crate) pick: &'a Pick,
    /// A member that is added to an object, unless it is empty.
    pub(crate) computed: Option<&'a serde_json::Map<String, serde_json::Value>>,
}

impl<V: Serialize + ?Sized> Serialize for Picked<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (marked(self.pick), self.computed) {
            (Pick::All, None) => self.value.serialize(serializer),
            (Pick::Open(open), None) if open.members.is_empty() => self.value.serialize(serializer),
            _ => self.value.serialize(Through {
                inner: serializer,
                pick: self.pick,
                computed: self.computed,
            }),
        }
    }
}

/// Whether there is a part of the value to show: a plain value has none, as a path ends there.
pub(crate) fn has_part<V: Serialize + ?Sized>(value: &V, pick: &Pick) -> bool {
    !matches!(pick, Pick::Members(_)) || is_container(value)
}

/// What is computed of a row sits here.
pub(crate) const COMPUTED: &str = "_computed";

type Computed<'a> = Option<&'a serde_json::Map<String, serde_json::Value>>;

/// Hands on what is picked.
struct Through<'a, S> {
    inner: S,
    pick: &'a Pick,
    computed: Computed<'a>,
}

/// A list or an object that is under way.
pub(crate) struct Part<'a, S> {
    inner: S,
    pick: &'a Pick,
    computed: Computed<'a>,
    /// What is wanted of the value behind the last key.
    next: Option<Next<'a>>,
}

/// The part of the value behind a key that is written.
enum Next<'a> {
    /// All of it: the key is written.
    Whole(&'a Pick),
    /// A part, under this key. It is written when the value turns out to have such a part.
    Part(String, &'a Pick),
}

/// The members of an enum's variant, or nothing where it is another variant that is wanted.
pub(crate) enum Variant<'a, S, M> {
    Wanted(Part<'a, S>),
    Other(M),
}

impl<'a, S> Part<'a, S> {
    fn new(inner: S, through: (&'a Pick, Computed<'a>)) -> Self {
        Self { inner, pick: through.0, computed: through.1, next: None }
    }
}

/// Notes that the path of a value that is written is found.
fn marked(pick: &Pick) -> &Pick {
    if let Pick::Open(OpenPick { path: Some(path), .. }) = pick {
        path.mark_found();
    }
    pick
}

/// Values that have no parts.
macro_rules! whole {
    ($($method:ident($($name:ident: $ty:ty),*)),* $(,)?) => {
        $(fn $method(self, $($name: $ty),*) -> Result<S::Ok, S::Error> {
            self.inner.$method($($name),*)
        })*
    };
}

impl<'a, S: Serializer> Serializer for Through<'a, S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Part<'a, S::SerializeSeq>;
    type SerializeTuple = Part<'a, S::SerializeTuple>;
    type SerializeTupleStruct = Part<'a, S::SerializeTupleStruct>;
    type SerializeTupleVariant = Variant<'a, S::SerializeTupleVariant, S::SerializeMap>;
    type SerializeMap = Part<'a, S::SerializeMap>;
    type SerializeStruct = Part<'a, S::SerializeStruct>;
    type SerializeStructVariant = Variant<'a, S::SerializeStructVariant, S::SerializeMap>;

    whole!(
        serialize_bool(value: bool), serialize_i8(value: i8), serialize_i16(value: i16),
        serialize_i32(value: i32), serialize_i64(value: i64), serialize_i128(value: i128),
        serialize_u8(value: u8), serialize_u16(value: u16), serialize_u32(value: u32),
        serialize_u64(value: u64), serialize_u128(value: u128), serialize_f32(value: f32),
        serialize_f64(value: f64), serialize_char(value: char), serialize_str(value: &str),
        serialize_bytes(value: &[u8]), serialize_none(), serialize_unit(),
        serialize_unit_struct(name: &'static str),
        serialize_unit_variant(name: &'static str, index: u32, variant: &'static str),
    );

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.inner.serialize_some(&Picked { value, pick: self.pick, computed: self.computed })
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let value = Picked { value, pick: self.pick, computed: self.computed };
        self.inner.serialize_newtype_struct(name, &value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        match self.pick.member(variant).filter(|pick| has_part(value, pick)) {
            Some(pick) => {
                let value = Picked { value, pick, computed: None };
                self.inner.serialize_newtype_variant(name, index, variant, &value)
            }
            None => self.inner.serialize_map(Some(0))?.end(),
        }
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Self::SerializeSeq, S::Error> {
        Ok(Part::new(self.inner.serialize_seq(length)?, (self.pick, None)))
    }

    fn serialize_tuple(self, length: usize) -> Result<Self::SerializeTuple, S::Error> {
        Ok(Part::new(self.inner.serialize_tuple(length)?, (self.pick, None)))
    }

    fn serialize_tuple_struct(
        self,
        name: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleStruct, S::Error> {
        Ok(Part::new(self.inner.serialize_tuple_struct(name, length)?, (self.pick, None)))
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleVariant, S::Error> {
        Ok(match self.pick.member(variant) {
            Some(pick) => {
                let inner = self.inner.serialize_tuple_variant(name, index, variant, length)?;
                Variant::Wanted(Part::new(inner, (marked(pick), None)))
            }
            None => Variant::Other(self.inner.serialize_map(Some(0))?),
        })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        // How many members are left is not known before they come.
        Ok(Part::new(self.inner.serialize_map(None)?, (self.pick, self.computed)))
    }

    fn serialize_struct(
        self,
        name: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStruct, S::Error> {
        // An object of no members would be closed at once.
        let length = length.saturating_add(1);
        Ok(Part::new(self.inner.serialize_struct(name, length)?, (self.pick, self.computed)))
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStructVariant, S::Error> {
        Ok(match self.pick.member(variant) {
            Some(pick) => {
                let length = length.saturating_add(1);
                let inner = self.inner.serialize_struct_variant(name, index, variant, length)?;
                Variant::Wanted(Part::new(inner, (marked(pick), None)))
            }
            None => Variant::Other(self.inner.serialize_map(Some(0))?),
        })
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

/// The entries of lists: those that have no part to show are left out.
macro_rules! entries {
    ($trait:ident, $method:ident, $for:ident) => {
        impl<S: $trait> $trait for $for<'_, S> {
            type Ok = S::Ok;
            type Error = S::Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
                if !has_part(value, self.pick) {
                    return Ok(());
                }
                self.inner.$method(&Picked { value, pick: self.pick, computed: None })
            }

            fn end(self) -> Result<S::Ok, S::Error> {
                self.inner.end()
            }
        }
    };
}

entries!(SerializeSeq, serialize_element, Part);
entries!(SerializeTuple, serialize_element, Part);
entries!(SerializeTupleStruct, serialize_field, Part);
entries!(SerializeTupleVariant, serialize_field, Part);

impl<S, M> SerializeTupleVariant for Variant<'_, S, M>
where
    S: SerializeTupleVariant,
    M: SerializeMap<Ok = S::Ok, Error = S::Error>,
{
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
        match self {
            Self::Wanted(part) => part.serialize_field(value),
            Self::Other(_) => Ok(()),
        }
    }

    fn end(self) -> Result<S::Ok, S::Error> {
        match self {
            Self::Wanted(part) => part.end(),
            Self::Other(map) => map.end(),
        }
    }
}

impl<S, M> SerializeStructVariant for Variant<'_, S, M>
where
    S: SerializeStructVariant,
    M: SerializeMap<Ok = S::Ok, Error = S::Error>,
{
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), S::Error> {
        let Self::Wanted(part) = self else { return Ok(()) };
        match part.pick.member(key).filter(|pick| has_part(value, pick)) {
            Some(pick) => part.inner.serialize_field(key, &Picked { value, pick, computed: None }),
            None => Ok(()),
        }
    }

    fn end(self) -> Result<S::Ok, S::Error> {
        match self {
            Self::Wanted(part) => part.inner.end(),
            Self::Other(map) => map.end(),
        }
    }
}

impl<S: SerializeMap> SerializeMap for Part<'_, S> {
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), S::Error> {
        let name = || match capture_one(key) {
            Some(Scalar::Text(name)) => Some(name.into_owned()),
            Some(Scalar::Int(number)) => Some(number.to_string()),
            _ => None,
        };
        let pick = self.pick;
        if let Pick::Members(_) = pick {
            let part = |name: String| pick.member(&name).map(|pick| Next::Part(name, pick));
            self.next = name().and_then(part);
            return Ok(());
        }
        let member = match pick {
            Pick::Open(_) => name().and_then(|name| pick.member(&name)),
            _ => None,
        };
        self.next = Some(Next::Whole(member.unwrap_or(&ALL)));
        self.inner.serialize_key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
        match self.next.take() {
            Some(Next::Whole(pick)) => {
                self.inner.serialize_value(&Picked { value, pick, computed: None })
            }
            Some(Next::Part(name, pick)) if has_part(value, pick) => {
                self.inner.serialize_entry(&name, &Picked { value, pick, computed: None })
            }
            Some(Next::Part(..)) | None => Ok(()),
        }
    }

    fn end(mut self) -> Result<S::Ok, S::Error> {
        if let Some(computed) = self.computed.filter(|computed| !computed.is_empty()) {
            self.inner.serialize_entry(COMPUTED, computed)?;
        }
        self.inner.end()
    }
}

impl<S: SerializeStruct> SerializeStruct for Part<'_, S> {
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), S::Error> {
        match self.pick.member(key) {
            Some(Pick::All) => self.inner.serialize_field(key, value),
            Some(pick) if has_part(value, pick) => {
                self.inner.serialize_field(key, &Picked { value, pick, computed: None })
            }
            Some(_) | None => Ok(()),
        }
    }

    fn skip_field(&mut self, key: &'static str) -> Result<(), S::Error> {
        self.inner.skip_field(key)
    }

    fn end(mut self) -> Result<S::Ok, S::Error> {
        if let Some(computed) = self.computed.filter(|computed| !computed.is_empty()) {
            self.inner.serialize_field(COMPUTED, computed)?;
        }
        self.inner.end()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Map, Value, json};

    use super::*;

    fn picked<V: Serialize>(value: &V, paths: &[&str], computed: Value) -> Value {
        let mut pick = Pick::none();
        paths.iter().for_each(|path| pick.add(path, Pick::All));
        let computed: Map<_, _> = computed.as_object().cloned().unwrap_or_default();
        serde_json::to_value(Picked { value, pick: &pick, computed: Some(&computed) }).unwrap()
    }

    #[derive(Serialize)]
    struct Outer {
        name: &'static str,
        list: Vec<Inner>,
        pair: (Inner, u8),
        map: BTreeMap<u8, Inner>,
        none: Option<Inner>,
        some: Option<Inner>,
        wrapped: Wrapped,
        either: Either,
        numbers: Vec<u8>,
        empty: Vec<u8>,
        unit: Variants,
        tuple: Tuple,
        newtype: Variants,
        fields: Variants,
        both: Variants,
        plain: Variants,
        #[serde(flatten)]
        flat: BTreeMap<&'static str, Inner>,
    }

    #[derive(Serialize)]
    struct Tuple(Inner, u8);

    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    enum Variants {
        Unit,
        Plain(u8),
        Inner(Inner),
        Both(u8, Inner),
        Fields { a: u8, b: Vec<u8> },
    }

    #[derive(Serialize, Clone)]
    struct Inner {
        a: u8,
        b: &'static str,
    }

    #[derive(Serialize)]
    struct Wrapped(Inner);

    #[derive(Serialize)]
    #[serde(tag = "kind")]
    enum Either {
        One { a: u8, b: u8 },
    }

    fn outer() -> Outer {
        let inner = || Inner { a: 1, b: "x" };
        Outer {
            name: "n",
            list: vec![inner(), inner()],
            pair: (inner(), 2),
            map: BTreeMap::from([(7, inner())]),
            none: None,
            some: Some(inner()),
            wrapped: Wrapped(inner()),
            either: Either::One { a: 1, b: 2 },
            numbers: vec![1, 2],
            empty: Vec::new(),
            unit: Variants::Unit,
            tuple: Tuple(inner(), 2),
            newtype: Variants::Inner(inner()),
            fields: Variants::Fields { a: 3, b: Vec::new() },
            both: Variants::Both(1, inner()),
            plain: Variants::Plain(1),
            flat: BTreeMap::from([("extra", inner())]),
        }
    }

    #[test]
    fn a_path_goes_through_whatever_serializes() {
        // REQ-FLD-03, REQ-FLD-07
        for (path, wanted) in [
            ("name", json!({ "name": "n" })),
            ("list.a", json!({ "list": [{ "a": 1 }, { "a": 1 }] })),
            ("pair.b", json!({ "pair": [{ "b": "x" }] })),
            ("map.7", json!({ "map": { "7": { "a": 1, "b": "x" } } })),
            ("map.7.a", json!({ "map": { "7": { "a": 1 } } })),
            ("none.a", json!({ "none": null })),
            ("some.a", json!({ "some": { "a": 1 } })),
            ("wrapped.b", json!({ "wrapped": { "b": "x" } })),
            ("either.b", json!({ "either": { "b": 2 } })),
            ("extra.a", json!({ "extra": { "a": 1 } })),
            ("missing", json!({})),
            // A path ends at a plain value: what lies before it was not asked for.
            ("name.a", json!({})),
            ("some.a.b", json!({ "some": {} })),
            ("list.a.b", json!({ "list": [{}, {}] })),
            ("numbers.a", json!({})),
            ("empty.a", json!({ "empty": [] })),
            ("map.7.a.b", json!({ "map": { "7": {} } })),
            ("extra.b.c", json!({ "extra": {} })),
            ("unit.a", json!({})),
            ("tuple.b", json!({ "tuple": [{ "b": "x" }] })),
            // The variant of an enum is a member.
            ("newtype.inner.b", json!({ "newtype": { "inner": { "b": "x" } } })),
            ("newtype.plain", json!({ "newtype": {} })),
            ("fields.fields.a", json!({ "fields": { "fields": { "a": 3 } } })),
            ("fields.inner.a", json!({ "fields": {} })),
            ("fields.fields", json!({ "fields": { "fields": { "a": 3, "b": [] } } })),
            ("both.both.a", json!({ "both": { "both": [{ "a": 1 }] } })),
            ("both.both", json!({ "both": { "both": [1, { "a": 1, "b": "x" }] } })),
            ("both.a", json!({ "both": {} })),
            ("plain.plain.a", json!({ "plain": {} })),
        ] {
            assert_eq!(picked(&outer(), &[path], Value::Null), wanted, "{path}");
        }
        let both = picked(&outer(), &["some", "some.a", "name"], Value::Null);
        assert_eq!(both, json!({ "name": "n", "some": { "a": 1, "b": "x" } }));
    }

    #[test]
    fn what_is_computed_comes_behind_the_members() {
        // REQ-CMP-01
        let computed = json!({ "age": 3 });
        assert_eq!(picked(&outer(), &[], computed.clone()), json!({ "_computed": { "age": 3 } }));
        let text = |value: &Inner| {
            let (pick, computed) = (Pick::All, computed.as_object().unwrap());
            serde_json::to_string(&Picked { value, pick: &pick, computed: Some(computed) }).unwrap()
        };
        assert_eq!(text(&Inner { a: 1, b: "x" }), r#"{"a":1,"b":"x","_computed":{"age":3}}"#);
        // Of the row alone, not of what is in it.
        let nested = picked(&outer(), &["some.a"], computed.clone());
        assert_eq!(nested, json!({ "some": { "a": 1 }, "_computed": { "age": 3 } }));
    }
}
