//! Checks that the rejection of a mistaken call suffices to send the right call next.
//!
//! Other checks report accepted mistakes, and rejections with a wrong code or without the name of the parameter.

use serde_json::{Map, Value, json};

use super::{concerns_parameters, each_parameter, with};
use crate::adapter::{Operation, Parameter};
use crate::cases::{Cases, Hints};
use crate::checks::calls::valid;
use crate::checks::planned::{CallReply, PlannedCall};
use crate::checks::refusals::{Refusal, misspelt, states_wrong_type};
use crate::run::Run;
use crate::shape::{Fault, Shape};
use crate::values;

/// Plans calls with one mistake each. `plan` returns the calls for one parameter.
///
/// Marks the check as not applicable for the reason `without` if `has` returns `false` for all parameters.
fn mistakes<'r, I: IntoIterator<Item = PlannedCall<'r>>>(
    run: &'r Run,
    cases: &Cases,
    (has, without): (impl Fn(&'r Operation, &'r Parameter) -> bool, &str),
    plan: impl Fn(&'r Operation, &'r Parameter, &Map<String, Value>) -> I,
) -> Vec<PlannedCall<'r>> {
    let mut parameters = run.adapter.parameters();
    if !parameters.any(|(operation, it)| operation.name != "introspect" && has(operation, it)) {
        cases.not_applicable(without);
        return Vec::new();
    }
    each_parameter(run, cases, |operation, parameter, params| {
        let is_sent = !values::is_withheld(operation, parameter);
        is_sent.then(|| plan(operation, parameter, params)).into_iter().flatten()
    })
}

/// Returns the rejection to judge. Counts a passed case if the call was accepted: such a call needs no repair, and other
/// checks report it if it must be rejected.
fn refusal<'a>(it: &CallReply<'a>) -> Option<Refusal<'a>> {
    concerns_parameters(it)?;
    let refusal = Refusal::of(it.reply);
    if refusal.is_none() {
        it.cases.pass();
    }
    refusal
}

/// Returns `true` if the description calls the parameter deprecated. A rejection may advise another one instead.
fn is_deprecated(parameter: &Parameter) -> bool {
    let text = parameter.member("description").and_then(Value::as_str).unwrap_or_default();
    let text = text.to_lowercase();
    text.contains("deprecated") || text.contains("deprecation")
}

/// Plans calls with one misspelt parameter each.
pub(super) fn misspelt_names<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    let has = |_: &Operation, parameter: &Parameter| misspelt(&parameter.name).is_some();
    let without = "no parameter has a name that is long enough to be misspelt";
    mistakes(run, cases, (has, without), |operation, parameter, params| {
        // An adapter that corrects misspellings runs the operation, so the operation must be permitted.
        if let Some(why) = run.forbids(operation) {
            cases.skip(why);
            return None;
        }
        let wrong =
            misspelt(&parameter.name).filter(|wrong| operation.parameter(wrong).is_none())?;
        let given = params.get(&parameter.name).cloned();
        let value = given.or_else(|| values::of(run, operation, parameter, 0));
        let value = value.filter(|_| !is_deprecated(parameter))?;
        let mut params = with(params, operation, &parameter.name, Value::Null);
        params.remove(&parameter.name);
        params.insert(wrong.clone(), value);
        Some(PlannedCall::invalid(operation, params).word("wrong", wrong))
    })
}

pub(super) fn states_name(it: &CallReply<'_>) -> Option<bool> {
    let refusal = refusal(it)?;
    let states_name = refusal.mentions(it.parameter());
    // Another check reports missing parameters without a name. Other rejections concern the values.
    let is_judged = match refusal.failure.code {
        "VALIDATION_MISSING_PARAM" => states_name,
        "VALIDATION_UNKNOWN_PARAM" => true,
        _ => refusal.mentions(it.call.text("wrong")),
    };
    is_judged.then_some(states_name)
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

/// Plans calls with one value outside an `enum` each.
pub(super) fn outside_enums<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    let has = |operation: &_, parameter: &'r _| not_allowed(run, operation, parameter).is_some();
    let without = "no parameter is documented with a closed set of values";
    mistakes(run, cases, (has, without), |operation, parameter, params| {
        let (words, wrong) = not_allowed(run, operation, parameter)?;
        let params = with(params, operation, &parameter.name, wrong);
        let words = Value::from(words).to_string();
        Some(PlannedCall::invalid(operation, params).word("allowed", words))
    })
}

