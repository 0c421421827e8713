//! Serializes the selected part of a value.

use serde::Serialize;
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::Value;

use super::container::is_container;
use super::{ALL, OpenProjection, Projection};

/// The selected part of a value, followed by its computed members.
#[derive(Debug)]
pub struct Projected<'a, V: ?Sized> {
    /// Value to serialize.
    pub value: &'a V,
    /// Selected part.
    pub projection: &'a Projection,
    /// Computed members, appended to an object as the member `_computed` unless they are empty.
    pub computed: Option<&'a serde_json::Map<String, Value>>,
}

impl<V: Serialize + ?Sized> Serialize for Projected<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (marked(self.projection), self.computed) {
            (Projection::All, None) => self.value.serialize(serializer),
            (Projection::Open(open), None) if open.members.is_empty() => {
                self.value.serialize(serializer)
            }
            _ => self.value.serialize(ProjectionSerializer {
                inner: serializer,
                projection: self.projection,
                computed: self.computed,
            }),
        }
    }
}

/// Returns `true` if the value has a part to write. A plain value has none, because a path cannot continue inside it.
pub fn has_part<V: Serialize + ?Sized>(value: &V, projection: &Projection) -> bool {
    !matches!(projection, Projection::Members(_)) || is_container(value)
}

/// Name of the member that contains a row's computed fields.
pub const COMPUTED: &str = "_computed";

type Computed<'a> = Option<&'a serde_json::Map<String, Value>>;

/// Forwards the selected parts to the inner serializer.
struct ProjectionSerializer<'a, S> {
    inner: S,
    projection: &'a Projection,
    computed: Computed<'a>,
}

/// A list or an object while it is being written.
pub(crate) struct PartSerializer<'a, S> {
    inner: S,
    projection: &'a Projection,
    computed: Computed<'a>,
    /// The part to write of the value that belongs to the last key.
    next: Option<NextValue<'a>>,
}

