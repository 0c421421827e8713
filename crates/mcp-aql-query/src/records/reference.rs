//! References from the records of one resource to the records of others.

use mcp_aql_core::OperationError;
use mcp_aql_core::internal::paging::CursorKey;
use serde_json::{Value, json};

use super::Record;
use crate::collection::CollectionQuery;
use crate::options::QueryOptions;
use crate::resource_spec::RelationshipType;
use crate::single::Fields;
use crate::value::{Scalar, ValueKind};

/// A field with the identifier of another record, or with a list of them. Declare it with
/// `#[resource(references = "customer")]`.
#[derive(Debug, Clone, Copy)]
pub struct Reference {
    /// Name of the field in JSON.
    pub field: &'static str,
    /// Kind of the relationship: the name of the field without `_id`.
    pub relationship: RelationshipType,
    /// The `element_type` of the other record: the singular of its resource.
    pub target: &'static str,
}

impl Reference {
    /// Creates the description of a field.
    pub const fn new(
        field: &'static str,
        relationship: RelationshipType,
        target: &'static str,
    ) -> Self {
        Self { field, relationship, target }
    }
}

/// Parses an identifier. Returns `None` if no identifier has this form.
pub(super) fn id_of<R: Record>(text: &str) -> Option<R::Id> {
    let number = || text.parse::<i64>().ok().map(Value::from);
    let read = |value| serde_json::from_value::<R::Id>(value).ok();
    // `007` and `7` are different names of elements.
    read(Value::from(text)).or_else(|| read(number()?)).filter(|id| id.to_string() == text)
}

/// Returns the operand to compare a field with an identifier.
pub(super) fn operand<R: Record>(field: &str, text: &str) -> Option<Scalar> {
    let schema = R::model().schema();
    match schema.field(schema.index_of(field)?)?.kind {
        ValueKind::Integer => text.parse().ok().map(Scalar::Int),
        _ => Some(Scalar::from(text.to_owned())),
    }
}

/// Returns the query for one record with selected fields.
pub(crate) fn query_of<R: Record>(
    id: &R::Id,
    fields: &Fields<R>,
) -> Result<CollectionQuery<R>, OperationError> {
    let place = R::model().schema().index_of(R::ID.name);
    let place = place.ok_or_else(|| OperationError::internal("there is no identifier"))?;
    Ok(fields.query_of(place, operand::<R>(R::ID.name, &id.to_string())))
}

/// Maximum number of records returned by one query of a store.
const RECORDS_PER_QUERY: usize = 1_000;

/// Returns a query for these fields of records.
pub(super) fn query_for<R: Record>(
    fields: &[&str],
    after: Option<String>,
    key: &CursorKey,
) -> Result<CollectionQuery<R>, OperationError> {
    const OPTIONS: QueryOptions =
        QueryOptions::new().page_size(RECORDS_PER_QUERY).max_page_size(RECORDS_PER_QUERY);
    let Value::Object(mut params) = json!({ "fields": fields, "first": RECORDS_PER_QUERY }) else {
        return Err(OperationError::internal("a query is an object"));
    };
    if let Some(after) = after {
        params.insert("after".to_owned(), after.into());
    }
    CollectionQuery::parse(&OPTIONS, params, key)
}

/// Returns the identifiers in the value of a field, or `None` if the value has another form than `null`, an identifier
/// or a list of them. An object, for example, could refer to a record that nothing checks.
pub(super) fn ids_in(value: &Value) -> Option<Vec<String>> {
    let entries = match value {
        Value::Array(entries) => entries,
        one => std::slice::from_ref(one),
    };
    let ids = entries.iter().filter(|entry| !entry.is_null()).map(|entry| match entry {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) if !number.is_f64() => Some(number.to_string()),
        _ => None,
    });
    ids.collect()
}

/// Returns the problems of the fields that are marked `references`: their JSON forms must be identifiers.
pub(super) fn reference_problems<R: Record>() -> impl Iterator<Item = String> {
    let schema = R::model().schema();
    R::REFERENCES.iter().filter_map(|reference| {
        let field = schema.field(schema.index_of(reference.field)?)?;
        let is_other = matches!(field.kind, ValueKind::Boolean | ValueKind::Number | ValueKind::Json);
        is_other.then(|| {
            format!(
                "resource `{}`: `{}` is marked `references`, but its JSON form is not a string, a whole number or \
                 a list of them: use such a type, or leave `references` out",
                schema.name(),
                reference.field
            )
        })
    })
}
