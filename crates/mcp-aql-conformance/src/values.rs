//! Chooses values of parameters: valid ones from introspection and results, and invalid ones.

use serde_json::{Map, Value, json};

use crate::adapter::{Operation, Parameter};
use crate::cases::Skip;
use crate::category::Category;
use crate::finding::listed;
use crate::nouns::{is_identifier, thing_of};
use crate::run::Run;
use crate::shape::{InvalidValue, Shape, hits_nothing};
use crate::verbs::widens_effect;

/// Parameter with the string of a search.
pub(crate) const SEARCH_TEXT: &str = "query";

/// A number that identifies no item.
const UNUSED_NUMBER: i64 = 987_654_321;

impl Run {
    /// Returns the required parameters of a valid call.
    ///
    /// Their values come from the configuration, from results, from examples, or are generated from the constraints.
    ///
    /// # Errors
    ///
    /// Returns [`Skip::NoFixture`] if a parameter has no known value.
    pub(crate) fn valid(&self, operation: &Operation) -> Result<Map<String, Value>, Skip> {
        valid(self, operation, 0)
    }

    /// Returns the parameters of a valid call with identifiers of missing items. Such a call changes nothing, even if
    /// it should fail but runs.
    ///
    /// # Errors
    ///
    /// Returns [`Skip::NoFixture`] if a parameter has no value of its form.
    pub(crate) fn with_missing_ids(
        &self,
        operation: &Operation,
    ) -> Result<Map<String, Value>, Skip> {
        let mut params = Map::new();
        let is_new = operation.category == Some(Category::Create);
        // Without an identifier, the operation is called with the configured parameters.
        if self.is_named_whole(operation) {
            params.extend(
                self.settings.file.params.get(&operation.name).cloned().unwrap_or_default(),
            );
        }
        with_required(params, operation, "a value in the form of", |parameter| {
            if is_identifier(&parameter.name) && !is_new {
                // READ operations may read an existing item if no missing one is known.
                let somebody = || of(self, operation, parameter, 0).filter(|_| operation.is_read());
                missing_id(self, operation, parameter).or_else(somebody)
            } else if is_new || operation.is_read() || parameter.name == "input" {
                of(self, operation, parameter, 0).or_else(|| missing_id(self, operation, parameter))
            } else {
                // Other parameters such as `path` or `number` may identify items, too, and examples may name existing
                // items.
                missing_id(self, operation, parameter)
                    .or_else(|| Shape::of(&self.adapter, parameter).made(0))
            }
        })
    }
}

/// Returns the required parameters of a valid call. Another `turn` selects other values if possible.
pub(crate) fn valid(
    run: &Run,
    operation: &Operation,
    turn: usize,
) -> Result<Map<String, Value>, Skip> {
    let mut params = Map::new();
    if let Some(given) = run.settings.file.params.get(&operation.name) {
        params.extend(given.clone());
    }
    let value = |parameter: &Parameter| of(run, operation, parameter, turn);
    with_required(params, operation, "a value for", value)
}

/// Adds a value for each required parameter without one.
///
/// # Errors
///
/// Returns [`Skip::NoFixture`] with the names of all parameters without a known value.
pub(crate) fn with_required(
    mut params: Map<String, Value>,
    operation: &Operation,
    what: &str,
    value: impl Fn(&Parameter) -> Option<Value>,
) -> Result<Map<String, Value>, Skip> {
    let mut missing = Vec::new();
    for parameter in operation.required() {
        if params.contains_key(&parameter.name) {
            continue;
        }
        match value(parameter) {
            Some(value) => drop(params.insert(parameter.name.clone(), value)),
            None => missing.push(&parameter.name),
        }
    }
    if missing.is_empty() {
        return Ok(params);
    }
    Err(Skip::NoFixture(format!(
        "{what} {}: add {} under [params.{}]",
        listed(&missing),
        if missing.len() == 1 { "one" } else { "them" },
        operation.name
    )))
}

