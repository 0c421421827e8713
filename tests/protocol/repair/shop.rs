//! The main adapter of these tests: orders with nested objects, all forms of unions, maps, lists, an UPDATE, a list and
//! a search.

use std::collections::BTreeMap;

use mcp_aql::prelude::*;
use mcp_aql::query::CollectionQuery;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::mistakes::{Features, QueryFields};

/// A place to deliver to.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, UpdateInput)]
pub(crate) struct Address {
    /// Street and number.
    street: String,
    /// Town.
    city: String,
    /// Five digits.
    #[param(pattern = "^[0-9]{5}$")]
    zip: String,
    /// Position.
    position: Option<Position>,
}

/// A position on the map.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, UpdateInput)]
pub(crate) struct Position {
    /// Degrees to the north.
    latitude: f64,
    /// Degrees to the east.
    longitude: f64,
}

/// A customer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Customer {
    /// Full name.
    full_name: String,
    /// Where the customer lives.
    address: Address,
}

/// A line of an order.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Line {
    /// Number of the article.
    article: String,
    /// How many.
    #[schemars(range(min = 1, max = 99))]
    quantity: u32,
    /// Whether it is wrapped.
    gift: Option<bool>,
}

/// How the order arrives: internally tagged.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Delivery {
    /// To the door.
    Door {
        /// Floor.
        floor: i32,
    },
    /// To a shop.
    Pickup {
        /// Name of the shop.
        shop: String,
    },
}

/// How the order is paid: adjacently tagged.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "method", content = "details", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Payment {
    /// By card.
    Card {
        /// Name on the card.
        holder: String,
        /// Number of the card.
        #[schemars(extend("sensitive" = true))]
        number: String,
    },
    /// By invoice.
    Invoice {
        /// Days until it is due.
        days: u16,
    },
}

/// A discount: externally tagged.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Discount {
    /// A share.
    Share {
        /// Percent of the price.
        percent: f64,
    },
    /// A voucher.
    Voucher {
        /// Code on the voucher.
        code: String,
    },
}

/// A way to reach the customer: untagged.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum Contact {
    /// By mail.
    Mail {
        /// Address for mail.
        mail_address: String,
        /// Whether news are welcome.
        news: Option<bool>,
    },
    /// By phone.
    Phone {
        /// Number to call.
        phone_number: String,
        /// Country of the number.
        country: String,
    },
}

/// Urgency of an order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Urgency {
    /// Can wait.
    CanWait,
    /// As usual.
    Normal,
    /// At once.
    AtOnce,
}

/// An order.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, UpdateInput)]
pub(crate) struct Order {
    /// Identifier.
    #[resource(id, filter, sort)]
    order_id: String,
    /// Title.
    #[resource(search, filter, sort)]
    #[param(min_length = 2, max_length = 30)]
    title: String,
    /// Urgency.
    #[resource(filter, sort, group)]
    urgency: Urgency,
    /// Price in cents.
    #[resource(filter, sort, numeric)]
    price: u32,
    /// Whether it is paid.
    #[resource(filter)]
    paid: bool,
    /// Labels.
    #[resource(filter)]
    labels: Vec<String>,
    /// Address.
    address: Address,
    /// Amounts by year.
    amounts: BTreeMap<u32, u32>,
    /// Limits by urgency.
    limits: BTreeMap<Urgency, u32>,
    /// Time of creation.
    #[resource(read_only)]
    created_at: String,
}

fn orders() -> Vec<Order> {
    ["Tea", "Coffee", "Sugar"]
        .iter()
        .enumerate()
        .map(|(place, title)| Order {
            order_id: format!("o-{place}"),
            title: (*title).to_owned(),
            urgency: Urgency::Normal,
            price: 100,
            paid: false,
            labels: Vec::new(),
            address: Address::default(),
            amounts: BTreeMap::new(),
            limits: BTreeMap::new(),
            created_at: "2031-05-06T07:08:09Z".to_owned(),
        })
        .collect()
}

/// Create an order.
#[operation(category = "CREATE")]
fn create_order(
    /// Short title.
    #[param(min_length = 2, max_length = 30)]
    title: String,
    /// The customer.
    customer: Customer,
    /// The lines.
    #[param(min_items = 1, max_items = 5)]
    lines: Vec<Line>,
    /// How it arrives.
    delivery: Delivery,
    /// How it is paid.
    payment: Payment,
    /// A discount.
    discount: Option<Discount>,
    /// A way to reach the customer.
    contact: Option<Contact>,
    /// Urgency of the order.
    #[param(default = "normal")]
    urgency: Urgency,
    /// Day of the delivery.
    #[param(format = "date")]
    due_date: Option<String>,
    /// Free-form labels.
    labels: Option<Vec<String>>,
    /// Amounts by year.
    amounts: Option<BTreeMap<u32, u32>>,
    /// Limits by urgency.
    limits: Option<BTreeMap<Urgency, u32>>,
    /// Number of parcels.
    #[param(default = 1, minimum = 1, maximum = 9)]
    parcels: u8,
) -> Value {
    json!([
        title, customer, lines, delivery, payment, discount, contact, urgency, due_date, labels,
        amounts, limits, parcels
    ])
}

/// Get an order.
#[operation(category = "READ")]
fn get_order(
    /// The order's identifier.
    order_id: String,
) -> String {
    order_id
}

/// Change an order.
#[operation(category = "UPDATE")]
fn modify_order(
    /// The order's identifier.
    order_id: String,
    input: Update<Order>,
) -> Result<Order, OperationError> {
    let mut order = orders().remove(0);
    order.order_id = order_id;
    input.merge_into(&mut order);
    Ok(order)
}