pub(super) fn lists_values(it: &CallReply<'_>) -> Option<bool> {
    let (words, _) = not_allowed(it.run, it.call.operation, it.call.parameter?)?;
    let refusal = refusal(it)?;
    // Another check reports rejections that do not name the parameter.
    let names_it = refusal.mentions(it.parameter()) && !refusal.is_about_other(it.parameter());
    names_it.then(|| refusal.lists(words))
}

/// Plans calls with one value of a wrong type each.
pub(super) fn wrong_types<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    let wrong = |operation: &Operation, parameter: &Parameter| {
        let wrong = values::wrong(run, operation, parameter).into_iter();
        wrong.filter(|wrong| wrong.fault == Fault::Type).collect::<Vec<_>>()
    };
    let has = |operation: &_, parameter: &_| !wrong(operation, parameter).is_empty();
    let without = "no parameter is documented with a type";
    mistakes(run, cases, (has, without), |operation, parameter, params| {
        let calls = wrong(operation, parameter).into_iter().map(|wrong| {
            let params = with(params, operation, &parameter.name, wrong.value);
            PlannedCall::invalid(operation, params)
        });
        calls.collect::<Vec<_>>()
    })
}

pub(super) fn states_right_type(it: &CallReply<'_>) -> Option<bool> {
    let refusal = refusal(it)?;
    let detail = |name: &str| refusal.failure.details.get(name).and_then(Value::as_str);
    // Parts of a value such as `tags[0]` have types of their own. Another check reports missing details.
    let stated =
        detail("expected_type").filter(|_| detail("param_name") == Some(it.parameter()))?;
    let shape = Shape::of(&it.run.adapter, it.call.parameter?);
    Some(!states_wrong_type(stated, |value| shape.takes_type_of(value)))
}

/// Returns a valid object or list for a parameter that does not accept strings.
fn structured(run: &Run, operation: &Operation, parameter: &Parameter) -> Option<Value> {
    let shape = Shape::of(&run.adapter, parameter);
    let is_structured = |value: &Value| value.is_object() || value.is_array();
    let value = values::of(run, operation, parameter, 0).or_else(|| shape.made(0));
    value.filter(|value| is_structured(value) && !shape.takes_type_of(&json!("text")))
}

/// Plans calls with one object or list each as a string of JSON.
pub(super) fn json_texts<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    let calls = each_parameter(run, cases, |operation, parameter, params| {
        let value = structured(run, operation, parameter);
        // A string might select an item if the parameter is an identifier.
        let is_sent =
            !values::is_aim(operation, parameter) && !values::is_withheld(operation, parameter);
        let text = json!(value.filter(|_| is_sent)?.to_string());
        let params = with(params, operation, &parameter.name, text);
        Some(PlannedCall::invalid(operation, params))
    });
    if run.adapter.reads().next().is_none() {
        cases.not_applicable("the adapter has no READ operation other than `introspect`");
    }
    calls.into_iter().chain(params_as_text(run, cases)).collect()
}

pub(super) fn states_json(it: &CallReply<'_>) -> Option<bool> {
    let Some(parameter) = it.call.parameter else { return Some(states_params(it)) };
    let refusal = refusal(it)?;
    // Another check reports documented parameters rejected as unknown.
    let is_unknown = refusal.failure.code == "VALIDATION_UNKNOWN_PARAM";
    if is_unknown || refusal.is_about_other(&parameter.name) {
        return None;
    }
    let shape = Shape::of(&it.run.adapter, parameter);
    let states_type = || refusal.states_type(&parameter.kind, |value| shape.takes_type_of(value));
    Some(refusal.mentions(&parameter.name) && (refusal.rejects_text() || states_type()))
}

/// Plans calls of READ operations with all parameters as one string of JSON. Other operations might run if they accept
/// that.
///
/// ```json
/// { "operation": "get_bed", "params": "{\"bed_id\": \"7\"}" }
/// ```
fn params_as_text<'r>(run: &'r Run, cases: &Cases) -> impl Iterator<Item = PlannedCall<'r>> {
    const HINTS: Hints = Hints {
        expected: "a failure that names `params` and the expected type object",
        fix: "say that `params` is an object and not a string that contains one: models often send a string",
    };
    run.adapter.reads().filter_map(|operation| {
        let params = valid(run, operation, cases)?;
        let text = Value::Object(params.clone()).to_string();
        let sent = json!({ "operation": operation.name, "params": text });
        let call = PlannedCall::new(operation, params).sending(sent);
        Some(call.about("params").hinting(HINTS))
    })
}

fn states_params(it: &CallReply<'_>) -> bool {
    Refusal::of(it.reply).is_none_or(|refusal| {
        let states_type = || refusal.states_type("object", Value::is_object);
        refusal.mentions("params") && (refusal.rejects_text() || states_type())
    })
}
