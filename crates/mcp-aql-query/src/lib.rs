//! Collection queries: the query language, its executors and the argument types of operations.
//!
//! | to … | see |
//! |---|---|
//! | make a type queryable | [`Resource`](derive@Resource), [`computed_fields`](macro@computed_fields) |
//! | accept a query | [`CollectionQuery`], [`Fields`] |
//! | answer it from rows in memory | [`CollectionQuery::run`] |
//! | execute the plan with your own backend | [`CollectionQuery::plan`], [`CollectionQuery::build_page`], [`plan`] |
//! | follow relationships | [`RelationshipQuery`], [`RelationshipSource`] |
//! | keep cursors valid across restarts | [`CursorKey`] |
//!
//! Use this crate as `mcp_aql::query`, with the feature `query` of `mcp-aql`.

// Generated code refers to the runtime as `mcp_aql`, and the unit tests of this crate use the macros.
#[cfg(test)]
extern crate self as mcp_aql;

mod aggregate;
mod answer;
mod brief;
mod capabilities;
mod capture;
mod collection;
mod columns;
mod composite;
mod cursor;
mod description;
mod document;
mod entry;
mod example;
mod field_info;
mod grouping;
mod memory;
mod model;
mod model_builder;
mod nested;
mod nested_names;
mod odd_values;
mod options;
pub mod plan;
mod probe;
mod read;
pub mod records;
mod relationships;
mod resource;
mod resource_spec;
mod single;
pub mod sql;
mod text;
mod value;

pub use mcp_aql_core::Page;
pub use mcp_aql_core::internal::paging::{CursorKey, PageInfo};
pub use mcp_aql_core::internal::schema::Selection;
pub use {
    aggregate::Aggregations,
    capabilities::Capabilities,
    collection::CollectionQuery,
    entry::{QueryArgument, QueryEntry, QueryParams, QueryTable},
    field_info::FieldInfo,
    memory::Row,
    model::{Model, ResourceSchema},
    options::{QueryControl, QueryOptions, TextSearch},
    relationships::{
        Edge, EdgeDirection, EdgeRequest, ElementRef, GraphEdge, GraphNode, GraphSections,
        RelationshipGraph, RelationshipKinds, RelationshipQuery, RelationshipRecord,
        RelationshipSource, TraversalDirection,
    },
    resource::{ComputedFields, IdentifiedResource, Resource},
    resource_spec::{DefaultSort, FieldPreset, FieldSpec, RelationshipType, ResourceSpec},
    single::{Fields, SelectedFields},
    text::{SearchTerm, TextQuery, fold_text},
    value::{Scalar, ValueKind},
};

#[doc = include_str!("macro_docs/resource.md")]
pub use mcp_aql_derive::Resource;

#[doc = include_str!("macro_docs/computed_fields.md")]
pub use mcp_aql_derive::computed_fields;

#[doc(hidden)]
pub mod __private;
#[cfg(test)]
mod test_names;
#[cfg(test)]
pub use test_names::*;
