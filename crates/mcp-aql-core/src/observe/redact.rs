//! Masks sensitive arguments in logs and in everything else not meant only for the caller.

use std::collections::HashSet;

use serde_json::Value;

use crate::operation::Parameter;
use crate::schema::Argument;
use crate::schema::shape::{Kind, Shape, Shapes};

/// Returns the arguments of a call for the log, with sensitive values masked:
///
/// ```json
/// { "email": "ada@example.com", "password": "[redacted]" }
/// ```
pub(crate) fn redacted(parameters: &[Parameter], arguments: &[Argument], shapes: &Shapes) -> Value {
    arguments
        .iter()
        .zip(parameters)
        .filter_map(|(argument, parameter)| {
            let value = argument.value.as_ref()?;
            Some((parameter.name.to_string(), masked(parameter, value, shapes)))
        })
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// Returns the value of an argument with all secrets masked.
pub(crate) fn masked(parameter: &Parameter, value: &Value, shapes: &Shapes) -> Value {
    if parameter.spec.sensitive { MASK.into() } else { mask(value, &parameter.shape, shapes) }
}

/// Returns the value itself, or `None` if a part of it is sensitive.
pub(crate) fn without_secrets<'v>(
    value: &'v Value,
    shape: &Shape,
    shapes: &Shapes,
) -> Option<&'v Value> {
    (mask(value, shape, shapes) == *value).then_some(value)
}

/// Returns `true` if a path leads to a part of a parameter without secrets. In the `input` of an UPDATE, only merged
/// objects have parts.
pub(crate) fn shows<'p>(
    parameter: &Parameter,
    mut path: impl Iterator<Item = &'p str>,
    shapes: &Shapes,
) -> bool {
    let merges = parameter.input.is_some();
    let inside = path.try_fold(vec![&parameter.shape], |forms, name| {
        let objects =
            plain_forms(&forms, shapes)?.into_iter().filter_map(|form| match &form.kind {
                Kind::Object(object) if object.merge.is_some() || !merges => Some(object),
                _ => None,
            });
        let found: Vec<_> = objects.flat_map(|object| object.forms_of(name)).collect();
        (!found.is_empty()).then_some(found)
    });
    let is_plain = |forms: Vec<_>| plain_forms(&forms, shapes).is_some();
    !parameter.spec.sensitive && inside.is_some_and(is_plain)
}

const MASK: &str = "[redacted]";

fn mask(value: &Value, shape: &Shape, shapes: &Shapes) -> Value {
    mask_as(value, &[shape], shapes)
}

/// Masks a value with several possible forms. A secret in any of them is masked.
///
/// All forms are checked in one pass: one pass per form would be exponential in the depth.
fn mask_as(value: &Value, forms: &[&Shape], shapes: &Shapes) -> Value {
    let Some(forms) = plain_forms(forms, shapes) else { return MASK.into() };
    let inside = |value: &Value, forms: Vec<&Shape>| {
        if forms.is_empty() { value.clone() } else { mask_as(value, &forms, shapes) }
    };
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| {
                let forms = forms.iter().filter_map(|form| match &form.kind {
                    Kind::Object(object) => Some(object.forms_of(name)),
                    _ => None,
                });
                (name.clone(), inside(value, forms.flatten().collect()))
            })
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(values) => values
            .iter()
            .enumerate()
            .map(|(place, value)| {
                let forms = forms.iter().filter_map(|form| match &form.kind {
                    Kind::Array(items) => Some(&**items),
                    Kind::Tuple(parts) => parts.get(place),
                    _ => None,
                });
                inside(value, forms.collect())
            })
            .collect(),
        _ => value.clone(),
    }
}

