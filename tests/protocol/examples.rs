//! Tests that examples are calls that the author's types accept, and that replacements exist.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;

use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A hexadecimal colour.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
struct Colour(#[expect(dead_code, reason = "only its form counts")] String);

impl TryFrom<String> for Colour {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.len() == 7 && text.starts_with('#') { Ok(Self(text)) } else { Err("no colour") }
    }
}

/// Text that no generated example matches.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
struct Checksum(#[expect(dead_code, reason = "only its form counts")] String);

impl TryFrom<String> for Checksum {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text == "sum:7f3a" { Ok(Self(text)) } else { Err("no checksum") }
    }
}

/// A whole number of hundreds.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(try_from = "u32")]
struct Hundreds(#[expect(dead_code, reason = "only its form counts")] u32);

impl TryFrom<u32> for Hundreds {
    type Error = &'static str;

    fn try_from(number: u32) -> Result<Self, Self::Error> {
        if number >= 100 && number.is_multiple_of(100) {
            Ok(Self(number))
        } else {
            Err("no hundreds")
        }
    }
}

/// The address of a host.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Place {
    /// Its address.
    #[expect(dead_code, reason = "only its form counts")]
    address: IpAddr,
    /// Its name.
    #[expect(dead_code, reason = "only its form counts")]
    name: String,
}

/// Reach a host.
#[operation(category = "READ")]
fn reach_host(
    /// Address of the host.
    place: Place,
    /// Socket that it listens on.
    socket: SocketAddr,
    /// Colour in which it is shown.
    colour: Colour,
    /// Number of hundreds.
    hundreds: Hundreds,
    /// Number of repetitions.
    times: NonZeroU32,
) {
    drop((place, socket, colour, hundreds, times));
}

/// Check a file.
#[operation(category = "READ")]
fn check_file(
    /// Its checksum.
    checksum: Checksum,
    /// Location, so that an example would be shown.
    place: Place,
) {
    drop((checksum, place));
}

/// A host.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, UpdateInput)]
struct Host {
    /// Identifier.
    #[resource(id)]
    host_id: String,
    /// Its address.
    address: IpAddr,
}

/// Move a host.
#[operation(category = "UPDATE")]
fn update_host(
    /// Which one.
    host_id: String,
    input: Update<Host>,
    /// New location.
    place: Place,
) {
    drop((host_id, input, place));
}

fn examples(adapter: &Adapter, operation: &str) -> Value {
    let request = json!({
        "operation": "introspect",
        "params": { "query": "operations", "name": operation },
    });
    super::support::ask(adapter, request)["data"]["operation"]["examples"].clone()
}

#[test]
fn generated_examples_are_accepted_by_the_types_of_their_parameters() {
    // REQ-INT-15, REQ-INT-25
    let adapter = Adapter::builder("hosts")
        .operation(reach_host {})
        .operation(update_host {})
        .without_config()
        .build()
        .unwrap();
    for name in ["reach_host", "update_host"] {
        let shown = examples(&adapter, name);
        let request = shown[0]["request"].clone();
        assert!(request.is_object(), "{name}: {shown}");
        let reply = super::support::ask(&adapter, request.clone());
        assert_eq!(reply["success"], true, "{request}: {reply}");
    }
    let params = &examples(&adapter, "reach_host")[0]["request"]["params"];
    assert_eq!(params["place"]["address"], "192.0.2.1");
    assert_eq!(params["socket"], "192.0.2.1:8080");
    assert_eq!(params["colour"], "#00aaff");
    assert_eq!(params["hundreds"], 100);
}

#[test]
fn examples_that_cannot_be_generated_are_omitted() {
    // REQ-INT-25
    let adapter =
        Adapter::builder("files").operation(check_file {}).without_config().build().unwrap();
    assert_eq!(examples(&adapter, "check_file"), Value::Null);
}

/// Find a host by its address.
#[operation(category = "READ", example = { "address": "example" })]
fn get_host(
    /// Its address.
    address: IpAddr,
) {
    let _ = address;
}

/// Find a host or this machine.
#[operation(category = "READ")]
fn find_host(
    /// Its address.
    #[param(default = "localhost")]
    address: IpAddr,
) {
    let _ = address;
}

/// Returns the problems that `build` reports.
fn problems(builder: mcp_aql::AdapterBuilder) -> Vec<String> {
    builder.without_config().build().err().map_or_else(Vec::new, |error| error.problems().to_vec())
}

#[test]
fn examples_and_defaults_that_a_type_refuses_are_problems_of_build() {
    // REQ-INT-25, REQ-RQ-09
    let builder = Adapter::builder("hosts").operation(get_host {}).operation(find_host {});
    assert_eq!(
        problems(builder),
        [
            "operation `get_host`: an example is not a valid call: the type of 'address' rejects its value",
            "operation `find_host`: the default of `address` does not match the parameter's type or constraints",
        ]
    );
}

/// Get a note.
#[operation(category = "READ", deprecated(replacement = "find_notes"))]
fn get_note() {}

/// Find a note.
#[operation(category = "READ")]
fn find_note(#[param(group)] old: Old) {
    drop((old.id, old.noteid));
}

#[derive(ParamGroup)]
struct Old {
    /// Which one.
    #[param(deprecated(replacement = "note_id"))]
    id: Option<String>,
    /// Which one.
    noteid: Option<String>,
}

#[test]
fn replacements_that_are_not_there_are_problems_of_build() {
    // REQ-WRN-07, REQ-INT-32
    assert_eq!(
        problems(Adapter::builder("notes").operation(get_note {}).operation(find_note {})),
        [
            "operation `get_note` is deprecated, but its replacement `find_notes` is not another operation \
             of this adapter; did you mean `find_note`?",
            "operation `find_note`: parameter `id` is deprecated, but its replacement `note_id` is not \
             another parameter of the operation; did you mean `noteid`?",
        ]
    );
}
