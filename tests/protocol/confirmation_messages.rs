//! Tests confirmation messages that show values of the call, including values inside objects.

use std::collections::BTreeMap;

use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::call;

/// A customer. It is more visible than the types of its fields.
#[derive(Clone, Default, Serialize, Deserialize, JsonSchema, UpdateInput)]
pub(crate) struct Customer {
    /// Number.
    #[resource(id)]
    customer_id: u32,
    /// Name.
    name: String,
    /// Where parcels go.
    address: Option<Box<Address>>,
    /// Who pays.
    payer: Option<Box<Customer>>,
    /// Numbers by kind.
    phones: BTreeMap<String, String>,
}

/// An address.
#[derive(Clone, Default, Serialize, Deserialize, JsonSchema, UpdateInput)]
struct Address {
    /// Town.
    city: String,
    /// Lines of the label.
    lines: Option<Vec<String>>,
    /// Code of the door.
    #[param(sensitive)]
    code: String,
}

/// Change a customer.
#[operation(
    category = "UPDATE",
    danger(
        confirmation_message = "{customer_id}: {input.name}, {input.address.city}, {input.payer.address.city}?"
    )
)]
fn update_customer(
    /// The customer.
    customer_id: u32,
    input: Update<Customer>,
) -> u32 {
    drop(input);
    customer_id
}

/// Change where parcels go.
#[operation(category = "UPDATE", danger(confirmation_message = "{input.address}; {input.phones}"))]
fn move_customer(
    /// The customer.
    customer_id: u32,
    input: Update<Customer>,
) -> u32 {
    drop(input);
    customer_id
}

/// Where to send a parcel.
#[derive(Deserialize, JsonSchema)]
struct Target {
    /// Town.
    city: String,
    /// Floor.
    floor: Option<u8>,
}

/// Send a parcel.
#[operation(
    category = "EXECUTE",
    danger(confirmation_message = "Send to {target.city}, floor {target.floor}?")
)]
fn send_parcel(
    /// Where to.
    target: Target,
) -> String {
    format!("{} {:?}", target.city, target.floor)
}

fn question(operation: &str, params: Value) -> String {
    let adapter = Adapter::builder("shop")
        .operation(update_customer {})
        .operation(move_customer {})
        .operation(send_parcel {})
        .without_config()
        .build()
        .unwrap();
    let reply = call(&adapter, operation, params);
    let message = &reply["error"]["details"]["confirmation_message"];
    message.as_str().unwrap_or_else(|| panic!("{reply}")).to_owned()
}

#[test]
fn a_question_shows_what_an_update_changes_at_every_depth() {
    // REQ-DNG-05, REQ-UPD-10
    for (input, expected) in [
        (
            json!({ "name": "Ada", "address": { "city": "Ulm" }, "payer": { "address": { "city": "Bonn" } } }),
            "7: Ada, Ulm, Bonn?",
        ),
        (json!({ "name": "Ada" }), "7: Ada, [unchanged], [unchanged]?"),
        (json!({ "address": { "lines": [] } }), "7: [unchanged], [unchanged], [unchanged]?"),
        // Removing an object removes all of its fields.
        (json!({ "address": null, "payer": { "address": null } }), "7: [unchanged], null, null?"),
        (json!({ "payer": null }), "7: [unchanged], [unchanged], null?"),
        // Values are shown on one line and without invisible characters.
        (
            json!({ "address": { "city": "U\u{202e}l\nm" } }),
            "7: [unchanged], U\u{fffd}l\u{fffd}m, [unchanged]?",
        ),
    ] {
        let params = json!({ "customer_id": 7, "input": input });
        assert_eq!(question("update_customer", params), expected, "{input}");
    }
    let long = json!({ "customer_id": 7, "input": { "address": { "city": "x".repeat(500) } } });
    let shown = format!("7: [unchanged], {}…, [unchanged]?", "x".repeat(200));
    assert_eq!(question("update_customer", long), shown);
}

#[test]
fn a_question_masks_secrets_in_the_objects_that_it_shows() {
    // REQ-DNG-05, REQ-GATE-09
    let input = json!({ "address": { "city": "Ulm", "code": "4711" }, "phones": { "home": "1", "work": null } });
    let shown = question("move_customer", json!({ "customer_id": 7, "input": input }));
    assert_eq!(shown, r#"{"city":"Ulm","code":"[redacted]"}; {"home":"1","work":null}"#);
}

#[test]
fn a_question_shows_fields_of_other_objects() {
    // REQ-DNG-05
    for (target, expected) in [
        (json!({ "city": "Ulm", "floor": 3 }), "Send to Ulm, floor 3?"),
        (json!({ "city": "Ulm" }), "Send to Ulm, floor none?"),
        (json!({ "city": "Ulm", "floor": null }), "Send to Ulm, floor none?"),
    ] {
        assert_eq!(question("send_parcel", json!({ "target": target })), expected);
    }
}

/// Pack a parcel.
#[operation(
    category = "EXECUTE",
    danger(confirmation_message = "{target.town} {target.city.name} {target.floor}")
)]
fn pack_parcel(
    /// Where to.
    target: Target,
) -> String {
    target.city
}

#[test]
fn an_adapter_with_an_unknown_field_in_a_question_is_not_built() {
    // REQ-DNG-05
    let faults = |builder: mcp_aql::AdapterBuilder| {
        builder.without_config().build().unwrap_err().to_string()
    };
    let text = faults(Adapter::builder("shop").operation(pack_parcel {}));
    for path in ["target.town", "target.city.name"] {
        let fault = format!(
            "operation `pack_parcel`: its confirmation message shows `{path}`, but `target` has no such \
             field, or it cannot be shown"
        );
        assert!(text.contains(&fault), "{text}");
    }
    assert!(!text.contains("target.floor"), "{text}");
}
