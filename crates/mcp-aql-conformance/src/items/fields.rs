//! The fields of items: which ones updates can change, other values for them, and comparing values.

use chrono::DateTime;
use serde_json::{Map, Value};

use crate::adapter::{Adapter, Operation, Parameter};
use crate::cases::Skip;
use crate::nouns::is_identifier;
use crate::resources::{Resource, Role, is_control};
use crate::run::Run;
use crate::shape::Shape;
use crate::values;

/// A field that updates may change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<'a> {
    pub(crate) name: &'a str,
    pub(crate) shape: Shape<'a>,
    is_required: bool,
    description: &'a str,
    /// If `true`, results may omit the field.
    pub(crate) is_sensitive: bool,
}

impl<'a> Field<'a> {
    fn of(adapter: &'a Adapter, parameter: &'a Parameter) -> Self {
        Self {
            name: &parameter.name,
            shape: Shape::of(adapter, parameter),
            is_required: parameter.required,
            description: parameter
                .member("description")
                .and_then(Value::as_str)
                .unwrap_or_default(),
            is_sensitive: parameter.member("sensitive") == Some(&Value::Bool(true)),
        }
    }

    /// Returns the description of the field.
    pub(crate) const fn description(&self) -> &'a str {
        self.description
    }

    /// Returns a valid value other than the current one.
    ///
    /// A reference to another item is never generated, because the item must exist. It is taken from earlier results.
    pub(crate) fn other(self, run: &Run, current: &Value) -> Option<Value> {
        let (one, is_list) = match self.name.strip_suffix("_ids") {
            Some(stem) => (format!("{stem}_id"), true),
            None => (self.name.to_owned(), false),
        };
        if !one.ends_with("_id") {
            return other(self.shape, current);
        }
        let known = run.harvested(&one).into_iter();
        let mut known = known.map(|id| if is_list { Value::Array(vec![id]) } else { id });
        known.find(|value| self.shape.accepts(value) && !same(value, current))
    }
}

/// Returns a valid value other than the current one. Returns `None` for objects, because updates merge them.
pub(crate) fn other(shape: Shape<'_>, current: &Value) -> Option<Value> {
    (1..12)
        .filter_map(|turn| shape.made(turn))
        .find(|made| !same(made, current) && !made.is_object())
}

