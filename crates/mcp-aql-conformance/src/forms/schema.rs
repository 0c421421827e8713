//! Converts forms to JSON Schemas, for `cases/forms.json`.

use serde_json::{Map, Value, json};

use super::{Form, Member};

impl Form {
    /// Returns a JSON Schema of draft 2020-12 that accepts the values of this form.
    ///
    /// A schema cannot express the predicate of [`Form::That`]. Its condition becomes a description.
    pub(crate) fn schema(&self) -> Value {
        match self {
            Self::Any => json!({}),
            Self::Flag => json!({ "type": "boolean" }),
            Self::Just(flag) => json!({ "const": flag }),
            Self::Null => json!({ "type": "null" }),
            Self::Number => json!({ "type": "number" }),
            Self::AtLeast(least) => json!({ "type": "number", "minimum": least }),
            Self::Whole(least) => json!({ "type": "integer", "minimum": least }),
            Self::Text => json!({ "type": "string" }),
            Self::Word => json!({ "type": "string", "pattern": "\\S" }),
            Self::OneOf(words) => json!({ "enum": words }),
            Self::That(_, what) => json!({ "type": "string", "description": what }),
            Self::List(form) => json!({ "type": "array", "items": form.schema() }),
            Self::Some(form) => json!({ "type": "array", "items": form.schema(), "minItems": 1 }),
            Self::Object(members) => object(members, true),
            Self::Open(members) => object(members, false),
            Self::Each(form) => json!({ "type": "object", "additionalProperties": form.schema() }),
            Self::Either(forms) => {
                json!({ "anyOf": forms.iter().map(Self::schema).collect::<Vec<_>>() })
            }
        }
    }
}

fn object(members: &[Member], is_closed: bool) -> Value {
    let required: Vec<_> =
        members.iter().filter(|member| member.is_required).map(|member| member.name).collect();
    let properties: Map<_, _> =
        members.iter().map(|member| (member.name.to_owned(), member.form.schema())).collect();
    let mut schema = json!({ "type": "object" });
    for (name, value, is_wanted) in [
        ("properties", json!(properties), !properties.is_empty()),
        ("required", json!(required), !required.is_empty()),
        ("additionalProperties", json!(false), is_closed),
    ] {
        if is_wanted {
            schema[name] = value;
        }
    }
    schema
}
