//! Checks that the rejection of a mistaken call suffices to send the right call next.
//!
//! Other checks report accepted mistakes, and rejections with a wrong code or without the name of the parameter.

use serde_json::{Map, Value, json};

use super::{all, refused, subject, with};
use crate::adapter::{Operation, Parameter};
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::checks::calls::valid;
use crate::checks::refusals::{Refusal, misspelt, states_wrong_type};
use crate::run::{Run, arguments, do_all};
use crate::shape::{Fault, Shape};
use crate::values;

/// A call with one mistake in one parameter.
struct Mistake<'a> {
    operation: &'a Operation,
    parameter: &'a Parameter,
    /// The misspelled name or the invalid value.
    wrong: Value,
    params: Map<String, Value>,
}

/// Sends calls with one mistake each and passes the rejections to `look`.
async fn each(
    run: &Run,
    cases: &Cases,
    mistakes: Vec<Mistake<'_>>,
    look: impl Fn(&Mistake<'_>, &Exchange, &Refusal<'_>),
) {
    let look = &look;
    let jobs = mistakes.into_iter().map(|mistake| async move {
        let sent = arguments(&mistake.operation.name, mistake.params.clone());
        let Some(exchange) = refused(run, mistake.operation, sent, cases).await else { return };
        match Refusal::of(&exchange) {
            Some(refusal) => look(&mistake, &exchange, &refusal),
            // An accepted call needs no repair. Other checks report it if it must be rejected.
            None => cases.pass(),
        }
    });
    do_all(jobs).await;
}

/// Builds calls with one mistake each.
///
/// `make` returns the mistakes for one parameter: the wrong name or value, and the parameters of the call.
fn mistakes<'a>(
    run: &'a Run,
    cases: &Cases,
    make: impl Fn(&'a Operation, &'a Parameter, &Map<String, Value>) -> Vec<(Value, Map<String, Value>)>,
) -> Vec<Mistake<'a>> {
    let mut mistakes = Vec::new();
    for (operation, params) in all(run, cases) {
        let parameters = operation.parameters.iter();
        for parameter in parameters.filter(|one| !values::is_withheld(operation, one)) {
            let made = make(operation, parameter, &params).into_iter();
            mistakes.extend(made.map(|(wrong, params)| Mistake {
                operation,
                parameter,
                wrong,
                params,
            }));
        }
    }
    mistakes
}

/// Returns `true` if the description calls the parameter deprecated. A rejection may advise another one instead.
fn is_deprecated(parameter: &Parameter) -> bool {
    let text = parameter.member("description").and_then(Value::as_str).unwrap_or_default();
    let text = text.to_lowercase();
    text.contains("deprecated") || text.contains("deprecation")
}

pub(super) async fn misspelt_name(run: &Run, cases: &Cases) {
    let has_long_name = |operation: &Operation| {
        operation.name != "introspect"
            && operation.parameters.iter().any(|one| misspelt(&one.name).is_some())
    };
    if !run.adapter.operations.iter().any(has_long_name) {
        return cases.not_applicable("no parameter has a name that is long enough to be misspelt");
    }
    let mistakes = mistakes(run, cases, |operation, parameter, params| {
        // An adapter that corrects misspellings runs the operation, so the operation must be permitted.
        if let Some(why) = run.forbids(operation) {
            cases.skip(why);
            return Vec::new();
        }
        let wrong = misspelt(&parameter.name).filter(|wrong| operation.parameter(wrong).is_none());
        let given = params.get(&parameter.name).cloned();
        let value = given.or_else(|| values::of(run, operation, parameter, 0));
        let (Some(wrong), Some(value)) = (wrong, value.filter(|_| !is_deprecated(parameter)))
        else {
            return Vec::new();
        };
        let mut params = with(params, operation, &parameter.name, Value::Null);
        params.remove(&parameter.name);
        params.insert(wrong.clone(), value);
        vec![(json!(wrong), params)]
    });
    each(run, cases, mistakes, |mistake, exchange, refusal| {
        let (name, wrong) = (&mistake.parameter.name, mistake.wrong.as_str().unwrap_or_default());
        let is_missing = refusal.failure.code == "VALIDATION_MISSING_PARAM";
        let is_unknown = refusal.failure.code == "VALIDATION_UNKNOWN_PARAM";
        if is_missing && refusal.mentions(name) {
            return cases.pass();
        }
        // Another check reports missing parameters without a name. Other rejections concern the values.
        if is_missing || !(is_unknown || refusal.mentions(wrong)) {
            return;
        }
        cases.expect(refusal.mentions(name), || {
            Finding::of(exchange, subject(mistake.operation, mistake.parameter)).expected(format!(
                "`{name}` in the message or in the details, because `{wrong}` is a misspelling of \
                 it"
            ))
        });
    })
    .await;
}