/// Move an order to another shelf.
#[operation(category = "EXECUTE")]
fn move_order(
    /// The order's identifier.
    order_id: String,
    /// Number of the shelf.
    #[param(minimum = 1, maximum = 40)]
    shelf: u8,
    /// Whether the order is fragile.
    fragile: bool,
    /// A name for the place.
    #[param(enum = ["front", "middle", "back"])]
    row: Option<String>,
) -> Value {
    json!([order_id, shelf, fragile, row])
}

/// List orders.
#[operation(category = "READ")]
fn list_orders(query: CollectionQuery<Order>) -> Result<mcp_aql::Page<Order>, OperationError> {
    query.run(orders())
}

/// Search orders.
#[operation(category = "READ", example = { "query": "tea" })]
fn search_orders(query: CollectionQuery<Order>) -> Result<mcp_aql::Page<Order>, OperationError> {
    query.run(orders())
}

pub(crate) fn shop() -> Adapter {
    Adapter::builder("shop")
        .operation(create_order {})
        .operation(get_order {})
        .operation(modify_order {})
        .operation(move_order {})
        .operation(list_orders {})
        .operation(search_orders {})
        .without_config()
        .build()
        .expect("the shop is sound")
}

pub(crate) fn features() -> Features {
    let line = json!({ "article": "a-1", "quantity": 2, "gift": true });
    Features {
        maps: &["amounts", "limits"],
        tags: &["delivery.kind", "payment.method"],
        wrappers: &["discount"],
        enums: &["urgency", "input.urgency", "row", "filter.urgency", "sort.order"],
        keys: vec![
            ("amounts", &["year 2031", "abc", "-1"]),
            ("input.amounts", &["year 2031", "abc", "-1"]),
            ("limits", &["normaal", "Normal", "zzz"]),
            ("input.limits", &["normaal", "Normal", "zzz"]),
        ],
        limits: vec![
            ("title", vec![json!("x"), json!(""), json!("x".repeat(200))]),
            ("input.title", vec![json!("x"), json!("x".repeat(31))]),
            ("parcels", vec![json!(0), json!(10), json!(-5), json!(3000)]),
            ("shelf", vec![json!(0), json!(41), json!(-1)]),
            ("lines", vec![json!([]), json!([line, line, line, line, line, line])]),
            (
                "due_date",
                vec![json!("tomorrow"), json!("6 May 2031"), json!("2031-05-06T07:08:09Z")],
            ),
            ("customer.address.zip", vec![json!("123"), json!("D-53111")]),
            ("input.address.zip", vec![json!("123")]),
            ("lines[0].quantity", vec![json!(0), json!(100)]),
        ],
        query: Some(QueryFields {
            list: "list_orders",
            search: "search_orders",
            text: "title",
            number: "price",
            boolean: "paid",
            list_field: "labels",
            choice: ("urgency", "normal"),
        }),
    }
}

/// Returns valid calls of each operation.
pub(crate) fn samples() -> Vec<(&'static str, Value)> {
    let address = json!({
        "street": "Hill 1", "city": "Bonn", "zip": "53111",
        "position": { "latitude": 50.7, "longitude": 7.1 },
    });
    let lines = json!([{ "article": "a-1", "quantity": 2, "gift": true }, { "article": "a-2", "quantity": 1 }]);
    let customer = json!({ "full_name": "Ada", "address": address });
    vec![
        (
            "create_order",
            json!({
                "title": "Tea", "customer": customer, "lines": lines,
                "delivery": { "kind": "door", "floor": 2 },
                "payment": { "method": "card", "details": { "holder": "Ada", "number": "4929" } },
                "discount": { "share": { "percent": 2.5 } },
                "contact": { "mail_address": "ada@example.org", "news": true },
                "urgency": "at_once", "due_date": "2031-05-06", "labels": ["new", "big"],
                "amounts": { "2031": 7 }, "limits": { "normal": 3 }, "parcels": 2,
            }),
        ),
        (
            "create_order",
            json!({
                "title": "Coffee", "customer": customer, "lines": lines,
                "delivery": { "kind": "pickup", "shop": "North" },
                "payment": { "method": "invoice", "details": { "days": 14 } },
                "discount": { "voucher": { "code": "SPRING" } },
                "contact": { "phone_number": "555", "country": "DE" },
            }),
        ),
        ("get_order", json!({ "order_id": "o-1" })),
        (
            "modify_order",
            json!({
                "order_id": "o-1",
                "input": {
                    "title": "Green tea", "urgency": "can_wait", "price": 250, "paid": true,
                    "labels": ["hot"], "amounts": { "2031": 9 }, "limits": { "normal": 1 },
                    "address": { "city": "Köln", "position": { "latitude": 50.9 } },
                },
            }),
        ),
        ("modify_order", json!({ "order_id": "o-2", "input": { "title": "Black tea" } })),
        ("move_order", json!({ "order_id": "o-1", "shelf": 7, "fragile": true, "row": "back" })),
        (
            "list_orders",
            json!({
                "filter": { "urgency": "normal", "price": { "gte": 50, "lt": 900 }, "paid": false },
                "sort": { "field": "title", "order": "desc" },
                "fields": ["order_id", "title"], "first": 2,
            }),
        ),
        (
            "list_orders",
            json!({
                "filter": { "or": [{ "title": { "contains": "tea" } }, { "labels": { "in": ["new"] } }] },
                "sort": [{ "field": "price", "order": "asc" }], "fields": "minimal", "last": 5,
            }),
        ),
        (
            "search_orders",
            json!({ "query": "tea", "filter": { "price": { "lte": 500 } }, "first": 3 }),
        ),
    ]
}
