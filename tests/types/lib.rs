//! Calls operations with values of many types. The tests are in `main.rs` and the files next to it.