/// Returns a value of one parameter: configured, from results, from examples, or generated. Identifiers are never
/// generated.
pub(crate) fn of(
    run: &Run,
    operation: &Operation,
    parameter: &Parameter,
    turn: usize,
) -> Option<Value> {
    let file = &run.settings.file;
    let configured = file
        .params
        .get(&operation.name)
        .and_then(|params| params.get(&parameter.name))
        .or_else(|| file.values.get(&parameter.name));
    if let Some(value) = configured {
        return Some(value.clone());
    }
    if parameter.name == SEARCH_TEXT
        && let Some(text) = run.search_text(&operation.name)
    {
        return Some(text);
    }
    if is_withheld(operation, parameter) {
        return None;
    }
    let shape = Shape::of(&run.adapter, parameter);
    if widens_effect(&parameter.name) && shape.takes_type_of(&Value::Bool(false)) {
        // Not even an example or a default may decide that the run forces or confirms something.
        return shape.made(1);
    }
    let is_known = is_identifier(&parameter.name) && !is_given_by_us(operation, parameter);
    if is_known && let Some(value) = seen(run, operation, parameter, turn) {
        return Some(value);
    }
    if let Some(value) = element(run, operation, parameter, turn) {
        return Some(value);
    }
    // Repeated calls use generated values. A single call uses the author's example.
    if turn > 0
        && !is_known
        && let Some(value) = shape.made(turn)
    {
        return Some(value);
    }
    let stated = parameter.member("default").into_iter();
    let mut stated = stated.chain(operation.examples_of(&parameter.name)).map(without_widening);
    let stated = stated.find(|value| shape.accepts(value));
    stated.or_else(|| if is_known { None } else { shape.made(turn) })
}

/// Copies a default or an example value without the members that remove a safeguard or extend the call to more data.
pub(crate) fn without_widening(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let member = |(name, member): (&String, &Value)| match member {
                Value::Bool(true) if widens_effect(name) => (name.clone(), Value::Bool(false)),
                _ => (name.clone(), without_widening(member)),
            };
            Value::Object(members.iter().map(member).collect())
        }
        Value::Array(items) => items.iter().map(without_widening).collect(),
        _ => value.clone(),
    }
}

/// Returns `true` if the invalid part of a value is a member that may remove a safeguard or extend the call to more
/// data.
fn has_wrong_safeguard(wrong: &InvalidValue) -> bool {
    let mut part = Some(&wrong.value);
    let names = wrong.path.split(['.', '[', ']']).filter(|name| !name.is_empty());
    names.into_iter().any(|name| {
        part = part.and_then(|part| part.get(name).or_else(|| part.get(0)));
        part.is_some() && widens_effect(name)
    })
}

/// Returns `true` if the run leaves out an optional parameter, because a value could remove a safeguard or extend the
/// call to more data.
pub(crate) fn is_withheld(operation: &Operation, parameter: &Parameter) -> bool {
    !operation.is_read() && !parameter.required && widens_effect(&parameter.name)
}

/// Returns `true` if the caller chooses the identifier of the created item.
fn is_given_by_us(operation: &Operation, parameter: &Parameter) -> bool {
    operation.category == Some(Category::Create) && !parameter.name.ends_with("id")
}

/// Returns an identifier from results, stored under this name or a related one.
fn seen(run: &Run, operation: &Operation, parameter: &Parameter, turn: usize) -> Option<Value> {
    let shape = Shape::of(&run.adapter, parameter);
    let fit = |name: &str| -> Vec<Value> {
        run.harvested(name).into_iter().filter(|value| shape.accepts(value)).collect()
    };
    let rotated =
        |values: Vec<Value>, turn: usize| values.get(turn.checked_rem(values.len())?).cloned();
    // `link_beds` with `bed_id` and `target_id` needs two different beds. Only harmless operations may guess.
    let may_guess = matches!(operation.category, Some(Category::Create | Category::Read));
    let own = fit(&parameter.name);
    let others = operation
        .required()
        .take_while(|other| other.name != parameter.name)
        .filter(|other| may_guess && other.kind == parameter.kind)
        .filter(|other| other.name.ends_with("_id") && parameter.name.ends_with("_id"));
    for other in others {
        let known = fit(&other.name);
        // Equal strings show that both parameters identify the same kind of item. Numbers are ambiguous.
        let is_same = own.iter().all(|value| value.is_string() && known.contains(value));
        if is_same && known.len() > 1 {
            return rotated(known, turn + 1);
        }
    }
    if let Some(value) = rotated(own, turn) {
        return Some(value);
    }
    if parameter.name != "id" {
        return None;
    }
    // The parameter of `get_bed` is `id`, but lists name it `bed_id`.
    let own = thing_of(&operation.name).map(|thing| fit(&format!("{thing}_id")));
    own.and_then(|values| rotated(values, turn))
}

