//! Arguments that stand for several parameters, which are read and understood together.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use mcp_aql_protocol::ErrorCode;
use serde_json::{Map, Value};

use super::capabilities::Capabilities;
use super::options::QueryOptions;
use super::read::Faults;
use super::select::OpenPaths;
use crate::error::OperationError;
use crate::paging::CursorKey;
use crate::shape;
use crate::warning::Warning;

/// An argument such as `CollectionQuery<T>`, as an operation's table holds it.
#[derive(Clone, Copy)]
pub struct QueryEntry {
    pub(crate) options: QueryOptions,
    pub(crate) table: fn(&QueryOptions) -> QueryTable,
    pub(crate) read: fn(&QueryOptions, &mut Given<'_>) -> Result<Prepared, OperationError>,
}

/// A query that was understood, until the operation takes it.
pub(crate) type Prepared = Box<dyn Any + Send>;

/// A type that reads several parameters of a call: [`CollectionQuery`](super::CollectionQuery),
/// [`Fields`](super::Fields), [`RelationshipQuery`](super::RelationshipQuery).
pub trait QueryArgument: Send + Sized + 'static {
    /// The parameters, and what introspection tells beside them.
    fn table(options: &QueryOptions) -> QueryTable;

    /// Reads the parameters of a call, whose names and JSON types are checked.
    ///
    /// # Errors
    /// What is wrong with them, all of it at once.
    fn read(options: &QueryOptions, given: &mut Given<'_>) -> Result<Self, OperationError>;
}

/// What a call gives of an argument's parameters. `null` is as good as nothing.
#[derive(Debug)]
pub struct Given<'a> {
    pub(crate) values: Vec<(&'static str, Value)>,
    pub(crate) key: &'a CursorKey,
    /// What the backend can do.
    pub(crate) capabilities: &'a Capabilities,
    /// What the caller should be told beside the reply.
    pub(crate) warnings: Vec<Warning>,
    /// The paths that the reply may lack.
    pub(crate) open_paths: Vec<Arc<OpenPaths>>,
}

impl Given<'_> {
    /// Takes the value of a parameter.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        let place = self.values.iter().position(|(known, _)| *known == name)?;
        Some(self.values.swap_remove(place).1)
    }
}

/// The parameters of an argument, and what introspection tells beside them.
#[derive(Debug, Default)]
pub struct QueryTable {
    pub(crate) parameters: Vec<QueryParameter>,
    /// Types that the parameters name and no Rust type stands for.
    pub(crate) types: Vec<(String, shape::Members)>,
    /// Members of the operation's details, such as `aggregation_support`.
    pub(crate) details: BTreeMap<&'static str, shape::Members>,
    pub(crate) computed: Vec<shape::Members>,
    /// A sentence for the operation's description: what it does without.
    pub(crate) note: Option<String>,
    /// A call that shows the controls together, as JSON text.
    pub(crate) example: Option<String>,
    /// Capabilities of `_protocol` that it brings.
    pub(crate) capabilities: Vec<&'static str>,
    /// What cannot work.
    pub(crate) problems: Vec<String>,
}

/// One parameter of an argument.
#[derive(Debug)]
pub(crate) struct QueryParameter {
    pub(crate) name: &'static str,
    pub(crate) required: bool,
    pub(crate) description: String,
    /// The form of the value.
    pub(crate) shape: shape::Shape,
    /// The name of its type, where the form does not tell.
    pub(crate) type_name: Option<String>,
    pub(crate) default: Option<Value>,
}

impl QueryEntry {
    /// The argument type `Q`, taken as `options` say.
    pub const fn of<Q: QueryArgument>(options: QueryOptions) -> Self {
        Self { options, table: Q::table, read: read::<Q> }
    }
}

fn read<Q: QueryArgument>(
    options: &QueryOptions,
    given: &mut Given<'_>,
) -> Result<Prepared, OperationError> {
    Q::read(options, given).map(|query| Box::new(query) as Prepared)
}

/// Reads parameters that no operation's table has checked: names and JSON types are looked at here.
pub(crate) fn read_map<Q: QueryArgument>(
    options: &QueryOptions,
    params: Map<String, Value>,
    key: &CursorKey,
) -> Result<Q, OperationError> {
    let table = Q::table(options);
    let capabilities = options.backend();
    let mut given = Given {
        values: Vec::new(),
        key,
        capabilities: &capabilities,
        warnings: Vec::new(),
        open_paths: Vec::new(),
    };
    let mut faults = Faults::default();
    let mut shape_faults = shape::Faults::new();
    let shapes = shape::Shapes::new();
    for (name, value) in params {
        let Some(parameter) = table.parameters.iter().find(|known| known.name == name) else {
            let valid: Vec<_> = table.parameters.iter().map(|known| known.name).collect();
            faults.unknown("params", "parameter", &name, &valid);
            continue;
        };
        if !value.is_null() {
            let path = shape::Path::Root(parameter.name);
            parameter.shape.check(&value, path, &shapes, &mut shape_faults);
            given.values.push((parameter.name, value));
        }
    }
    for fault in shape_faults.into_vec() {
        let expected = table.parameters.iter().find(|known| known.name == fault.path);
        let expected = expected.map(|known| shape::type_name(&known.shape, &shapes));
        faults.refuse(&fault.path, "has another form", expected.unwrap_or_default());
    }
    for parameter in table.parameters.iter().filter(|parameter| parameter.required) {
        if !given.values.iter().any(|(name, _)| *name == parameter.name) {
            return Err(OperationError::new(
                ErrorCode::ValidationMissingParam,
                format!("Missing required parameter '{}'", parameter.name),
            ));
        }
    }
    match faults.into_error() {
        Some(error) => Err(error),
        None => Q::read(options, &mut given),
    }
}

impl fmt::Debug for QueryEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("QueryEntry").field("options", &self.options).finish_non_exhaustive()
    }
}
