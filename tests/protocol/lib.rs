//! Tests with adapters in memory that the runtime meets the requirements of the protocol. The tests are in `main.rs`
//! and the files next to it.