/// Returns an element with relationships. Its type comes from examples, and its name from results.
fn element(run: &Run, operation: &Operation, parameter: &Parameter, turn: usize) -> Option<Value> {
    let fields = Shape::of(&run.adapter, parameter).fields();
    let has = |name: &str| fields.iter().any(|field| field.name() == Some(name));
    if !has("element_type") || !has("element_name") {
        return None;
    }
    operation.examples_of(&parameter.name).find_map(|example| {
        let kind = example.get("element_type")?.as_str()?;
        let names = [format!("{kind}_id"), format!("{kind}_name"), "element_name".to_owned()];
        let known = names.iter().map(|name| run.harvested(name)).find(|known| !known.is_empty())?;
        // A name is a string, even if a number identifies the item.
        let name = match known.get(turn.checked_rem(known.len())?)? {
            Value::Number(number) => Value::from(number.to_string()),
            name => name.clone(),
        };
        Some(json!({ "element_type": kind, "element_name": name }))
    })
}

/// Returns a well-formed value that identifies no item, or `None` if too few values are possible.
///
/// The value is reused until an item has it.
pub(crate) fn missing_id(run: &Run, operation: &Operation, parameter: &Parameter) -> Option<Value> {
    let harvested = run.harvested(&parameter.name);
    let given = run.missing_ids(&operation.name, &parameter.name);
    if let Some(value) = given.into_iter().find(|value| !harvested.contains(value)) {
        return Some(value);
    }
    let shape = Shape::of(&run.adapter, parameter);
    let samples: Vec<_> =
        harvested.iter().chain(operation.examples_of(&parameter.name)).cloned().collect();
    let value = missing_id_like(shape, &samples)?;
    run.note_missing_id(&operation.name, &parameter.name, value.clone());
    Some(value)
}

/// Returns a value of this form that differs from all samples and is most likely unused.
fn missing_id_like(shape: Shape<'_>, samples: &[Value]) -> Option<Value> {
    if shape.words().is_some() {
        return None;
    }
    // `bed-7` becomes `bed-987654321`, because adapters may check the form of their identifiers.
    let like = samples.iter().filter_map(Value::as_str).find_map(|sample| {
        let stem = sample.trim_end_matches(|letter: char| letter.is_ascii_digit());
        (stem.len() < sample.len()).then(|| json!(format!("{stem}{UNUSED_NUMBER}")))
    });
    let numbers = (0..8).map(|more| json!(UNUSED_NUMBER + more));
    let named = like.into_iter().chain(numbers).chain([json!("conformance-nobody")]);
    named.chain(shape.rare()).find(|value| shape.accepts(value) && !samples.contains(value))
}

/// Returns invalid values of a parameter.
///
/// For operations that change data, leaves out values that could match an item after a conversion.
pub(crate) fn wrong(run: &Run, operation: &Operation, parameter: &Parameter) -> Vec<InvalidValue> {
    let mut wrong = Shape::of(&run.adapter, parameter).wrong();
    // Careless adapters treat any value of another type as true.
    if widens_effect(&parameter.name) {
        wrong.retain(|wrong| operation.is_read() && wrong.value != true);
    } else if !operation.is_read() {
        wrong.retain(|wrong| !has_wrong_safeguard(wrong));
    }
    if is_aim(operation, parameter) {
        wrong.retain(|wrong| hits_nothing(&wrong.value));
    }
    wrong
}

/// Returns values at the bounds of a parameter. Returns none for identifiers of changed items, because the minimum may
/// identify an existing item.
pub(crate) fn edges(run: &Run, operation: &Operation, parameter: &Parameter) -> Vec<Value> {
    match is_aim(operation, parameter) || is_withheld(operation, parameter) {
        true => Vec::new(),
        false => Shape::of(&run.adapter, parameter).edges(),
    }
}

/// Returns `true` if a parameter selects the changed or removed data.
pub(crate) fn is_aim(operation: &Operation, parameter: &Parameter) -> bool {
    let is_harmless = operation.is_read() || operation.category == Some(Category::Create);
    parameter.required && !is_harmless && is_identifier(&parameter.name)
}

/// Returns `true` if a value was generated, so neither the adapter nor the configuration contains it.
///
/// A generated value may violate rules that introspection cannot express.
pub(crate) fn is_generated(
    run: &Run,
    operation: &Operation,
    parameter: &Parameter,
    value: &Value,
) -> bool {
    let file = &run.settings.file;
    let configured = file.params.get(&operation.name).and_then(|given| given.get(&parameter.name));
    let mut stated = operation.examples_of(&parameter.name).chain(parameter.member("default"));
    let is_known = configured == Some(value)
        || file.values.get(&parameter.name) == Some(value)
        || stated.any(|stated| without_widening(stated) == *value)
        || run.harvested(&parameter.name).contains(value);
    let is_reported = value.is_boolean() || Shape::of(&run.adapter, parameter).words().is_some();
    !is_known && !is_reported
}