/// Returns the forms behind names, unions and flattened enums, each one once. Returns `None` if one of them is a
/// secret.
fn plain_forms<'a>(forms: &[&'a Shape], shapes: &'a Shapes) -> Option<Vec<&'a Shape>> {
    let mut open = forms.to_vec();
    let mut found: Vec<&Shape> = Vec::new();
    let mut seen = HashSet::new();
    while let Some(form) = open.pop() {
        if form.sensitive {
            return None;
        }
        match &form.kind {
            // A kind without inner forms need not be remembered.
            Kind::Any
            | Kind::Never
            | Kind::Null
            | Kind::Boolean
            | Kind::Integer
            | Kind::Number
            | Kind::String => continue,
            _ if !seen.insert(std::ptr::from_ref(form)) => continue,
            Kind::Named(name) => open.extend(shapes.get(name)),
            Kind::Union(variants) => open.extend(variants),
            Kind::Object(object) => {
                open.extend(&object.flattened);
                found.push(form);
            }
            Kind::Array(_) | Kind::Tuple(_) => found.push(form),
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use schemars::JsonSchema;
    use serde_json::json;

    use super::*;
    use crate::schema::shape::Compiler;

    /// The secret is marked in the same way as the derive of UPDATE inputs does it: by the type's name, after the
    /// schema exists.
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema counts")]
    struct Account {
        name: String,
        #[schemars(extend("sensitive" = true))]
        password: String,
        child: Option<Box<Contact>>,
    }

    #[derive(JsonSchema)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "only its schema counts")]
    enum Contact {
        Nobody,
        Number(u32),
        Account(Account),
        Several(Vec<Contact>),
        Login {
            #[schemars(extend("sensitive" = true))]
            code: Option<u32>,
            by: String,
        },
    }

    #[derive(JsonSchema)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    #[expect(dead_code, reason = "only its schema counts")]
    enum Tagged {
        Account(Account),
        Key {
            #[schemars(extend("sensitive" = true))]
            key: String,
        },
    }

    #[derive(JsonSchema)]
    #[serde(tag = "kind", content = "of", rename_all = "snake_case")]
    #[expect(dead_code, reason = "only its schema counts")]
    enum Beside {
        Account(Account),
        Plain(String),
    }

    #[derive(JsonSchema)]
    #[schemars(extend("sensitive" = true))]
    #[expect(dead_code, reason = "only its schema counts")]
    struct Secret(String);

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema counts")]
    struct Form {
        contact: Contact,
        tagged: Option<Tagged>,
        beside: Vec<Beside>,
        by_name: BTreeMap<String, Account>,
        by_number: BTreeMap<u32, Account>,
        pair: (String, Account, Secret),
        secret: Option<Secret>,
        #[serde(flatten)]
        account: Account,
        #[serde(flatten)]
        more: Tagged,
        #[serde(flatten)]
        besides: Beside,
    }

    /// Returns the masked form of a value of type `T`.
    fn masked_as<T: JsonSchema>(value: &Value) -> Value {
        let mut generator = schemars::SchemaGenerator::default();
        let schema = generator.subschema_for::<T>().to_value();
        let mut compiler = Compiler::default();
        let definitions = generator.definitions().clone();
        let shapes: Shapes = definitions
            .iter()
            .map(|(name, schema)| (Arc::from(name.as_str()), compiler.schema(schema)))
            .collect();
        mask(value, &compiler.schema(&schema), &shapes)
    }

    #[test]
    fn secrets_are_masked_wherever_they_are() {
        // REQ-ERR-05
        let account = || json!({ "name": "Ada", "password": "xyzzy" });
        let shown = || json!({ "name": "Ada", "password": MASK });
        for (shows, value, expected) in [
            ("a variant", json!({ "contact": account() }), json!({ "contact": shown() })),
            (
                "its own field",
                json!({ "contact": { "code": 7, "by": "b" } }),
                json!({ "contact": { "code": MASK, "by": "b" } }),
            ),
            ("no secret", json!({ "contact": 7 }), json!({ "contact": 7 })),
            (
                "a list of variants",
                json!({ "contact": [account(), 7, [account()]] }),
                json!({ "contact": [shown(), 7, [shown()]] }),
            ),
            (
                "inside of itself",
                json!({ "contact": { "name": "Bo", "child": account() } }),
                json!({ "contact": { "name": "Bo", "child": shown() } }),
            ),
            (
                "a tag beside it",
                json!({ "tagged": { "kind": "account", "name": "Ada", "password": "xyzzy" } }),
                json!({ "tagged": { "kind": "account", "name": "Ada", "password": MASK } }),
            ),
            (
                "a tagged field",
                json!({ "tagged": { "kind": "key", "key": "xyzzy" } }),
                json!({ "tagged": { "kind": "key", "key": MASK } }),
            ),
            (
                "a tag before it",
                json!({ "beside": [{ "kind": "account", "of": account() }] }),
                json!({ "beside": [{ "kind": "account", "of": shown() }] }),
            ),
            (
                "a map",
                json!({ "by_name": { "a": account() } }),
                json!({ "by_name": { "a": shown() } }),
            ),
            (
                "a map by number",
                json!({ "by_number": { "7": account() } }),
                json!({ "by_number": { "7": shown() } }),
            ),
            (
                "a tuple",
                json!({ "pair": ["a", account(), "xyzzy"] }),
                json!({ "pair": ["a", shown(), MASK] }),
            ),
            ("a secret type", json!({ "secret": "xyzzy" }), json!({ "secret": MASK })),
            ("flattened", account(), shown()),
            (
                "a flattened variant",
                json!({ "kind": "key", "key": "xyzzy", "pair": [] }),
                json!({ "kind": "key", "key": MASK, "pair": [] }),
            ),
            (
                "another one",
                json!({ "kind": "account", "of": account() }),
                json!({ "kind": "account", "of": shown() }),
            ),
        ] {
            assert_eq!(masked_as::<Form>(&value), expected, "{shows}");
        }
    }

    #[test]
    fn a_deep_value_of_a_recursive_union_is_masked_in_time() {
        let mut value = json!({ "name": "Ada", "password": "xyzzy" });
        for _ in 0..60 {
            value = json!([{ "name": "Bo", "child": value }]);
        }
        let text = masked_as::<Contact>(&value).to_string();
        assert!(!text.contains("xyzzy") && text.contains(MASK), "{text}");
    }
}
