//! Resources with fields of many types. Tests create, change and read them.

use mcp_aql::Adapter;
use serde_json::{Value, json};

use crate::samples::Samples;

/// An adapter with a resource, and the values that serde writes for one of its fields.
pub(crate) struct Record {
    pub(crate) name: &'static str,
    pub(crate) adapter: Adapter,
    pub(crate) values: Vec<Value>,
}

macro_rules! records {
    ($($name:ident: $type:ty),+ $(,)?) => {
        $(
            mod $name {
                use mcp_aql::prelude::*;
                use mcp_aql::resource::MemoryRecords;
                use serde::{Deserialize, Serialize};

                use crate::inner::*;

                /// A record.
                #[derive(Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
                #[resource(operations(create, get, update))]
                pub(super) struct Record {
                    /// The number of the record.
                    #[resource(id)]
                    record_id: u32,
                    /// The value.
                    #[update_input(replace)]
                    value: $type,
                    /// The optional value.
                    #[update_input(replace)]
                    optional: Option<$type>,
                    /// The values.
                    list: Vec<$type>,
                }

                pub(super) fn adapter() -> Adapter {
                    let builder = Adapter::builder("records").without_config();
                    builder.resource(MemoryRecords::<Record>::new()).build().unwrap()
                }
            }
        )+

        pub(crate) fn records() -> Vec<Record> {
            use crate::inner::*;

            vec![$(
                Record {
                    name: stringify!($name),
                    adapter: $name::adapter(),
                    // In an update, `null` removes a field, so it cannot be a value.
                    values: <$type>::samples().into_iter().map(|value| json!(value)).filter(|value| !value.is_null()).collect(),
                }
            ),+]
        }
    };
}

records! {
    any: Any,
    circle: Circle,
    code: Code,
    either: Either,
    expression: Expression,
    fill: Fill,
    flattened_enums: FlattenedEnums,
    form: Form,
    further: Further,
    nested: Nested,
    outer: Outer,
    pair: Pair,
    twice: Twice,
    unset: Unset,
    word: Word,
}

impl Record {
    /// Creates, changes and reads a record. Returns an error for the first unexpected result.
    pub(crate) async fn differences(&self, value: &Value) -> Result<(), String> {
        let mut expected =
            json!({ "record_id": null, "value": value, "optional": null, "list": [] });
        let created = json!({ "value": value, "list": [] });
        let created =
            self.record(self.adapter.call("create_record", created).await, &mut expected)?;
        let id = created["record_id"].clone();
        for (field, change) in [
            ("value", self.values[0].clone()),
            ("optional", value.clone()),
            ("list", json!([value, self.values[0], value])),
            ("value", value.clone()),
            ("optional", Value::Null),
        ] {
            expected[field] = change.clone();
            let params = json!({ "record_id": id, "input": { field: change } });
            self.record(self.adapter.call("update_record", params).await, &mut expected)?;
        }
        let read = self.adapter.call("get_record", json!({ "record_id": id })).await;
        self.record(read, &mut expected).map(drop)
    }

    /// Returns the record in a reply, or an error if it is not the expected one.
    fn record(
        &self,
        result: mcp_aql::OperationResult,
        expected: &mut Value,
    ) -> Result<Value, String> {
        if let Some(error) = result.error() {
            return Err(format!("{} {expected}: {} {}", self.name, error.code, error.message));
        }
        let record = &result.data()["record"];
        expected["record_id"] = record["record_id"].clone();
        match record == expected {
            true => Ok(record.clone()),
            false => Err(format!("{} {expected}: returned {record}", self.name)),
        }
    }
}
