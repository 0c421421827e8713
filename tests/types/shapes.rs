//! The table of all types, with an operation for each.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::future::Future;
use std::net::IpAddr;
use std::num::NonZeroU8;
use std::pin::Pin;
use std::sync::Arc;

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, Utc};
use mcp_aql::__private::Plain;
use mcp_aql::table::{
    Call, DataKey, OperationEntry, OperationSpec, Outcome, ParameterEntry, ParameterSpec,
    ReturnsSpec,
};
use mcp_aql::{Adapter, SemanticCategory};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use uuid::Uuid;

use crate::inner::*;
use crate::places::*;
use crate::samples::Samples;

/// A type with its operation, and the values that serde writes for its samples.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) values: Vec<Value>,
    /// Returns `true` if serde can read the value.
    pub(crate) reads: fn(Value) -> bool,
    entry: OperationEntry<()>,
}

/// Builds an adapter with the operations of all types.
pub(crate) fn adapter(shapes: &[Shape]) -> Adapter {
    let builder = Adapter::builder("types").without_config();
    let add = |builder, shape: &Shape| {
        mcp_aql::AdapterBuilder::ready_operations(
            builder,
            Arc::new(()),
            std::slice::from_ref(&shape.entry),
        )
    };
    shapes.iter().fold(builder, add).build().unwrap()
}

trait Type: Samples + Serialize + DeserializeOwned + JsonSchema + Send + 'static {}

impl<T: Samples + Serialize + DeserializeOwned + JsonSchema + Send + 'static> Type for T {}

/// Creates an operation that returns its parameter.
fn shape<T: Type>(name: &str) -> Shape {
    let parameter = ParameterSpec::required::<T>("value", "The value.");
    shape_of::<T>(name, parameter, |(), mut call| {
        Box::pin(async move {
            let value = call.param::<T>()?;
            call.reply::<T, Plain>(value)
        })
    })
}

/// Creates an operation that returns its optional parameter.
fn optional_shape<T: Type>(name: &str) -> Shape {
    let parameter = ParameterSpec::optional::<T>("value", "The value.");
    shape_of::<Option<T>>(name, parameter, |(), mut call| {
        Box::pin(async move {
            let value = call.optional::<T>()?;
            call.reply::<Option<T>, Plain>(value)
        })
    })
}

type Function = for<'a> fn(&'a (), Call) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

fn shape_of<T: Type>(name: &str, parameter: ParameterSpec, function: Function) -> Shape {
    let name: &'static str = Box::leak(format!("get_{name}").into());
    let parameters = Box::leak(Box::new([ParameterEntry::One(parameter)]));
    let spec = OperationSpec::new(name, SemanticCategory::Read, "Return a value.")
        .parameters(parameters)
        .returns(ReturnsSpec::of::<T, Plain>())
        .data_key(DataKey::Named("value"));
    let values = T::samples().into_iter().map(|value| serde_json::to_value(value).unwrap());
    Shape {
        name,
        values: values.collect(),
        reads: |value| serde_json::from_value::<T>(value).is_ok(),
        entry: OperationEntry::new(spec, function),
    }
}

/// Adds a type in every position that allows values of any JSON type.
fn add<T: Type + Clone>(name: &str, shapes: &mut Vec<Shape>) {
    shapes.extend([
        shape::<T>(name),
        optional_shape::<T>(&format!("{name}_in_option")),
        shape::<Vec<T>>(&format!("{name}_in_list")),
        shape::<BTreeMap<String, T>>(&format!("{name}_in_map")),
        shape::<(T, [T; 2])>(&format!("{name}_in_pair")),
        shape::<Field<T>>(&format!("{name}_in_field")),
        shape::<External<T>>(&format!("{name}_in_external")),
        shape::<Adjacent<T>>(&format!("{name}_in_adjacent")),
        shape::<Internal<T>>(&format!("{name}_in_internal")),
        shape::<Untagged<T>>(&format!("{name}_in_untagged")),
    ]);
}

