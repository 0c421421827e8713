//! Which parameters are accepted, which have to be there, and what is said of others.

use serde_json::{Map, Value, json};

use super::Collector;
use super::things::Things;
use crate::call::Exchange;
use crate::cases::Cases;
use crate::learn::{Operation, Parameter};
use crate::run::arguments;
use crate::values::{self, Fault, Shape};

/// Parameters that the protocol itself names: those that are accepted have to be documented.
const STANDARD: [&str; 12] = [
    "fields",
    "filter",
    "sort",
    "query",
    "first",
    "after",
    "last",
    "before",
    "limit",
    "offset",
    "aggregate",
    "include_items",
];

/// A reply to a parameter that the operation does not have.
pub(super) struct Unknown {
    pub(super) operation: String,
    pub(super) parameter: String,
    pub(super) reply: Exchange,
}

impl Unknown {
    /// As the bundle has it.
    pub(super) fn case(&self) -> Value {
        json!({
            "operation": self.operation, "parameter": self.parameter, "response": self.reply.received(),
        })
    }

    /// Whether another reply refuses that parameter as this one did: as a name that is not known.
    fn refuses(&self, reply: &Exchange, parameter: &str) -> bool {
        let Some(failure) = reply.failure() else {
            // Tolerated and ignored, which a warning says.
            let warnings = reply.body().and_then(|body| body.get("warnings")?.as_array());
            return warnings.into_iter().flatten().any(|warning| mentions(warning, parameter));
        };
        let unknown = self.reply.failure().map_or("VALIDATION_UNKNOWN_PARAM", |own| own.code);
        failure.code == unknown && names(failure.message, parameter)
    }
}

fn mentions(warning: &Value, parameter: &str) -> bool {
    let message = warning.get("message").and_then(Value::as_str);
    message.is_some_and(|message| names(message, parameter))
}

/// Whether a text has this name as a word of its own.
fn names(text: &str, name: &str) -> bool {
    text.split(|each: char| !each.is_ascii_alphanumeric() && each != '_').any(|word| word == name)
}

fn with(mut params: Map<String, Value>, name: &str, value: Value) -> Map<String, Value> {
    params.insert(name.to_owned(), value);
    params
}

impl Collector<'_> {
    /// What an operation can be called with so that it changes nothing: for one that only reads, what it
    /// requires; for others, where they are allowed, the same with names that nobody has; else nothing.
    pub(super) fn harmless(&self, operation: &Operation) -> Map<String, Value> {
        let params = match (operation.is_read(), self.run.forbids(operation)) {
            (_, Some(_)) => return Map::new(),
            (true, None) => self.run.valid(operation).or_else(|_| self.run.of_nobody(operation)),
            (false, None) => self.run.of_nobody(operation),
        };
        params.unwrap_or_default()
    }

    /// A parameter that it does not have, for each operation.
    pub(super) async fn unknown_parameters(&mut self) -> Vec<Unknown> {
        let mut found = Vec::new();
        let cases = Cases::default();
        for operation in &self.run.adapter.operations {
            let parameter = self.run.absent_parameter(operation);
            // Where an operation requires nothing, this would run it if the name were let through.
            let params = with(self.harmless(operation), &parameter, json!("x"));
            let is_whole = operation.required().all(|required| params.contains_key(&required.name));
            let arguments = arguments(&operation.name, params);
            let reply = self.run.refused(&operation.tool, arguments, &cases).await;
            let Some(reply) = reply else { continue };
            let is_told = reply.failure().is_some_and(|failure| names(failure.message, &parameter));
            // Who was given too little may say that first.
            if is_told || is_whole {
                found.push(Unknown { operation: operation.name.clone(), parameter, reply });
            }
        }
        found
    }

    /// Each required parameter left out, with all others there as far as that is harmless.
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
                let arguments = arguments(&operation.name, params);
                let reply = self.run.refused(&operation.tool, arguments, &cases).await;
                let told = reply.as_ref().and_then(Exchange::failure);
                let told = told.is_some_and(|failure| names(failure.message, &parameter.name));
                match reply {
                    // Where others were missing too, a reply about those says nothing.
                    Some(reply) if told || is_whole => found.push(json!({
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
                        self.gap(what, &cases, "nothing is known to call it with");
                    }
                }
            }
        }
        let cases = Cases::default();
        let name = "parameter_tests.missing_required";
        self.list(name, found, &cases, "no operation has a required parameter")
    }

    /// What each operation accepts, by trying.
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
                        self.gap(what, &cases, "nothing is known to try it with");
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

    /// Whether a documented parameter is accepted. None when that cannot be tried.
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
            .or_else(|| values::nobody(run, operation, parameter));
        if operation.is_read() {
            let params = with(self.harmless(operation), &parameter.name, value?);
            let reply = run.call(operation, params, cases).await?;
            return Some(!is_refused(&reply));
        }
        // What changes something is not run for this: something that it needs is missing, …
        let others = operation.required().any(|other| other.name != parameter.name);
        let params = if others && !parameter.required {
            with(Map::new(), &parameter.name, value?)
        } else if parameter.required {
            // … namely this one: that it is missed shows that it is known, …
            let reply =
                run.refused(&operation.tool, arguments(&operation.name, Map::new()), cases).await?;
            let failure = reply.failure()?;
            if names(failure.message, &parameter.name)
                || failure.details.to_string().contains(&parameter.name)
            {
                return Some(true);
            }
            let wrong = self.wrong(parameter)?;
            with(Map::new(), &parameter.name, wrong)
        } else {
            // … or it needs nothing, and gets a value that is no good.
            with(Map::new(), &parameter.name, self.wrong(parameter)?)
        };
        let reply = run.refused(&operation.tool, arguments(&operation.name, params), cases).await?;
        Some(!is_refused(&reply))
    }

    /// A value of a type that the parameter does not take.
    fn wrong(&self, parameter: &Parameter) -> Option<Value> {
        let shape = Shape::of(&self.run.adapter, parameter);
        shape.wrong().into_iter().find(|wrong| wrong.fault == Fault::Type).map(|wrong| wrong.value)
    }

    /// Names of the protocol that are accepted without being documented.
    async fn undocumented(&self, operation: &Operation, refusal: &Unknown) -> Vec<Value> {
        let mut found = Vec::new();
        let cases = Cases::default();
        for name in STANDARD {
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

    /// Defaults that show in what comes back: of new things, and of what READ operations say they did.
    pub(super) async fn optional_defaults(&mut self, things: &Things) -> Value {
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
            "no reply shows a parameter that has a documented default",
        )
    }
}

/// Where an object below this path has a member of this name, lists left aside.
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
