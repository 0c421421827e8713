//! The types of parameters and results: the tables of the macros, shapes, constraints, projections.

pub(crate) mod argument;
pub mod constraint;
pub mod encoding;
pub(crate) mod projection;
pub mod shape;
pub(crate) mod spec;
