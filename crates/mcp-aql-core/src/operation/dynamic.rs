//! Operations whose tables are only known at run time.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex};

use mcp_aql_protocol::{DangerLevel, SemanticCategory};
use serde_json::{Map, Value, json};

use super::{
    Call, Context, DataKey, ExampleSpec, Handler, OperationSpec, Outcome, ParameterEntry, Run,
};
use crate::error::OperationError;
use crate::schema::keywords;
use crate::schema::spec::{DangerSpec, DefaultSpec, ParameterSpec, ReturnsSpec};
use crate::util::BoxFuture;
use crate::util::lock;

/// An operation only known at run time. It can come from a file, from an API description, or from another server.
/// Register it with [`AdapterBuilder::dynamic_operation`](crate::AdapterBuilder::dynamic_operation).
///
/// The operation is validated, introspected, documented and gated like one with `#[operation]`. JSON schemas describe
/// its parameters and its result. An object schema with `properties` accepts no further members unless
/// `additionalProperties` allows them. Every keyword that restricts parameters is enforced: `build()` reports those that
/// cannot be checked, such as `not` and `if`. The result becomes `data` itself.
///
/// The table is kept until the process ends. Equal registrations share one table.
///
/// ```
/// use mcp_aql::SemanticCategory;
/// use mcp_aql::prelude::*;
/// use mcp_aql::table::{DynamicOperation, DynamicParameter};
/// use serde_json::{Map, Value, json};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> mcp_aql::Result<()> {
/// let get_issue = DynamicOperation::new(
///     "get_issue",
///     SemanticCategory::Read,
///     "Get an issue.",
///     |params: Map<String, Value>, _context| async move {
///         Ok(json!({ "number": params["number"], "title": "Ship it" }))
///     },
/// )
/// .parameter(DynamicParameter::required(
///     "number",
///     "The issue's number.",
///     json!({ "type": "integer", "minimum": 1 }),
/// ));
/// let adapter = Adapter::builder("issues").dynamic_operation(get_issue).build()?;
/// let issue = adapter.call("get_issue", json!({ "number": 7 })).await;
/// assert_eq!(issue.data()["title"], "Ship it");
/// let refused = adapter.call("get_issue", json!({ "number": 0 })).await;
/// assert!(refused.error().is_some());
/// # Ok(()) }
/// ```
#[must_use = "pass the operation to `dynamic_operation` to add it to an adapter"]
pub struct DynamicOperation {
    name: String,
    category: SemanticCategory,
    description: String,
    endpoint: Option<String>,
    rationale: Option<String>,
    parameters: Vec<DynamicParameter>,
    returns: Value,
    examples: Vec<(String, Value)>,
    danger: Option<DangerLevel>,
    reasons: Vec<String>,
    confirmation_message: Option<String>,
    function: Box<DynamicFunction>,
}

/// The function of an operation. It receives the parameters of a call.
type DynamicFunction = dyn Fn(Map<String, Value>, Context) -> BoxFuture<'static, Result<Value, OperationError>>
    + Send
    + Sync;

/// A parameter of a [`DynamicOperation`].
#[derive(Debug, Clone)]
#[must_use = "pass the parameter to `parameter` to add it to an operation"]
pub struct DynamicParameter {
    name: String,
    description: String,
    schema: Value,
    required: bool,
    default: Option<Value>,
    sensitive: bool,
}

impl DynamicParameter {
    /// Creates a required parameter. `schema` is the JSON schema of its values.
    pub fn required(
        name: impl Into<String>,
        description: impl Into<String>,
        schema: Value,
    ) -> Self {
        let (name, description) = (name.into(), description.into());
        Self { name, description, schema, required: true, default: None, sensitive: false }
    }

    /// Creates an optional parameter. `schema` is the JSON schema of its values.
    pub fn optional(
        name: impl Into<String>,
        description: impl Into<String>,
        schema: Value,
    ) -> Self {
        Self { required: false, ..Self::required(name, description, schema) }
    }

