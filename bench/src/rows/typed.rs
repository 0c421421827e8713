//! Measures an update of a struct with twenty fields: with the derived table, and with a detour through JSON.

use mcp_aql::{Update, UpdateInput};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Setup;
use crate::Result;
use crate::measure::{in_turns, nanos_each};
use crate::table::{Outcome, Row, Target};

macro_rules! resource {
    ($name:ident { $($doc:literal $field:ident: $type:ty = $value:expr,)+ }) => {
        /// A customer of a shop.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, UpdateInput)]
        struct $name {
            $(#[doc = $doc] $field: $type,)+
        }

        impl $name {
            fn sample() -> Self {
                Self { $($field: $value,)+ }
            }
        }
    };
}

resource! {
    Customer {
        "Full name." name: String = "Ada Lovelace".to_owned(),
        "Address for mail." email: String = "ada@example.org".to_owned(),
        "Telephone." phone: Option<String> = Some("+44 20 7946 0000".to_owned()),
        "Company." company: Option<String> = None,
        "Street and number." street: String = "St James's Square 12".to_owned(),
        "Postal code." postal_code: String = "SW1Y 4JH".to_owned(),
        "City." city: String = "London".to_owned(),
        "Country." country: String = "United Kingdom".to_owned(),
        "Language for letters." language: String = "en".to_owned(),
        "Currency of bills." currency: String = "GBP".to_owned(),
        "Discount in percent." discount: f64 = 2.5,
        "Limit of credit." credit: f64 = 5_000.0,
        "Orders so far." orders: u32 = 17,
        "Days to pay." days_to_pay: u8 = 14,
        "Gets the letter with news." newsletter: bool = true,
        "Is not delivered to." blocked: bool = false,
        "Labels." tags: Vec<String> = vec!["vip".to_owned(), "engine".to_owned()],
        "Remark." remark: Option<String> = Some("Rings twice".to_owned()),
        "Who looks after the customer." agent: Option<String> = Some("Charles".to_owned()),
        "Customer since." since: String = "1842-10-01".to_owned(),
    }
}

fn input() -> Value {
    json!({
        "email": "countess@example.org",
        "company": "Analytical Engines",
        "discount": 5.0,
        "tags": ["vip"],
        "remark": null,
    })
}

/// Updates the struct through JSON: serializes it, merges the input, and deserializes the result.
fn through_json<T: Serialize + DeserializeOwned>(resource: &mut T, input: &Value) -> Result {
    let mut json = serde_json::to_value(&*resource)?;
    json_patch::merge(&mut json, input);
    *resource = serde_json::from_value(json)?;
    Ok(())
}

pub(super) fn run(setup: &Setup) -> Result<Outcome> {
    let calls = setup.scale.calls;
    let before = Customer::sample();
    let mut after = before.clone();
    through_json(&mut after, &input())?;
    if after == before || after.remark.is_some() {
        return Err("the update through JSON changes nothing".into());
    }
    let decoded = Update::<Customer>::from_json(input())?;
    let mut merged = before.clone();
    decoded.clone().merge_into(&mut merged);
    if merged != after {
        return Err(format!("{merged:?} is not {after:?}").into());
    }

    let merge = || {
        let make = |_| (before.clone(), decoded.clone());
        let merge = |(mut customer, update): (Customer, Update<Customer>)| {
            update.merge_into(&mut customer);
            customer
        };
        nanos_each(calls, make, merge, |customer| *customer == after)
    };
    let decode_and_merge = || {
        let make = |_| (before.clone(), input());
        let merge = |(mut customer, input)| {
            Update::from_json(input)?.merge_into(&mut customer);
            Ok::<_, mcp_aql::OperationError>(customer)
        };
        nanos_each(calls, make, merge, |customer| customer.as_ref().is_ok_and(|it| *it == after))
    };
    let peer = || {
        let make = |_| (before.clone(), input());
        let merge = |(mut customer, input): (Customer, Value)| {
            through_json(&mut customer, &input)?;
            Ok::<_, crate::Error>(customer)
        };
        nanos_each(calls, make, merge, |customer| customer.as_ref().is_ok_and(|it| *it == after))
    };
    let row = |name: &str, what: &str, turns| {
        Row::of_times(
            name,
            format!("{what}, 20 fields; through JSON"),
            turns,
            Target::AtMost(1.0 / 3.0),
        )
    };
    let rounds = setup.scale.rounds;
    Ok(Outcome::Rows(vec![
        row("typed-update", "typed update, merge", in_turns(rounds, merge, peer)?),
        row(
            "typed-update-decode",
            "typed update, decode and merge",
            in_turns(rounds, decode_and_merge, peer)?,
        ),
    ]))
}