/// Returns the allowed values of a parameter or of the items of a list, and an invalid value.
fn not_allowed<'a>(
    run: &'a Run,
    operation: &Operation,
    parameter: &'a Parameter,
) -> Option<(&'a [Value], Value)> {
    let shape = Shape::of(&run.adapter, parameter);
    let wrong = values::wrong(run, operation, parameter);
    if let Some(words) = shape.words() {
        let wrong = wrong.into_iter().find(|wrong| wrong.fault == Fault::Word)?;
        return Some((words, wrong.value));
    }
    let words = shape.items()?.words()?;
    let is_list_of_words = |value: &Value| {
        let item = value.as_array().and_then(|items| items.first());
        item.is_some_and(|item| words.iter().any(Value::is_string) == item.is_string())
    };
    let mut wrong = wrong.into_iter().filter(|wrong| wrong.fault == Fault::Item);
    Some((words, wrong.find(|wrong| is_list_of_words(&wrong.value))?.value))
}

pub(super) async fn allowed_values(run: &Run, cases: &Cases) {
    let has_words = |(operation, parameter): (&Operation, &Parameter)| {
        operation.name != "introspect" && not_allowed(run, operation, parameter).is_some()
    };
    if !run.adapter.parameters().any(has_words) {
        return cases.not_applicable("no parameter is documented with a closed set of values");
    }
    let mistakes = mistakes(run, cases, |operation, parameter, params| {
        let wrong = not_allowed(run, operation, parameter).into_iter();
        let call = |(_, wrong): (_, Value)| {
            let params = with(params, operation, &parameter.name, wrong.clone());
            (wrong, params)
        };
        wrong.map(call).collect()
    });
    each(run, cases, mistakes, |mistake, exchange, refusal| {
        let (operation, parameter) = (mistake.operation, mistake.parameter);
        let Some((words, _)) = not_allowed(run, operation, parameter) else { return };
        // Another check reports rejections that do not name the parameter.
        if !refusal.mentions(&parameter.name) || refusal.is_about_other(&parameter.name) {
            return;
        }
        cases.expect(refusal.lists(words), || {
            Finding::of(exchange, subject(operation, parameter)).expected(format!(
                "the allowed values in the message or in the details: {}",
                Value::from(words)
            ))
        });
    })
    .await;
}

