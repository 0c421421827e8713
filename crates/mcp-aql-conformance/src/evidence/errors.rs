//! Evidence about error messages and violated constraints.

use serde_json::{Map, Value, json};

use super::Collector;
use super::parameters::Unknown;
use crate::call::Exchange;
use crate::cases::Cases;
use crate::category::Category;
use crate::nouns::is_identifier;
use crate::run::arguments;
use crate::shape::{Fault, Shape};
use crate::values;

fn case(name: String, must_mention: &[&str], reply: &Exchange) -> Value {
    json!({ "name": name, "must_mention": must_mention, "response": reply.received() })
}

impl Collector<'_> {
    /// Collects failures of each kind for every suitable operation.
    pub(super) async fn error_tests(&mut self, unknown: &[Unknown], missing: &Value) -> Value {
        let run = self.run;
        let cases = Cases::default();
        let mut found = Vec::new();
        let absent = run.absent_operation();
        let asked = arguments(&absent, Map::new());
        if let Some(reply) = run.refused(&run.adapter.introspect, asked, &cases).await {
            found.push(case("unknown operation".to_owned(), &[&absent], &reply));
        }
        for item in missing.as_array().into_iter().flatten() {
            let text = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default();
            let (operation, parameter) = (text("operation"), text("parameter"));
            found.push(json!({
                "name": format!("missing parameter: {operation}.{parameter}"),
                "must_mention": [parameter],
                "response": item.get("response"),
            }));
        }
        for Unknown { operation, parameter, reply } in unknown {
            let name = format!("unknown parameter: {operation}.{parameter}");
            found.push(case(name, &[parameter], reply));
        }
        for operation in run.adapter.operations.iter().filter(|operation| operation.is_read()) {
            for parameter in &operation.parameters {
                let wrong = Shape::of(&run.adapter, parameter).wrong();
                let wrong = wrong.into_iter().find(|wrong| wrong.fault == Fault::Type);
                let (Some(wrong), Ok(mut params)) = (wrong, run.valid(operation)) else { continue };
                params.insert(parameter.name.clone(), wrong.value);
                let Some(reply) = run.call(operation, params, &cases).await else { continue };
                let name = format!("wrong type: {}.{}", operation.name, parameter.name);
                found.push(case(name, &[&parameter.name], &reply));
            }
        }
        self.elsewhere(&mut found, &cases).await;
        self.not_found(&mut found, &cases).await;
        self.list("error_tests", found, &cases, "no operation could be called")
    }

    /// Calls each operation through the tool of another family. The adapter must reject the call.
    async fn elsewhere(&self, found: &mut Vec<Value>, cases: &Cases) {
        let run = self.run;
        for operation in &run.adapter.operations {
            let Some(other) = run.adapter.endpoints.iter().find(|tool| tool.name != operation.tool)
            else {
                continue;
            };
            let asked = arguments(&operation.name, Map::new());
            let Some(reply) = run.refused(&other.name, asked, cases).await else { continue };
            let name = format!("wrong endpoint: {} through {}", operation.name, other.name);
            found.push(case(name, &[&operation.tool], &reply));
        }
    }

    /// Calls READ operations with identifiers of missing items.
    async fn not_found(&self, found: &mut Vec<Value>, cases: &Cases) {
        let run = self.run;
        for operation in run.adapter.reads() {
            let mut required = operation.required();
            let (Some(only), None) = (required.next(), required.next()) else { continue };
            if !is_identifier(&only.name) {
                continue;
            }
            let Some(nobody) = values::missing_id(run, operation, only) else { continue };
            let said = nobody.as_str().map_or_else(|| nobody.to_string(), str::to_owned);
            let params = Map::from_iter([(only.name.clone(), nobody)]);
            let Some(reply) = run.call(operation, params, cases).await else { continue };
            found.push(case(format!("not found: {}", operation.name), &[&said], &reply));
        }
    }

    /// Collects failures caused by values outside the documented constraints, in addition to the rejected writes in
    /// `found`.
    pub(super) async fn constraint_tests(&mut self, mut found: Vec<Value>) -> Value {
        let run = self.run;
        let cases = Cases::default();
        // DELETE and EXECUTE operations are left out: a wrongly accepted value would have an effect.
        let tried = run.adapter.operations.iter().filter(|operation| {
            let is_write = matches!(operation.category, Some(Category::Create | Category::Update));
            (operation.is_read() || is_write) && run.forbids(operation).is_none()
        });
        for operation in tried {
            for parameter in &operation.parameters {
                let wrong = Shape::of(&run.adapter, parameter).wrong().into_iter();
                let wrong = wrong.filter(|wrong| {
                    !matches!(wrong.fault, Fault::Type | Fault::Item | Fault::Member)
                });
                for wrong in wrong {
                    let mut params = self.harmless(operation);
                    params.insert(parameter.name.clone(), wrong.value);
                    let Some(reply) = run.refused_call(operation, params, &cases).await else {
                        continue;
                    };
                    found.push(json!({
                        "name": format!("{}.{}: {}", operation.name, parameter.name, word_of(wrong.fault)),
                        "documented": true,
                        "response": reply.received(),
                    }));
                }
            }
        }
        self.list("constraint_tests", found, &cases, "introspection documents no constraint")
    }
}

/// Returns the name of the constraint in introspection.
const fn word_of(fault: Fault) -> &'static str {
    match fault {
        Fault::Type => "type",
        Fault::Word => "enum",
        Fault::Below => "minimum",
        Fault::Above => "maximum",
        Fault::Short => "minLength",
        Fault::Long => "maxLength",
        Fault::Pattern => "pattern",
        Fault::Format => "format",
        Fault::Item => "items",
        Fault::Member => "fields",
    }
}
