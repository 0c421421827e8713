//! Arguments that consist of several parameters and are parsed together.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use mcp_aql_core::internal::error::LateWarning;
use mcp_aql_core::internal::operation::{BriefParameters, NestedName};
use mcp_aql_core::internal::paging::CursorKey;
use mcp_aql_core::internal::schema::shape;
use mcp_aql_core::{OperationError, Warning};
use serde_json::Value;

use super::capabilities::Capabilities;
use super::odd_values::OddValues;
use super::options::QueryOptions;

/// An argument such as `CollectionQuery<T>` in an operation's table.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct QueryEntry {
    pub(crate) options: QueryOptions,
    pub(crate) table: fn(&QueryOptions) -> QueryTable,
    pub(crate) read: fn(&QueryOptions, &mut QueryParams<'_>) -> Result<Prepared, OperationError>,
}

/// A parsed query with its type erased.
pub(crate) type Prepared = Box<dyn Any + Send>;

/// An argument type with several parameters. It is implemented by
/// [`CollectionQuery`](super::CollectionQuery), [`Fields`](super::Fields) and
/// [`RelationshipQuery`](super::RelationshipQuery).
pub trait QueryArgument: Send + Sized + 'static {
    /// Returns the parameters and their description for introspection.
    fn table(options: &QueryOptions) -> QueryTable;

    /// Parses the parameters of a call. Their names and JSON types are already validated.
    ///
    /// # Errors
    ///
    /// Returns one error that lists all mistakes in the parameters.
    fn read(options: &QueryOptions, given: &mut QueryParams<'_>) -> Result<Self, OperationError>;
}

/// The values of an argument's parameters in a call. `null` counts as missing.
#[doc(hidden)]
#[derive(Debug)]
pub struct QueryParams<'a> {
    pub(crate) values: Vec<(&'static str, Value)>,
    pub(crate) key: &'a CursorKey,
    /// The capabilities of the backend.
    pub(crate) capabilities: &'a Capabilities,
    /// The warnings for the reply.
    pub(crate) warnings: Vec<Warning>,
    /// The warnings that depend on the rows of the reply.
    pub(crate) late_warnings: Vec<Arc<dyn LateWarning>>,
}

impl QueryParams<'_> {
    /// Registers a collector for stored values whose type differs from their field's. They are reported in a
    /// warning of the reply.
    pub(crate) fn odd_values(&mut self) -> Arc<OddValues> {
        let odd = Arc::new(OddValues::default());
        self.late_warnings.push(Arc::clone(&odd) as _);
        odd
    }

    /// Removes and returns the value of a parameter.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        let place = self.values.iter().position(|(known, _)| *known == name)?;
        Some(self.values.swap_remove(place).1)
    }
}

/// The parameters of an argument and their description for introspection.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct QueryTable {
    pub(crate) parameters: Vec<QueryParameter>,
    /// Types without a Rust type, to which the parameters refer.
    pub(crate) types: Vec<(String, shape::Members)>,
    /// Members of the operation's details, such as `aggregation_support`.
    pub(crate) details: BTreeMap<&'static str, shape::Members>,
    pub(crate) computed: Vec<shape::Members>,
    /// A sentence about unsupported controls for the operation's description.
    pub(crate) note: Option<String>,
    /// The parameters of an example call with several controls, as JSON.
    pub(crate) example: Option<String>,
    /// Names that callers send as parameters although they belong inside one.
    pub(crate) nested_names: Vec<NestedName>,
    /// Capabilities to list in `_protocol`.
    pub(crate) capabilities: Vec<&'static str>,
    /// The short form of the parameters.
    pub(crate) brief: BriefParameters,
    /// Problems to report when the adapter is built.
    pub(crate) problems: Vec<String>,
}

/// One parameter of an argument.
#[derive(Debug)]
pub(crate) struct QueryParameter {
    pub(crate) name: &'static str,
    pub(crate) required: bool,
    pub(crate) description: String,
    /// The shape of the value.
    pub(crate) shape: shape::Shape,
    /// The name of the type, if the shape does not determine it.
    pub(crate) type_name: Option<String>,
    pub(crate) default: Option<Value>,
}

impl QueryEntry {
    /// Creates an argument of type `Q` with these options.
    pub const fn of<Q: QueryArgument>(options: QueryOptions) -> Self {
        Self { options, table: Q::table, read: read::<Q> }
    }
}

fn read<Q: QueryArgument>(
    options: &QueryOptions,
    given: &mut QueryParams<'_>,
) -> Result<Prepared, OperationError> {
    Q::read(options, given).map(|query| Box::new(query) as Prepared)
}

impl fmt::Debug for QueryEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("QueryEntry").field("options", &self.options).finish_non_exhaustive()
    }
}