pub(super) async fn expected_type(run: &Run, cases: &Cases) {
    let types = |operation: &Operation, parameter: &Parameter| {
        let wrong = values::wrong(run, operation, parameter).into_iter();
        wrong.filter(|wrong| wrong.fault == Fault::Type).collect::<Vec<_>>()
    };
    let has_type = |(operation, parameter): (&Operation, &Parameter)| {
        operation.name != "introspect" && !types(operation, parameter).is_empty()
    };
    if !run.adapter.parameters().any(has_type) {
        return cases.not_applicable("no parameter is documented with a type");
    }
    let mistakes = mistakes(run, cases, |operation, parameter, params| {
        let wrong = types(operation, parameter).into_iter();
        wrong
            .map(|wrong| {
                let params = with(params, operation, &parameter.name, wrong.value.clone());
                (wrong.value, params)
            })
            .collect()
    });
    each(run, cases, mistakes, |mistake, exchange, refusal| {
        let parameter = mistake.parameter;
        let detail = |name: &str| refusal.failure.details.get(name).and_then(Value::as_str);
        // Parts of a value such as `tags[0]` have types of their own. Another check reports missing details.
        let Some(stated) = detail("expected_type") else { return };
        if detail("param_name") != Some(&parameter.name) {
            return;
        }
        let shape = Shape::of(&run.adapter, parameter);
        cases.expect(!states_wrong_type(stated, |value| shape.takes_type_of(value)), || {
            Finding::of(exchange, subject(mistake.operation, parameter)).expected(format!(
                "an `expected_type` that the parameter accepts: {}",
                parameter.kind
            ))
        });
    })
    .await;
}

/// Returns a valid object or list for a parameter that does not accept strings.
fn structured(run: &Run, operation: &Operation, parameter: &Parameter) -> Option<Value> {
    let shape = Shape::of(&run.adapter, parameter);
    let is_structured = |value: &Value| value.is_object() || value.is_array();
    let value = values::of(run, operation, parameter, 0).or_else(|| shape.made(0));
    value.filter(|value| is_structured(value) && !shape.takes_type_of(&json!("text")))
}

pub(super) async fn json_text(run: &Run, cases: &Cases) {
    let mistakes = mistakes(run, cases, |operation, parameter, params| {
        let value = structured(run, operation, parameter);
        // A string might select an item if the parameter is an identifier.
        let value = value.filter(|_| !values::is_aim(operation, parameter));
        let call = |value: Value| {
            let text = json!(value.to_string());
            (text.clone(), with(params, operation, &parameter.name, text))
        };
        value.map(call).into_iter().collect()
    });
    each(run, cases, mistakes, |mistake, exchange, refusal| {
        let parameter = mistake.parameter;
        // Another check reports documented parameters rejected as unknown.
        let is_unknown = refusal.failure.code == "VALIDATION_UNKNOWN_PARAM";
        if is_unknown || refusal.is_about_other(&parameter.name) {
            return;
        }
        let shape = Shape::of(&run.adapter, parameter);
        let says = refusal.mentions(&parameter.name)
            && (refusal.rejects_text()
                || refusal.states_type(&parameter.kind, |value| shape.takes_type_of(value)));
        cases.expect(says, || {
            Finding::of(exchange, subject(mistake.operation, parameter)).expected(format!(
                "a failure that names `{}` and the expected type {}",
                parameter.name, parameter.kind
            ))
        });
    })
    .await;
    params_as_text(run, cases).await;
}

/// Sends all parameters of READ operations as one string of JSON. Other operations might run if they accept that.
///
/// ```json
/// { "operation": "get_bed", "params": "{\"bed_id\": \"7\"}" }
/// ```
async fn params_as_text(run: &Run, cases: &Cases) {
    let jobs = run.adapter.reads().map(|operation| async move {
        let Some(params) = valid(run, operation, cases) else { return };
        let text = Value::Object(params).to_string();
        let sent = json!({ "operation": operation.name, "params": text });
        let Some(exchange) = run.call_as(operation, sent, cases).await else { return };
        let Some(refusal) = Refusal::of(&exchange) else { return cases.pass() };
        let says = refusal.mentions("params")
            && (refusal.rejects_text() || refusal.states_type("object", Value::is_object));
        cases.expect(says, || {
            Finding::of(&exchange, format!("{}: params", operation.name))
                .expected("a failure that names `params` and the expected type object")
                .fix(
                    "say that `params` is an object and not a string that contains one: models \
                     often send a string",
                )
        });
    });
    do_all(jobs).await;
    if run.adapter.reads().next().is_none() {
        cases.not_applicable("the adapter has no READ operation other than `introspect`");
    }
}
