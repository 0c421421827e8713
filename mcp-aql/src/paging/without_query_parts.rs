//! Stands in for the parts that a query adds to a page if the feature `query` is off.

use std::convert::Infallible;
use std::marker::PhantomData;

use schemars::{Schema, json_schema};
use serde::ser::{Serialize, Serializer};

use super::page_fit::Rows;
use super::page_info::PageInfo;

/// The parts that no page has.
#[derive(Debug, Clone)]
pub(crate) struct QueryParts<T>(Infallible, PhantomData<T>);

impl<T> QueryParts<T> {
    /// Does nothing, because there is no such value.
    pub(super) fn serialize<S: Serializer>(
        &self,
        _: &[T],
        _: Rows<'_>,
        _: &PageInfo,
        _: S,
    ) -> Result<S::Ok, S::Error> {
        match self.0 {}
    }
}

/// Returns a row of a page as it is serialized.
pub(super) fn shown<'a, T: Serialize>(row: &'a T, _: Option<&'a QueryParts<T>>) -> &'a T {
    row
}

/// Returns the schema of a page, from those of its entries and of its `pageInfo`.
pub(super) fn page_schema(items: &Schema, info: &Schema) -> Schema {
    json_schema!({
        "type": "object",
        "description": "One page of a collection.",
        "properties": {
            "items": {
                "type": "array",
                "description": "The entries of this page.",
                "items": items,
            },
            "pageInfo": info,
        },
        "required": ["items", "pageInfo"],
    })
}