impl Resource {
    /// Returns the fields that updates may change, except the identifier.
    pub(crate) fn changeable<'a>(&self, run: &'a Run) -> Vec<Field<'a>> {
        self.described(run).0
    }

    /// Returns `true` if a type documents that updates may change this field.
    pub(crate) fn documents_change(&self, run: &Run, name: &str) -> bool {
        let (fields, is_documented) = self.described(run);
        is_documented && fields.iter().any(|field| field.name == name)
    }

    /// Returns the changeable fields, and `true` if a type documents them.
    ///
    /// Without such a type, the parameters of the CREATE operation are taken as the changeable fields.
    fn described<'a>(&self, run: &'a Run) -> (Vec<Field<'a>>, bool) {
        let adapter = &run.adapter;
        let Some(update) = self.operation(&run.adapter, Role::Update) else {
            return (Vec::new(), false);
        };
        let create = self.operation(&run.adapter, Role::Create);
        let returned = update.details().pointer("/returns/name").and_then(Value::as_str);
        let own = |name: &str| {
            // The type of the item proves nothing, because it also has read-only fields.
            if Some(name) == returned { Vec::new() } else { fields_of(adapter, name) }
        };
        let described = update.parameter("input").into_iter().flat_map(|input| {
            let description =
                input.member("description").and_then(Value::as_str).unwrap_or_default();
            std::iter::once(input.kind.as_str())
                .chain(description.split(|each: char| !each.is_ascii_alphanumeric() && each != '_'))
        });
        let mut found = described.map(own).find(|fields| !fields.is_empty()).unwrap_or_default();
        if found.is_empty()
            && let Some(returned) = returned
        {
            let usual = [
                format!("{returned}Update"),
                format!("Update{returned}"),
                format!("{returned}Input"),
                format!("{returned}Patch"),
                format!("{returned}Changes"),
            ];
            found = usual
                .iter()
                .map(|name| own(name))
                .find(|fields| !fields.is_empty())
                .unwrap_or_default();
        }
        let is_reported = !found.is_empty();
        if !is_reported {
            found = create
                .into_iter()
                .flat_map(|create| &create.parameters)
                .filter(|parameter| is_of_the_thing(parameter))
                .map(|parameter| Field::of(adapter, parameter))
                .collect();
        }
        found.retain(|field| {
            field.name != self.id && !self.read_only.iter().any(|name| name == field.name)
        });
        (found, is_reported)
    }

    /// Returns `true` if a field is optional, either by its type or because the CREATE operation does not require it.
    pub(crate) fn may_lack(&self, run: &Run, name: &str) -> bool {
        let of_type = self.fields(run).into_iter().find(|field| field.name == name);
        if let Some(field) = of_type {
            return !field.is_required;
        }
        let create = self.operation(&run.adapter, Role::Create);
        let parameter = create.and_then(|create| create.parameter(name));
        parameter
            .is_some_and(|parameter| !parameter.required && parameter.member("default").is_none())
    }

    /// Returns `true` if the type of the item documents this field.
    pub(crate) fn is_typed(&self, run: &Run, name: &str) -> bool {
        self.fields(run).iter().any(|field| field.name == name)
    }

    /// Returns `true` if a field of an object field is optional by the type of the item.
    ///
    /// The type of `input` is not consulted, because updates may omit every field.
    pub(crate) fn may_lack_inside(&self, run: &Run, outer: &str, inner: Shape<'_>) -> bool {
        let outer = self.fields(run).into_iter().find(|field| field.name == outer);
        let fields = outer.map(|outer| outer.shape.fields()).unwrap_or_default();
        let found = fields.into_iter().find(|field| field.name() == inner.name());
        found.is_some_and(|found| !found.is_required())
    }

    /// Returns the fields of the type that the READ operation returns.
    fn fields<'a>(&self, run: &'a Run) -> Vec<Field<'a>> {
        let of_type = [Role::Read, Role::Create].into_iter().find_map(|role| {
            let operation = self.operation(&run.adapter, role)?;
            let name = operation.details().pointer("/returns/name")?.as_str()?;
            Some(fields_of(&run.adapter, name)).filter(|fields| !fields.is_empty())
        });
        of_type.unwrap_or_default()
    }

    /// Returns the append-only lists, as configured or as stated in descriptions.
    pub(crate) fn growing(&self, run: &Run) -> Vec<String> {
        let mut names = self.append_only.clone();
        for field in self.changeable(run).into_iter().chain(self.fields(run)) {
            let description = field.description.to_ascii_lowercase();
            let says_so =
                description.contains("append-only") || description.contains("append only");
            if says_so && !names.iter().any(|name| name == field.name) {
                names.push(field.name.to_owned());
            }
        }
        names
    }

    /// Returns the names of all fields that a caller can set, on creation or later.
    pub(crate) fn settable(&self, run: &Run) -> Vec<String> {
        let mut names: Vec<_> =
            self.changeable(run).into_iter().map(|field| field.name.to_owned()).collect();
        let create = self.operation(&run.adapter, Role::Create);
        let given = create.into_iter().flat_map(|create| &create.parameters);
        let given = given.filter(|parameter| is_of_the_thing(parameter));
        for parameter in given {
            if !names.contains(&parameter.name) {
                names.push(parameter.name.clone());
            }
        }
        names
    }

    /// Returns the names of the read-only fields.
    ///
    /// These are the configured ones, fields described as read-only, and fields of the item's type that a documented
    /// `input` lacks.
    pub(crate) fn unchangeable(&self, run: &Run) -> Vec<String> {
        let (changeable, is_reported) = self.described(run);
        let mut names: Vec<_> = self
            .fields(run)
            .into_iter()
            .filter(|field| {
                let is_named = changeable.iter().any(|named| named.name == field.name);
                let description = field.description.to_ascii_lowercase();
                let says_so =
                    description.contains("read-only") || description.contains("read only");
                says_so || (is_reported && !is_named)
            })
            .map(|field| field.name.to_owned())
            .filter(|name| *name != self.id && !name.starts_with("_computed"))
            .collect();
        names.extend(
            self.read_only.iter().filter(|name| !names.contains(name)).cloned().collect::<Vec<_>>(),
        );
        names
    }
}

