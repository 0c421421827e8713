//! Tests the query language through an adapter: collections, aggregates, fields, computed fields and pages.

mod aggregates;
mod faults;
mod fields;
mod filters;
mod garden;
mod gated;
mod hostile;
mod introspection;
mod naive;
mod pages;
mod properties;
mod row_filters;
mod sorts;