    /// Sets the value used if a call omits the parameter (REQ-RQ-09). Also makes the parameter optional.
    pub fn default(self, value: Value) -> Self {
        Self { default: Some(value), required: false, ..self }
    }

    /// Marks the value as a secret. It is masked in logs and not repeated in replies.
    pub fn sensitive(self) -> Self {
        Self { sensitive: true, ..self }
    }
}

impl DynamicOperation {
    /// Creates an operation. Its name must be in snake case and begin with a verb.
    ///
    /// The function is only called for valid calls. It receives the parameters by name, without the omitted ones.
    pub fn new<F, R>(
        name: impl Into<String>,
        category: SemanticCategory,
        description: impl Into<String>,
        function: F,
    ) -> Self
    where
        F: Fn(Map<String, Value>, Context) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, OperationError>> + Send + 'static,
    {
        Self {
            name: name.into(),
            category,
            description: description.into(),
            endpoint: None,
            rationale: None,
            parameters: Vec::new(),
            returns: Value::Bool(true),
            examples: Vec::new(),
            danger: None,
            reasons: Vec::new(),
            confirmation_message: None,
            function: Box::new(move |params, context| Box::pin(function(params, context))),
        }
    }

    /// Adds a parameter.
    ///
    /// An UPDATE operation needs the required parameter `input`, an object with the fields to change (REQ-UPD-01).
    /// Your function merges them into the stored resource.
    pub fn parameter(mut self, parameter: DynamicParameter) -> Self {
        self.parameters.push(parameter);
        self
    }

    /// Sets the JSON schema of the result for introspection. By default, any result is allowed.
    pub fn returns(mut self, schema: Value) -> Self {
        self.returns = schema;
        self
    }

    /// Sets the endpoint family for profiles other than CRUDE.
    pub fn endpoint(mut self, family: impl Into<String>) -> Self {
        self.endpoint = Some(family.into());
        self
    }

    /// Sets the reason why the verb of the name suggests another category (REQ-CLS-04).
    pub fn rationale(mut self, rationale: impl Into<String>) -> Self {
        self.rationale = Some(rationale.into());
        self
    }

    /// Adds an example call. `params` must be an object.
    pub fn example(mut self, description: impl Into<String>, params: Value) -> Self {
        self.examples.push((description.into(), params));
        self
    }

    /// Sets the danger level. By default, it follows from the category and the name.
    pub fn danger(mut self, level: DangerLevel) -> Self {
        self.danger = Some(level);
        self
    }

    /// Adds a reason for the danger level. Write one sentence; the user sees it before a call is confirmed.
    pub fn danger_reason(mut self, reason: impl Into<String>) -> Self {
        self.reasons.push(reason.into());
        self
    }

    /// Sets the question shown before a call is confirmed. `{parameter}` is replaced by the parameter's value.
    pub fn confirmation_message(mut self, message: impl Into<String>) -> Self {
        self.confirmation_message = Some(message.into());
        self
    }

    /// Returns the table and the function. Adds problems with the schemas to `problems`.
    pub(crate) fn into_parts(self, problems: &mut Vec<String>) -> (OperationSpec, Handler) {
        for DynamicParameter { name, schema, .. } in &self.parameters {
            let found = keywords::problems(schema).into_iter();
            problems.extend(found.map(|problem| {
                format!("operation `{}`: the schema of `{name}`: {problem}", self.name)
            }));
        }
        if !self.returns.is_object() && !self.returns.is_boolean() {
            problems.push(format!(
                "operation `{}`: the schema of the result must be an object, `true` or `false`",
                self.name
            ));
        }
        (table(&self), Handler::Function(Arc::new(DynamicRun(self.function))))
    }
}

impl std::fmt::Debug for DynamicOperation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("DynamicOperation");
        shown.field("name", &self.name).field("category", &self.category).finish_non_exhaustive()
    }
}

/// Passes the parameters of a call to the function.
struct DynamicRun(Box<DynamicFunction>);