/// Returns the fields of an object type.
pub(crate) fn fields_of<'a>(adapter: &'a Adapter, name: &str) -> Vec<Field<'a>> {
    let found = adapter.types.iter().find(|known| known.name == name);
    let fields = found.and_then(|found| found.details().get("fields")?.as_array());
    let field = |raw: &'a Value| {
        let raw = raw.as_object()?;
        Some(Field {
            name: raw.get("name")?.as_str()?,
            shape: Shape::new(raw, &adapter.types),
            // An item always has a field with a default, so the field counts as required.
            is_required: raw.get("required") == Some(&Value::Bool(true))
                || raw.get("default").is_some_and(|default| !default.is_null()),
            description: raw.get("description").and_then(Value::as_str).unwrap_or_default(),
            is_sensitive: raw.get("sensitive") == Some(&Value::Bool(true)),
        })
    };
    fields.into_iter().flatten().filter_map(field).collect()
}

fn is_of_the_thing(parameter: &Parameter) -> bool {
    !is_control(&parameter.name)
}

/// Returns parameters for a new item: the required ones, and optional ones with generated values.
///
/// A parameter with a default gets another value. Otherwise a test could not detect that the adapter ignores it.
pub(crate) fn to_create(run: &Run, operation: &Operation) -> Result<Map<String, Value>, Skip> {
    let mut params = run.valid(operation)?;
    let configured = run.settings.file.params.get(&operation.name);
    for parameter in &operation.parameters {
        // Secrets might lock the item, and references require an existing item.
        let is_plain = is_of_the_thing(parameter)
            && !values::is_withheld(operation, parameter)
            && parameter.member("sensitive") != Some(&Value::Bool(true))
            && !is_identifier(&parameter.name);
        let is_settled = configured.is_some_and(|configured| !configured.is_empty());
        if params.contains_key(&parameter.name) || !is_plain || is_settled {
            continue;
        }
        let shape = Shape::of(&run.adapter, parameter);
        let made = match parameter.member("default") {
            Some(default) => other(shape, default),
            None => values::of(run, operation, parameter, 0),
        };
        if let Some(value) = made.filter(|value| shape.accepts(value)) {
            params.insert(parameter.name.clone(), value);
        }
    }
    Ok(params)
}

/// Varies the strings in parameters. Use this after a conflict with an existing item.
pub(crate) fn varied(
    run: &Run,
    operation: &Operation,
    params: &Map<String, Value>,
    turn: usize,
) -> Map<String, Value> {
    let mut varied = params.clone();
    for parameter in &operation.parameters {
        let Some(Value::String(text)) = varied.get(&parameter.name) else { continue };
        if is_identifier(&parameter.name) || parameter.member("enum").is_some() {
            continue;
        }
        let shape = Shape::of(&run.adapter, parameter);
        let number = run.resources().next_number();
        let stem = text.trim_end_matches(|last: char| last.is_ascii_digit() || last == '-');
        let others = [
            Some(Value::from(format!("{stem}-{number}"))),
            Some(Value::from(format!("{stem}{number}"))),
            shape.made(number + turn),
        ];
        let fitting = others.into_iter().flatten().find(|other| shape.accepts(other));
        if let Some(other) = fitting {
            varied.insert(parameter.name.clone(), other);
        }
    }
    varied
}

/// Returns `true` if a stored value equals the submitted one.
///
/// Numbers are compared by value, instants by time, and objects only by the submitted members:
///
/// ```text
/// given                        stored
/// 3                            3.0                          same
/// "2031-05-06T07:08:09Z"       "2031-05-06T08:08:09+01:00"  same
/// { "a": 1 }                   { "a": 1, "b": 2 }           same
/// [1]                          [1, 2]                       different
/// ```
pub(crate) fn same(given: &Value, there: &Value) -> bool {
    match (given, there) {
        (Value::Number(given), Value::Number(there)) => {
            given == there || given.as_f64() == there.as_f64()
        }
        (Value::String(given), Value::String(there)) => {
            given == there
                || DateTime::parse_from_rfc3339(given)
                    .is_ok_and(|given| DateTime::parse_from_rfc3339(there) == Ok(given))
        }
        (Value::Array(given), Value::Array(there)) => {
            given.len() == there.len()
                && given.iter().zip(there).all(|(given, there)| same(given, there))
        }
        (Value::Object(given), Value::Object(there)) => {
            given.iter().all(|(name, given)| match there.get(name) {
                Some(there) => same(given, there),
                // Null may be stored as an absent member.
                None => given.is_null(),
            })
        }
        _ => given == there,
    }
}
