//! Calls operations with the values of many types. The tests are in `main.rs` and beside it.