/// The part to write of the value that belongs to a key.
enum NextValue<'a> {
    /// The whole value. Its key is already written.
    Whole(&'a Projection),
    /// A part, under this key. The key is only written if the value turns out to have the part.
    Part(String, &'a Projection),
}

/// The members of an enum's variant. They are omitted if another variant is selected.
pub(crate) enum VariantPart<'a, S, M> {
    Wanted(PartSerializer<'a, S>),
    Other(M),
}

impl<'a, S> PartSerializer<'a, S> {
    fn new(inner: S, through: (&'a Projection, Computed<'a>)) -> Self {
        Self { inner, projection: through.0, computed: through.1, next: None }
    }
}

/// Records that the path of a written value was found.
fn marked(projection: &Projection) -> &Projection {
    if let Projection::Open(OpenProjection { path: Some(path), .. }) = projection {
        path.mark_found();
    }
    projection
}

/// Implements the methods for values without parts. Such values are written completely.
macro_rules! whole {
    ($($method:ident($($name:ident: $ty:ty),*)),* $(,)?) => {
        $(fn $method(self, $($name: $ty),*) -> Result<S::Ok, S::Error> {
            self.inner.$method($($name),*)
        })*
    };
}

impl<'a, S: Serializer> Serializer for ProjectionSerializer<'a, S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = PartSerializer<'a, S::SerializeSeq>;
    type SerializeTuple = PartSerializer<'a, S::SerializeTuple>;
    type SerializeTupleStruct = PartSerializer<'a, S::SerializeTupleStruct>;
    type SerializeTupleVariant = VariantPart<'a, S::SerializeTupleVariant, S::SerializeMap>;
    type SerializeMap = PartSerializer<'a, S::SerializeMap>;
    type SerializeStruct = PartSerializer<'a, S::SerializeStruct>;
    type SerializeStructVariant = VariantPart<'a, S::SerializeStructVariant, S::SerializeMap>;

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
        self.inner.serialize_some(&Projected {
            value,
            projection: self.projection,
            computed: self.computed,
        })
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let value = Projected { value, projection: self.projection, computed: self.computed };
        self.inner.serialize_newtype_struct(name, &value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        match self.projection.member(variant).filter(|projection| has_part(value, projection)) {
            Some(projection) => {
                let value = Projected { value, projection, computed: None };
                self.inner.serialize_newtype_variant(name, index, variant, &value)
            }
            None => self.inner.serialize_map(Some(0))?.end(),
        }
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Self::SerializeSeq, S::Error> {
        Ok(PartSerializer::new(self.inner.serialize_seq(length)?, (self.projection, None)))
    }

    fn serialize_tuple(self, length: usize) -> Result<Self::SerializeTuple, S::Error> {
        Ok(PartSerializer::new(self.inner.serialize_tuple(length)?, (self.projection, None)))
    }

    fn serialize_tuple_struct(
        self,
        name: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleStruct, S::Error> {
        Ok(PartSerializer::new(
            self.inner.serialize_tuple_struct(name, length)?,
            (self.projection, None),
        ))
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleVariant, S::Error> {
        Ok(match self.projection.member(variant) {
            Some(projection) => {
                let inner = self.inner.serialize_tuple_variant(name, index, variant, length)?;
                VariantPart::Wanted(PartSerializer::new(inner, (marked(projection), None)))
            }
            None => VariantPart::Other(self.inner.serialize_map(Some(0))?),
        })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        // The number of selected members is not known in advance.
        Ok(PartSerializer::new(self.inner.serialize_map(None)?, (self.projection, self.computed)))
    }

    fn serialize_struct(
        self,
        name: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStruct, S::Error> {
        // The length must not be 0, because serde_json closes an empty object immediately.
        let length = length.saturating_add(1);
        Ok(PartSerializer::new(
            self.inner.serialize_struct(name, length)?,
            (self.projection, self.computed),
        ))
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStructVariant, S::Error> {
        Ok(match self.projection.member(variant) {
            Some(projection) => {
                let length = length.saturating_add(1);
                let inner = self.inner.serialize_struct_variant(name, index, variant, length)?;
                VariantPart::Wanted(PartSerializer::new(inner, (marked(projection), None)))
            }
            None => VariantPart::Other(self.inner.serialize_map(Some(0))?),
        })
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

/// Implements the traits of lists. Entries without a part to write are omitted.
macro_rules! entries {
    ($trait:ident, $method:ident, $for:ident) => {
        impl<S: $trait> $trait for $for<'_, S> {
            type Ok = S::Ok;
            type Error = S::Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
                if !has_part(value, self.projection) {
                    return Ok(());
                }
                self.inner.$method(&Projected {
                    value,
                    projection: self.projection,
                    computed: None,
                })
            }

            fn end(self) -> Result<S::Ok, S::Error> {
                self.inner.end()
            }
        }
    };
}

entries!(SerializeSeq, serialize_element, PartSerializer);
entries!(SerializeTuple, serialize_element, PartSerializer);
entries!(SerializeTupleStruct, serialize_field, PartSerializer);
entries!(SerializeTupleVariant, serialize_field, PartSerializer);

impl<S, M> SerializeTupleVariant for VariantPart<'_, S, M>
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

impl<S, M> SerializeStructVariant for VariantPart<'_, S, M>
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
        match part.projection.member(key).filter(|projection| has_part(value, projection)) {
            Some(projection) => {
                part.inner.serialize_field(key, &Projected { value, projection, computed: None })
            }
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

impl<S: SerializeMap> SerializeMap for PartSerializer<'_, S> {
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), S::Error> {
        let name = || match serde_json::to_value(key) {
            Ok(Value::String(name)) => Some(name),
            Ok(Value::Number(number)) if !number.is_f64() => Some(number.to_string()),
            _ => None,
        };
        let projection = self.projection;
        if let Projection::Members(_) = projection {
            let part =
                |name: String| projection.member(&name).map(|member| NextValue::Part(name, member));
            self.next = name().and_then(part);
            return Ok(());
        }
        let member = match projection {
            Projection::Open(_) => name().and_then(|name| projection.member(&name)),
            _ => None,
        };
        self.next = Some(NextValue::Whole(member.unwrap_or(&ALL)));
        self.inner.serialize_key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
        match self.next.take() {
            Some(NextValue::Whole(projection)) => {
                self.inner.serialize_value(&Projected { value, projection, computed: None })
            }
            Some(NextValue::Part(name, projection)) if has_part(value, projection) => {
                self.inner.serialize_entry(&name, &Projected { value, projection, computed: None })
            }
            Some(NextValue::Part(..)) | None => Ok(()),
        }
    }

    fn end(mut self) -> Result<S::Ok, S::Error> {
        if let Some(computed) = self.computed.filter(|computed| !computed.is_empty()) {
            self.inner.serialize_entry(COMPUTED, computed)?;
        }
        self.inner.end()
    }
}

impl<S: SerializeStruct> SerializeStruct for PartSerializer<'_, S> {
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), S::Error> {
        match self.projection.member(key) {
            Some(Projection::All) => self.inner.serialize_field(key, value),
            Some(projection) if has_part(value, projection) => {
                self.inner.serialize_field(key, &Projected { value, projection, computed: None })
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
        let mut projection = Projection::none();
        paths.iter().for_each(|path| projection.add(path, Projection::All));
        let computed: Map<_, _> = computed.as_object().cloned().unwrap_or_default();
        serde_json::to_value(Projected {
            value,
            projection: &projection,
            computed: Some(&computed),
        })
        .unwrap()
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
    fn a_path_leads_through_all_containers() {
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
            // A path ends at a plain value. The value before it was not requested.
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
    fn computed_members_come_last() {
        // REQ-CMP-01
        let computed = json!({ "age": 3 });
        assert_eq!(picked(&outer(), &[], computed.clone()), json!({ "_computed": { "age": 3 } }));
        let text = |value: &Inner| {
            let (projection, computed) = (Projection::All, computed.as_object().unwrap());
            serde_json::to_string(&Projected {
                value,
                projection: &projection,
                computed: Some(computed),
            })
            .unwrap()
        };
        assert_eq!(text(&Inner { a: 1, b: "x" }), r#"{"a":1,"b":"x","_computed":{"age":3}}"#);
        // Only the row has computed members, not the values inside it.
        let nested = picked(&outer(), &["some.a"], computed.clone());
        assert_eq!(nested, json!({ "some": { "a": 1 }, "_computed": { "age": 3 } }));
    }
}
