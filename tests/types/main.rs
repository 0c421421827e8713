//! Tests operations whose parameters and results have many types: those in `inner` and those of other crates, each in
//! all positions of `places`.
//!
//! An operation must accept and return every value that serde writes. It must also accept every value that its
//! introspection describes.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics, in its helpers too"
)]

mod client;
mod inner;
mod mutation;
mod places;
mod problems;
mod records;
mod samples;
mod shapes;

use mcp_aql::Adapter;
use serde_json::{Value, json};

use crate::records::records;
use crate::shapes::{Shape, adapter, shapes};

#[test]
fn there_are_many_shapes() {
    let shapes = shapes();
    assert!(shapes.len() > 400, "{}", shapes.len());
    assert!(shapes.iter().all(|shape| !shape.values.is_empty()));
}

/// Calls an operation with a value. Returns the value in the result, or the error message.
async fn answer(adapter: &Adapter, name: &str, value: &Value) -> Result<Value, String> {
    let result = adapter.call(name, json!({ "value": value })).await;
    match result.error() {
        Some(error) => Err(format!("{}: {}", error.code, error.message)),
        None => Ok(result.data()["value"].clone()),
    }
}

fn report(faults: &[String]) {
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

#[tokio::test]
async fn what_serde_writes_is_accepted_and_returned() {
    // REQ-INT-20, REQ-RQ-10
    let shapes = shapes();
    let adapter = adapter(&shapes);
    let mut faults = Vec::new();
    for Shape { name, values, .. } in &shapes {
        for value in values {
            match answer(&adapter, name, value).await {
                Ok(returned) if returned == *value => {}
                Ok(returned) => faults.push(format!("{name} {value}: returned {returned}")),
                Err(message) => faults.push(format!("{name} {value}: {message}")),
            }
        }
    }
    report(&faults);
}

#[tokio::test]
async fn records_are_created_changed_and_read() {
    // REQ-UPD-07, REQ-UPD-09
    let mut faults = Vec::new();
    for record in records() {
        for value in &record.values {
            faults.extend(record.differences(value).await.err());
        }
    }
    report(&faults);
}

#[tokio::test]
async fn an_unknown_member_is_refused_or_arrives() {
    // REQ-UNK-01
    let shapes = shapes();
    let adapter = adapter(&shapes);
    let mut faults = Vec::new();
    // schemars describes a struct without members as an object with any members.
    for Shape { name, values, .. } in shapes.iter().filter(|it| !it.name.starts_with("get_empty")) {
        for value in values.iter().flat_map(mutation::additions) {
            match answer(&adapter, name, &value).await {
                Ok(returned) if returned == value => {}
                Ok(returned) => faults.push(format!("{name} {value}: returned {returned}")),
                Err(message) if message.starts_with("VALIDATION_") => {}
                Err(message) => faults.push(format!("{name} {value}: {message}")),
            }
        }
    }
    report(&faults);
}

#[tokio::test]
async fn what_introspection_shows_is_accepted() {
    // REQ-INT-20
    let shapes = shapes();
    let adapter = adapter(&shapes);
    let mut faults = Vec::new();
    // For these maps, schemars does not describe the allowed keys.
    let is_unknown = |name: &str| {
        ["bool", "char", "uuid", "date", "explained_word"]
            .iter()
            .any(|key| name == format!("get_map_by_{key}"))
    };
    for Shape { name, .. } in shapes.iter().filter(|shape| !is_unknown(shape.name)) {
        let values = client::values(&adapter, name).await;
        if values.is_empty() {
            faults.push(format!("{name}: introspection shows no value"));
        }
        for value in values {
            if let Err(message) = answer(&adapter, name, &value).await {
                faults.push(format!("{name} {value}: {message}"));
            }
        }
    }
    report(&faults);
}

#[tokio::test]
async fn a_member_of_another_type_is_refused_with_its_path() {
    // REQ-RQ-10
    let shapes = shapes();
    let adapter = adapter(&shapes);
    let mut faults = Vec::new();
    for Shape { name, values, reads, .. } in &shapes {
        for (value, path) in values.iter().flat_map(mutation::mutations) {
            let is_read = reads(value.clone());
            match answer(&adapter, name, &value).await {
                Ok(_) if is_read => {}
                Ok(_) => faults.push(format!("{name} {value}: accepted")),
                Err(_) if is_read => {}
                Err(message) if !message.starts_with("VALIDATION_") => {
                    faults.push(format!("{name} {value}: {message}"));
                }
                Err(message) if !message.contains(&format!("'{path}'")) => {
                    faults.push(format!("{name} {value}: no '{path}' in {message}"));
                }
                Err(_) => {}
            }
        }
    }
    report(&faults);
}