impl Run for DynamicRun {
    fn run(&self, mut call: Call) -> BoxFuture<'_, Outcome> {
        Box::pin(async move {
            let sent = call.arguments.by_ref();
            let params = sent.filter_map(|it| Some((it.name.to_owned(), it.value?))).collect();
            let data = (self.0)(params, call.context()).await?;
            call.finish(|writer| writer.write(&data))
        })
    }
}

/// The tables of all dynamic operations of the process, by their descriptions as JSON.
///
/// Tables are `'static`, so that calls can use names without reference counting. A table therefore cannot be freed.
/// An adapter built repeatedly, for example once for each test, reuses the same tables instead of leaking new ones.
static TABLES: Mutex<BTreeMap<String, OperationSpec>> = Mutex::new(BTreeMap::new());

/// Returns the table of an operation. It is created on the first registration.
fn table(operation: &DynamicOperation) -> OperationSpec {
    let mut tables = lock(&TABLES);
    let known = tables.entry(operation.key()).or_insert_with(|| operation.make_table());
    *known
}

fn text(text: &str) -> &'static str {
    Box::leak(Box::from(text))
}

impl DynamicOperation {
    /// Returns a key composed of everything that the table depends on.
    fn key(&self) -> String {
        let parameters = self.parameters.iter().map(|it| {
            json!([it.name, it.description, it.schema, it.required, it.default, it.sensitive])
        });
        json!([
            self.name,
            self.category.as_str(),
            self.description,
            self.endpoint,
            self.rationale,
            parameters.collect::<Vec<_>>(),
            self.returns,
            self.examples,
            self.danger.map(DangerLevel::as_str),
            self.reasons,
            self.confirmation_message,
        ])
        .to_string()
    }

    fn make_table(&self) -> OperationSpec {
        let parameters = self.parameters.iter().map(|parameter| {
            let schema: &'static Value = Box::leak(Box::new(parameter.schema.clone()));
            let (name, description) = (text(&parameter.name), text(&parameter.description));
            let mut spec = ParameterSpec::required::<Value>(name, description).json_schema(schema);
            spec.required = parameter.required;
            spec.sensitive = parameter.sensitive;
            let default = parameter.default.as_ref().map(Value::to_string);
            spec.default = default.map(|default| DefaultSpec::Json(text(&default)));
            ParameterEntry::One(spec)
        });
        let examples = self.examples.iter().map(|(description, params)| ExampleSpec {
            description: text(description),
            params: text(&params.to_string()),
        });
        let reasons = self.reasons.iter().map(|reason| text(reason));
        let mut danger = DangerSpec::UNDECLARED.reasons(Vec::leak(reasons.collect()));
        danger.level = self.danger;
        danger.confirmation_message = self.confirmation_message.as_deref().map(text);
        let returns = ReturnsSpec::of_json_schema(Box::leak(Box::new(self.returns.clone())));
        let mut spec = OperationSpec::new(text(&self.name), self.category, text(&self.description))
            .parameters(Vec::leak(parameters.collect()))
            .examples(Vec::leak(examples.collect()))
            .returns(returns)
            .data_key(DataKey::Bare)
            .danger(danger);
        spec.origin = "DynamicOperation";
        spec.endpoint = self.endpoint.as_deref().map(text);
        spec.rationale = self.rationale.as_deref().map(text);
        spec
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(description: &str) -> DynamicOperation {
        DynamicOperation::new("get_bed", SemanticCategory::Read, description, |_, _| async {
            Ok(Value::Null)
        })
    }

    #[test]
    fn equal_operations_share_a_table() {
        let description = |text: &str| table(&operation(text)).description.as_ptr();
        assert_eq!(description("Get a bed."), description("Get a bed."));
        assert_ne!(description("Get a bed."), description("Get a garden bed."));
    }

    #[test]
    fn a_schema_of_another_type_is_a_problem() {
        let mut problems = Vec::new();
        operation("Get a bed.").returns(json!("text")).into_parts(&mut problems);
        assert_eq!(problems.len(), 1);
        assert!(problems[0].contains("get_bed"), "{problems:?}");
    }
}