/// Adds a type whose values are objects. In addition to the other positions, its members are flattened into a struct.
fn add_object<T: Type + Clone>(name: &str, shapes: &mut Vec<Shape>) {
    add::<T>(name, shapes);
    shapes.extend([
        shape::<Flat<T>>(&format!("{name}_in_flat")),
        shape::<Tagged<T>>(&format!("{name}_in_tagged")),
        shape::<Wrapped<T>>(&format!("{name}_in_wrapped")),
        shape::<Vec<Tagged<Flat<T>>>>(&format!("{name}_in_flat_tagged_list")),
        shape::<External<Tagged<T>>>(&format!("{name}_in_tagged_external")),
    ]);
}

macro_rules! add_all {
    ($add:ident $shapes:ident $($name:ident: $type:ty),+ $(,)?) => {
        $($add::<$type>(stringify!($name), $shapes);)+
    };
}

/// Returns all types in all positions.
pub(crate) fn shapes() -> Vec<Shape> {
    let all = &mut Vec::new();
    add_all!(add all flag: bool, byte: u8, whole: i64, wide: u64, fraction: f64, text: String);
    add_all!(add all number: Number, pair: Pair, word: Word, explained_word: ExplainedWord);
    add_all!(add all only_word: OnlyWord, code: Code, instant: DateTime<Utc>, uuid: Uuid);
    add_all!(add all any: Any, outer: Outer, json: Value, fill_list: Vec<Fill>);
    add_all!(add_object all circle: Circle, lenient: Lenient, strict: Strict, empty: Empty);
    add_all!(add_object all tree: Tree, flattened: Flattened, flattened_option: FlattenedOption);
    add_all!(add_object all further: Further, flattened_enums: FlattenedEnums);
    add_all!(add_object all flattened_untagged: FlattenedUntagged, expression: Expression);
    add_all!(add_object all flattened_enum_option: FlattenedEnumOption, form: Form, twice: Twice);
    add_all!(add_object all nested: Nested, fill: Fill, either: Either);
    add_all!(add_object all unset: Unset);
    all.extend(further_shapes());
    std::mem::take(all)
}

/// Returns types of the standard library and of other crates, only as parameters.
fn further_shapes() -> Vec<Shape> {
    vec![
        shape::<u16>("u16"),
        shape::<u32>("u32"),
        shape::<usize>("usize"),
        shape::<i8>("i8"),
        shape::<i32>("i32"),
        shape::<f32>("f32"),
        shape::<char>("char"),
        shape::<NonZeroU8>("non_zero"),
        shape::<Name>("name"),
        shape::<IpAddr>("ip_addr"),
        shape::<NaiveDate>("naive_date"),
        shape::<NaiveTime>("naive_time"),
        shape::<NaiveDateTime>("naive_date_time"),
        shape::<VecDeque<u8>>("deque"),
        shape::<BTreeSet<String>>("set"),
        shape::<BTreeMap<u32, Circle>>("map_by_u32"),
        shape::<BTreeMap<i8, bool>>("map_by_i8"),
        shape::<BTreeMap<bool, u8>>("map_by_bool"),
        shape::<BTreeMap<char, u8>>("map_by_char"),
        shape::<BTreeMap<Number, u8>>("map_by_number"),
        shape::<BTreeMap<Name, u8>>("map_by_name"),
        shape::<BTreeMap<Code, u8>>("map_by_code"),
        shape::<BTreeMap<Word, Form>>("map_by_word"),
        shape::<BTreeMap<ExplainedWord, Form>>("map_by_explained_word"),
        shape::<BTreeMap<OnlyWord, Form>>("map_by_only_word"),
        shape::<BTreeMap<Uuid, u8>>("map_by_uuid"),
        shape::<BTreeMap<NaiveDate, u8>>("map_by_date"),
        shape::<HashMap<String, HashMap<u64, Vec<Fill>>>>("map_of_maps"),
        shape::<BTreeMap<String, Field<BTreeMap<Word, Tagged<Circle>>>>>("map_of_fields"),
        shape::<Vec<Vec<Vec<u8>>>>("lists"),
        shape::<[[i32; 2]; 2]>("matrix"),
    ]
}
