//! Evidence about accepted, required and rejected parameters.

use serde_json::{Map, Value, json};

use super::Collector;
use super::items::CreatedItems;
use crate::adapter::STANDARD_PARAMETERS;
use crate::adapter::{Operation, Parameter};
use crate::call::Exchange;
use crate::cases::Cases;
use crate::shape::{Fault, Shape};
use crate::values;

/// The reply to a call with an unknown parameter.
pub(super) struct Unknown {
    pub(super) operation: String,
    pub(super) parameter: String,
    pub(super) reply: Exchange,
}

impl Unknown {
    /// Returns the case in the format of the bundle.
    pub(super) fn case(&self) -> Value {
        json!({
            "operation": self.operation, "parameter": self.parameter, "response": self.reply.received(),
        })
    }

    /// Returns `true` if `reply` rejects `parameter` in the same way as this reply rejects the unknown one.
    fn refuses(&self, reply: &Exchange, parameter: &str) -> bool {
        match (self.reply.failure(), reply.failure()) {
            (Some(own), Some(failure)) => {
                failure.code == own.code && names(failure.message, parameter)
            }
            // Lenient adapters ignore unknown parameters with a warning. Only a warning with the same code counts:
            // others may have another cause, such as a deprecated parameter.
            (None, None) => warnings(reply).any(|(code, message)| {
                warnings(&self.reply).any(|own| own.0 == code) && names(message, parameter)
            }),
            (None, Some(failure)) => {
                failure.code == "VALIDATION_UNKNOWN_PARAM" && names(failure.message, parameter)
            }
            (Some(_), None) => false,
        }
    }
}

/// Returns the codes and messages of a reply's warnings.
fn warnings(reply: &Exchange) -> impl Iterator<Item = (&str, &str)> {
    let warnings = reply.body().and_then(|body| body.get("warnings")?.as_array());
    warnings.into_iter().flatten().filter_map(|warning| {
        Some((warning.get("code")?.as_str()?, warning.get("message")?.as_str()?))
    })
}

/// Returns `true` if a string contains this name as a word.
fn names(text: &str, name: &str) -> bool {
    text.split(|each: char| !each.is_ascii_alphanumeric() && each != '_').any(|word| word == name)
}

fn with(mut params: Map<String, Value>, name: &str, value: Value) -> Map<String, Value> {
    params.insert(name.to_owned(), value);
    params
}

