//! Collects and validates the examples of operations.

use serde_json::{Map, Value};

use crate::call::validate::{Lookups, ValidationRules, check_parameters};
use crate::introspection::{repeats_the_table, sample_params};
use crate::operation::RegisteredOperation;
use crate::schema::shape::Shapes;

/// Returns the examples of an operation, as pairs of description and `params`, and the `params` of a sample call.
///
/// The sample is the author's first example. If there are no examples, it is generated from the parameters, and becomes
/// an example itself if it shows more than the list of parameters does. If no valid sample can be generated, a warning
/// is logged.
///
/// Each example is validated like a call of a client and deserialized into the author's types. An invalid example of
/// the author is a problem.
pub(super) fn examples(
    operation: &RegisteredOperation,
    shapes: &Shapes,
    problems: &mut Vec<String>,
) -> (Vec<(String, String)>, Option<String>) {
    let rules = ValidationRules {
        strict: true,
        camel_case_aliases: false,
        json_texts: None,
        whole: false,
        caller: None,
    };
    let lookups = Lookups { shapes, search_operation: &|_| None };
    let check = |params: &str| match serde_json::from_str::<Map<String, Value>>(params) {
        Ok(params) => match check_parameters(operation, params.into(), &lookups, rules) {
            Ok(valid) => valid.accepted_by_types(operation),
            Err(error) => Err(error.message().to_owned()),
        },
        Err(_) => Err("it is not a JSON object".to_owned()),
    };
    let mut shown = Vec::new();
    for example in operation.spec.examples {
        match check(example.params) {
            Ok(()) => {
                shown.push((example.description.to_owned(), example.params.to_owned()));
            }
            Err(message) => problems.push(format!(
                "operation `{}`: an example is not a valid call: {message}",
                operation.name
            )),
        }
    }
    if !operation.spec.examples.is_empty() {
        let sample = shown.first().map(|(_, params)| params.clone());
        return (shown, sample);
    }
    let sample = sample_params(&operation.parameters, shapes);
    let queried =
        operation.composites.description.example.as_deref().map(|query| joined(&sample, query));
    if let Some(sample) = queried.filter(|sample| check(sample).is_ok()) {
        shown.push((String::new(), sample.clone()));
        return (shown, Some(sample));
    }
    if check(&sample).is_err() {
        tracing::warn!(
            operation = &*operation.name,
            "an example cannot be generated from the parameters' types and constraints: write one with \
             `example = {{…}}`"
        );
        return (shown, None);
    }
    if operation.spec.shows_sample || !repeats_the_table(&operation.parameters, shapes) {
        shown.push((String::new(), sample.clone()));
    }
    (shown, Some(sample))
}

/// Merges the members of two JSON objects. Members of `other` take precedence.
fn joined(one: &str, other: &str) -> String {
    let members = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default();
    let (mut all, more) = (members(one), members(other));
    if all.keys().all(|name| more.contains_key(name)) {
        return other.to_owned();
    }
    all.extend(more);
    Value::Object(all).to_string()
}