/// Returns `true` if a value occurs inside another one, as a value or as the name of a member.
pub(crate) fn mentions(whole: &Value, wanted: &Value) -> bool {
    whole == wanted
        || match whole {
            Value::Array(items) => items.iter().any(|item| mentions(item, wanted)),
            Value::Object(members) => {
                members.iter().any(|(name, member)| wanted == name || mentions(member, wanted))
            }
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an unused value of a parameter with this definition.
    fn missing_id_of(raw: Value, samples: &[Value]) -> Option<Value> {
        missing_id_like(Shape::new(raw.as_object().unwrap(), &[]), samples)
    }

    #[test]
    fn stated_values_remove_no_safeguard() {
        let stated = json!({
            "title": "A", "done": true,
            "options": [{ "overwrite": true, "deep": { "skip_backup": true, "force": "no" } }],
        });
        let sent = json!({
            "title": "A", "done": true,
            "options": [{ "overwrite": false, "deep": { "skip_backup": false, "force": "no" } }],
        });
        assert_eq!(without_widening(&stated), sent);
    }

    #[test]
    fn invalid_values_of_nested_safeguards_are_recognized() {
        let types = [json!({ "name": "Options", "kind": "object", "fields": [
            { "name": "overwrite", "type": "boolean", "required": true },
            { "name": "depth", "type": "integer" },
        ]})];
        let types = types.map(|details| {
            let reply = json!({ "data": { "type": details } });
            crate::adapter::Type::read("Options".to_owned(), Value::Null, reply, "name")
        });
        for raw in [
            json!({ "name": "options", "type": "Options" }),
            json!({ "name": "options", "type": "array", "items": { "type": "Options" } }),
        ] {
            let wrong = Shape::new(raw.as_object().unwrap(), &types).wrong();
            let (risky, others): (Vec<_>, Vec<_>) =
                wrong.into_iter().partition(has_wrong_safeguard);
            let text = |wrong: &[InvalidValue]| format!("{wrong:?}");
            assert_eq!(risky.len(), 1, "{}", text(&risky));
            assert!(risky[0].path.ends_with(".overwrite"), "{}", text(&risky));
            // An object without the member is still tested.
            assert!(others.iter().any(|it| it.path.ends_with(".overwrite")), "{}", text(&others));
            assert!(others.iter().any(|it| it.path.ends_with(".depth")), "{}", text(&others));
        }
    }

    #[test]
    fn no_unused_value_of_small_types() {
        for narrow in [
            json!({ "type": "string", "enum": ["staging", "production"] }),
            json!({ "type": "string", "pattern": "^(staging|production)$" }),
            json!({ "type": "string", "pattern": "^[A-Z]{2}$" }),
            json!({ "type": "string", "maxLength": 4 }),
            json!({ "type": "string", "format": "date" }),
            json!({ "type": "integer", "minimum": 1, "maximum": 5000 }),
            json!({ "type": "boolean" }),
        ] {
            assert_eq!(missing_id_of(narrow.clone(), &[]), None, "{narrow}");
        }
    }

    #[test]
    fn unused_value_has_the_form_of_the_samples() {
        let number = json!({ "type": "integer", "minimum": 1 });
        assert_eq!(missing_id_of(number.clone(), &[]), Some(json!(UNUSED_NUMBER)));
        assert_eq!(missing_id_of(number, &[json!(UNUSED_NUMBER)]), Some(json!(UNUSED_NUMBER + 1)));
        let text = json!({ "type": "string" });
        assert_eq!(missing_id_of(text.clone(), &[]), Some(json!("conformance-nobody")));
        assert_eq!(missing_id_of(text, &[json!("bed-7")]), Some(json!("bed-987654321")));
        for wide in [
            json!({ "type": "string", "pattern": "^p-[0-9]{1,9}$" }),
            json!({ "type": "string", "pattern": "^[a-z]{3,24}$" }),
            json!({ "type": "string", "format": "uuid" }),
            json!({ "type": "string", "minLength": 64, "maxLength": 64 }),
        ] {
            assert!(missing_id_of(wide.clone(), &[]).is_some(), "{wide}");
        }
    }
}