impl Collector<'_> {
    /// Returns parameters with which the operation changes nothing, so they are safe to send.
    ///
    /// A READ operation gets its required parameters. Other allowed operations get identifiers of missing items. All
    /// others get no parameters.
    pub(super) fn harmless(&self, operation: &Operation) -> Map<String, Value> {
        let params = match (operation.is_read(), self.run.forbids(operation)) {
            (_, Some(_)) => return Map::new(),
            (true, None) => {
                self.run.valid(operation).or_else(|_| self.run.with_missing_ids(operation))
            }
            (false, None) => self.run.with_missing_ids(operation),
        };
        params.unwrap_or_default()
    }

    /// Sends an unknown parameter to each operation.
    pub(super) async fn unknown_parameters(&mut self) -> Vec<Unknown> {
        let mut found = Vec::new();
        let cases = Cases::default();
        for operation in &self.run.adapter.operations {
            let parameter = self.run.absent_parameter(operation);
            // An operation without required parameters runs if it accepts the unknown name.
            let params = with(self.harmless(operation), &parameter, json!("x"));
            let is_whole = operation.required().all(|required| params.contains_key(&required.name));
            let reply = self.run.refused_call(operation, params, &cases).await;
            let Some(reply) = reply else { continue };
            let is_reported =
                reply.failure().is_some_and(|failure| names(failure.message, &parameter));
            // Only keep the reply if it is about the unknown name. If required parameters are missing, it may be about
            // those.
            if is_reported || is_whole {
                found.push(Unknown { operation: operation.name.clone(), parameter, reply });
            }
        }
        found
    }

    /// Omits each required parameter in turn. Sends the others if that is harmless.
    pub(super) async fn missing_required(&mut self) -> Value {
        let mut found = Vec::new();
        for operation in &self.run.adapter.operations {
            for parameter in operation.required() {
                let cases = Cases::default();
                let mut params = self.harmless(operation);
                params.remove(&parameter.name);
                let is_whole = operation
                    .required()
                    .all(|other| other.name == parameter.name || params.contains_key(&other.name));
                let reply = self.run.refused_call(operation, params, &cases).await;
                let reported = reply.as_ref().and_then(Exchange::failure);
                let reported =
                    reported.is_some_and(|failure| names(failure.message, &parameter.name));
                match reply {
                    // If other parameters are missing as well, the reply may be about them.
                    Some(reply) if reported || is_whole => found.push(json!({
                        "operation": operation.name, "parameter": parameter.name, "response": reply.received(),
                    })),
                    _ => {
                        if let Some(why) = self.run.forbids(operation) {
                            cases.skip(why);
                        }
                        let what = format!(
                            "`parameter_tests.missing_required` lacks `{}.{}`",
                            operation.name, parameter.name
                        );
                        self.gap(what, &cases, "no parameters to call it with are known");
                    }
                }
            }
        }
        let cases = Cases::default();
        let name = "parameter_tests.missing_required";
        self.list(name, found, &cases, "no operation has a required parameter")
    }

    /// Determines the parameters that each operation accepts.
    pub(super) async fn accepted_parameters(&mut self, unknown: &[Unknown]) -> Value {
        let mut accepted = Map::new();
        for operation in &self.run.adapter.operations {
            let refusal = unknown.iter().find(|unknown| unknown.operation == operation.name);
            let mut names = Vec::new();
            for parameter in &operation.parameters {
                let cases = Cases::default();
                match self.accepts(operation, parameter, refusal, &cases).await {
                    Some(true) => names.push(Value::from(parameter.name.as_str())),
                    Some(false) => {}
                    None => {
                        let what = format!(
                            "`accepted_parameters.{}` lacks `{}`",
                            operation.name, parameter.name
                        );
                        self.gap(what, &cases, "no value to try is known");
                    }
                }
            }
            if operation.is_read()
                && operation.name != "introspect"
                && let Some(refusal) = refusal
            {
                names.extend(self.undocumented(operation, refusal).await);
            }
            accepted.insert(operation.name.clone(), Value::Array(names));
        }
        Value::Object(accepted)
    }

    /// Returns `true` if the operation accepts a documented parameter, or `None` if that cannot be tested.
    async fn accepts(
        &self,
        operation: &Operation,
        parameter: &Parameter,
        refusal: Option<&Unknown>,
        cases: &Cases,
    ) -> Option<bool> {
        let run = self.run;
        let is_refused = |reply: &Exchange| match refusal {
            Some(refusal) => refusal.refuses(reply, &parameter.name),
            None => reply.code() == Some("VALIDATION_UNKNOWN_PARAM"),
        };
        let value = values::of(run, operation, parameter, 0)
            .or_else(|| values::missing_id(run, operation, parameter));
        if operation.is_read() {
            let params = with(self.harmless(operation), &parameter.name, value?);
            let reply = run.call(operation, params, cases).await?;
            return Some(!is_refused(&reply));
        }
        // An operation that changes data must not run, so the call omits a required parameter.
        let others = operation.required().any(|other| other.name != parameter.name);
        let params = if others && !parameter.required {
            with(Map::new(), &parameter.name, value?)
        } else if parameter.required {
            // If the tested parameter is the only required one, omit it. An operation that knows the parameter reports
            // its absence.
            let reply = run.refused_call(operation, Map::new(), cases).await?;
            let failure = reply.failure()?;
            if names(failure.message, &parameter.name)
                || failure.details.to_string().contains(&parameter.name)
            {
                return Some(true);
            }
            let wrong = self.wrong(parameter)?;
            with(Map::new(), &parameter.name, wrong)
        } else {
            // … or, for an operation without required parameters, has an invalid value.
            with(Map::new(), &parameter.name, self.wrong(parameter)?)
        };
        let reply = run.refused_call(operation, params, cases).await?;
        Some(!is_refused(&reply))
    }

    /// Returns a value of a wrong type for the parameter.
    fn wrong(&self, parameter: &Parameter) -> Option<Value> {
        let shape = Shape::of(&self.run.adapter, parameter);
        shape.wrong().into_iter().find(|wrong| wrong.fault == Fault::Type).map(|wrong| wrong.value)
    }

    /// Returns the parameters of the protocol that the operation accepts without documenting them.
    async fn undocumented(&self, operation: &Operation, refusal: &Unknown) -> Vec<Value> {
        let mut found = Vec::new();
        let cases = Cases::default();
        for name in STANDARD_PARAMETERS {
            if operation.parameter(name).is_some() {
                continue;
            }
            let value = match name {
                "first" | "last" | "limit" | "offset" => json!(1),
                "fields" => json!(["conformance_probe"]),
                "filter" | "sort" | "aggregate" => json!({}),
                "include_items" => json!(true),
                _ => json!("x"),
            };
            let params = with(self.harmless(operation), name, value);
            let Some(reply) = self.run.call(operation, params, &cases).await else { continue };
            let is_about_it = reply.failure().is_some_and(|failure| names(failure.message, name));
            if !refusal.refuses(&reply, name) && (reply.succeeded() || is_about_it) {
                found.push(Value::from(name));
            }
        }
        found
    }

    /// Collects the defaults visible in replies: defaults of created items, and the controls that READ operations
    /// report as applied.
    pub(super) async fn optional_defaults(&mut self, things: &CreatedItems) -> Value {
        let mut found = things.defaults.clone();
        let cases = Cases::default();
        for operation in self.run.adapter.reads() {
            let Ok(params) = self.run.valid(operation) else { continue };
            let with_default = operation.parameters.iter().filter(|parameter| {
                let default = parameter.member("default");
                default.is_some_and(|default| !default.is_object() && !default.is_array())
                    && !params.contains_key(&parameter.name)
            });
            let with_default: Vec<_> = with_default.collect();
            if with_default.is_empty() {
                continue;
            }
            let Some(reply) = self.run.call(operation, params, &cases).await else { continue };
            let response = reply.received();
            for parameter in with_default {
                if let Some(path) = path_to(&response, &parameter.name, "data") {
                    found.push(json!({
                        "operation": operation.name,
                        "parameter": parameter.name,
                        "expected_value_path": path,
                        "expected_value": parameter.member("default"),
                        "response": response,
                    }));
                }
            }
        }
        let reasons = if things.defaults.is_empty() { &things.made } else { &cases };
        self.list(
            "parameter_tests.optional_defaults",
            found,
            reasons,
            "no reply contains a parameter with a documented default",
        )
    }
}

