//! Tests the conformance runner on a correct adapter, on one with each mistake, and on adapters that it must not harm.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on panics, in its helpers too"
)]

mod assert_conforms;
mod crud_adapter;
mod evidence;
mod faults;
mod leaves_nothing;
mod many_kinds;
mod mutants;
mod own_lists;
mod permissions;
mod ready_operations;
mod touches_nothing;
