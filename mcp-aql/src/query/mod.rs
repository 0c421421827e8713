//! Collection queries: the query language, its executors and the argument types of operations.
//!
//! | to … | see |
//! |---|---|
//! | enable queries of a type | [`Resource`](derive@crate::Resource), [`computed_fields`](macro@crate::computed_fields) |
//! | accept a query | [`CollectionQuery`], [`Fields`] |
//! | answer it from rows in memory | [`CollectionQuery::run`] |
//! | answer it yourself | [`CollectionQuery::plan`], [`CollectionQuery::answer`], [`plan`] |
//! | follow relationships | [`RelationshipQuery`], [`RelationshipSource`] |
//! | keep cursors valid across restarts | [`CursorKey`] |
//!
//! Everything except [`Page`], [`PageInfo`] and [`CursorKey`] requires the feature `query`.

#[cfg(feature = "query")]
mod aggregate;
#[cfg(feature = "query")]
mod answer;
#[cfg(feature = "query")]
mod applied;
#[cfg(feature = "query")]
mod capabilities;
#[cfg(feature = "query")]
mod capture;
#[cfg(feature = "query")]
mod collection;
#[cfg(feature = "query")]
pub(crate) mod column;
#[cfg(feature = "query")]
mod columns;
#[cfg(feature = "query")]
mod composite;
#[cfg(feature = "query")]
mod cursor;
#[cfg(feature = "query")]
mod description;
#[cfg(feature = "query")]
mod entry;
#[cfg(feature = "query")]
mod example;
#[cfg(feature = "query")]
mod field_info;
#[cfg(feature = "query")]
mod grouping;
#[cfg(feature = "query")]
mod memory;
#[cfg(feature = "query")]
mod model;
#[cfg(feature = "query")]
mod model_builder;
#[cfg(feature = "query")]
mod nested;
#[cfg(feature = "query")]
mod options;
#[cfg(feature = "query")]
pub mod plan;
#[cfg(feature = "query")]
mod probe;
#[cfg(feature = "query")]
mod read;
#[cfg(feature = "query")]
mod relationships;
#[cfg(feature = "query")]
mod resource;
#[cfg(feature = "query")]
mod resource_spec;
#[cfg(feature = "query")]
mod single;
#[cfg(feature = "sql")]
pub mod sql;
#[cfg(feature = "query")]
mod text;
#[cfg(feature = "query")]
mod value;

#[cfg(not(feature = "query"))]
#[doc(hidden)]
pub use crate::missing_feature::RelationshipGraph;
pub use crate::paging::{CursorKey, Page, PageInfo};
#[cfg(feature = "query")]
pub use crate::projection::Selection;
#[cfg(feature = "query")]
pub use {
    aggregate::Aggregations,
    capabilities::Capabilities,
    collection::CollectionQuery,
    entry::{QueryArgument, QueryEntry, QueryParams, QueryTable},
    field_info::FieldInfo,
    memory::Row,
    model::{Members, Model, Table},
    options::{Control, QueryOptions, TextControl},
    relationships::{
        Direction, Edge, EdgesAt, Element, GraphEdge, GraphNode, GraphSections, RelationshipGraph,
        RelationshipQuery, RelationshipRecord, RelationshipSource, Side,
    },
    resource::{ComputedFields, Identified, Resource},
    resource_spec::{DefaultSort, FieldSpec, Preset, RelationshipType, ResourceSpec},
    single::{Fields, Selected},
    text::{Term, TextQuery, fold},
    value::{Scalar, ValueKind},
};