/// Searches the objects below `path` for a member with this name and returns its path. Does not search lists.
fn path_to(reply: &Value, name: &str, path: &str) -> Option<String> {
    let object = path.split('.').try_fold(reply, |value, part| value.get(part))?.as_object()?;
    if object.get(name).is_some_and(|value| !value.is_object() && !value.is_array()) {
        return Some(format!("{path}.{name}"));
    }
    object
        .iter()
        .filter(|(key, value)| value.is_object() && !key.contains('.'))
        .find_map(|(key, _)| path_to(reply, name, &format!("{path}.{key}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Reply;

    fn reply(body: Value) -> Exchange {
        let reply = Reply::Result { raw: Value::Null, body: Some(body) };
        Exchange { tool: "mcp_aql".to_owned(), arguments: Value::Null, reply }
    }

    fn failure(code: &str, message: &str) -> Exchange {
        reply(json!({ "success": false, "error": { "code": code, "message": message } }))
    }

    fn warned(code: &str, message: &str) -> Exchange {
        let warnings = json!([{ "code": code, "message": message }]);
        reply(json!({ "success": true, "data": {}, "warnings": warnings }))
    }

    #[test]
    fn a_name_is_not_accepted_where_it_is_treated_as_an_unknown_one_is() {
        // REQ-CNF-08
        let unknown = |reply| {
            let (operation, parameter) = ("list_beds".to_owned(), "probe".to_owned());
            Unknown { operation, parameter, reply }
        };
        let strict = unknown(failure("BAD_NAME", "There is no 'probe'"));
        assert!(strict.refuses(&failure("BAD_NAME", "There is no 'side'"), "side"));
        assert!(!strict.refuses(&failure("BAD_NAME", "There is no 'sides'"), "side"));
        assert!(!strict.refuses(&failure("BAD_VALUE", "'side' is invalid"), "side"));
        assert!(!strict.refuses(&warned("DEPRECATED", "'side' goes away"), "side"));
        let lenient = unknown(warned("IGNORED", "'probe' is ignored"));
        assert!(lenient.refuses(&warned("IGNORED", "'side' is ignored"), "side"));
        assert!(!lenient.refuses(&warned("DEPRECATED", "'side' goes away"), "side"));
        assert!(lenient.refuses(&failure("VALIDATION_UNKNOWN_PARAM", "no 'side'"), "side"));
    }

    #[test]
    fn finds_values_in_objects_but_not_in_lists() {
        let reply = json!({ "data": { "items": [{ "first": 1 }], "applied": { "first": 20 } } });
        assert_eq!(path_to(&reply, "first", "data").as_deref(), Some("data.applied.first"));
        assert_eq!(path_to(&reply, "items", "data"), None);
    }
}
