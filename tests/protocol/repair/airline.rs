//! An adapter for bookings of an airline, similar to public benchmarks. The reader's rules were not written for it.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use mcp_aql::prelude::*;
use mcp_aql::query::CollectionQuery;
use mcp_aql::{Page, Policy};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::mistakes::{Features, QueryFields};

/// A cabin.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cabin {
    /// The cheapest seats.
    BasicEconomy,
    /// Seats with legroom.
    Economy,
    /// Seats that recline.
    Business,
}

/// A person who flies.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Passenger {
    /// First name.
    first_name: String,
    /// Last name.
    last_name: String,
    /// Date of birth.
    dob: NaiveDate,
    /// Numbers of frequent flyers, by airline.
    memberships: Option<BTreeMap<String, String>>,
}

/// A flight of a journey.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Segment {
    /// Number of the flight.
    #[schemars(regex(pattern = r"^[A-Z]{3}[0-9]{3}$"))]
    flight_number: String,
    /// Day of the departure.
    date: NaiveDate,
    /// The seat, by row and letter.
    seat: Option<(u8, String)>,
}

/// A means of payment.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "source", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) enum Payment {
    /// A card that is on file.
    CreditCard {
        /// Identifier of the card.
        card_id: String,
        /// Amount in cents.
        amount: u32,
    },
    /// A certificate, used up at once.
    Certificate {
        /// Identifier of the certificate.
        certificate_id: String,
    },
    /// A gift card.
    GiftCard {
        /// Code on the card.
        code: String,
        /// Amount in cents.
        amount: u32,
    },
}

/// An insurance: a name alone, or a name with a content.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Insurance {
    /// No insurance.
    Nothing,
    /// The price is refunded.
    Refund {
        /// Share of the price in percent.
        #[schemars(range(min = 1, max = 100))]
        share: u8,
    },
    /// Everything is covered.
    Complete {
        /// Country of the contract.
        country: String,
        /// Whether luggage is covered.
        luggage: bool,
    },
}

/// The contact of a booking.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, UpdateInput)]
pub(crate) struct Contact {
    /// E-mail address.
    #[param(format = "email")]
    email: String,
    /// Phone number.
    phone: Option<String>,
    /// The language of messages.
    language: Language,
}

/// A language.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, UpdateInput)]
pub(crate) struct Language {
    /// Code of two letters.
    #[param(pattern = "^[a-z]{2}$")]
    tag: String,
    /// Whether speech is preferred to text.
    spoken: bool,
}

/// A carrier.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource)]
pub(crate) struct Carrier {
    /// Code of the carrier.
    #[resource(filter, sort)]
    code: String,
    /// Home of the carrier.
    #[resource(filter)]
    home: String,
}

/// A flight.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource)]
#[resource(presets(minimal = [flight_number], standard = [flight_number, origin, cabin]))]
pub(crate) struct Flight {
    /// Number of the flight.
    #[resource(id, filter, sort)]
    flight_number: String,
    /// Airport of the departure.
    #[resource(search, filter, sort)]
    origin: String,
    /// The cabin with free seats.
    #[resource(filter, sort, group)]
    cabin: Cabin,
    /// Number of free seats.
    #[resource(filter, sort, numeric)]
    seats: u32,
    /// Whether it has no stop.
    #[resource(filter)]
    direct: bool,
    /// Day of the departure.
    #[resource(filter, sort)]
    day: NaiveDate,
    /// Services on board.
    #[resource(filter)]
    services: Vec<String>,
    /// Who flies.
    #[resource(nested)]
    carrier: Carrier,
}

/// A booking.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, UpdateInput)]
pub(crate) struct Booking {
    /// Identifier.
    #[resource(id)]
    booking_id: String,
    /// The cabin.
    cabin: Cabin,
    /// Number of bags.
    #[param(minimum = 0, maximum = 6)]
    bags: u8,
    /// Remarks for the crew.
    #[param(max_items = 3)]
    remarks: Vec<String>,
    /// Day of the return.
    return_date: Option<NaiveDate>,
    /// The contact.
    contact: Contact,
    /// Meals by segment.
    meals: BTreeMap<u8, String>,
    /// Version.
    #[resource(read_only)]
    version: u64,
}

/// Book a journey.
#[operation(category = "CREATE")]
fn book_journey(
    /// The customer.
    customer_id: String,
    /// The cabin.
    cabin: Cabin,
    /// The flights, in order.
    #[param(min_items = 1, max_items = 4)]
    segments: Vec<Segment>,
    /// Everybody who flies.
    #[param(min_items = 1, max_items = 5)]
    passengers: Vec<Passenger>,
    /// The payments, in order.
    payments: Vec<Payment>,
    /// The insurance.
    insurance: Insurance,
    /// Kind of the journey.
    #[param(enum = ["one_way", "round_trip"], default = "one_way")]
    journey_type: String,
    /// Number of bags.
    #[param(default = 0, minimum = 0, maximum = 6)]
    bags: u8,
    /// Share of the miles that are given to a project.
    #[param(minimum = 0.0, maximum = 1.0)]
    donation: Option<f64>,
    /// Meals by segment.
    meals: Option<BTreeMap<u8, String>>,
    /// Numbers of free bags by cabin.
    allowances: Option<BTreeMap<Cabin, u8>>,
    /// End of the reservation.
    #[param(format = "date-time")]
    hold_until: Option<String>,
) -> Value {
    json!([
        customer_id,
        cabin,
        segments,
        passengers,
        payments,
        insurance,
        journey_type,
        bags,
        donation,
        meals,
        allowances,
        hold_until
    ])
}

/// Change a booking.
#[operation(category = "UPDATE")]
fn change_booking(
    /// The booking.
    booking_id: String,
    input: Update<Booking>,
    /// Whether the customer is informed.
    #[param(default = true)]
    notify: bool,
) -> Value {
    let mut booking = Booking {
        booking_id,
        cabin: Cabin::Economy,
        bags: 1,
        remarks: Vec::new(),
        return_date: None,
        contact: Contact::default(),
        meals: BTreeMap::new(),
        version: 1,
    };
    input.merge_into(&mut booking);
    json!([booking, notify])
}

/// Cancel a booking.
#[operation(category = "EXECUTE")]
fn cancel_booking(
    /// The booking.
    booking_id: String,
    /// Reason of the customer.
    #[param(enum = ["change_of_plan", "airline_cancelled", "other"])]
    reason: String,
) -> Value {
    json!([booking_id, reason])
}

/// Move a passenger to another flight.
#[operation(category = "EXECUTE", rationale = "airlines say `rebook`")]
fn rebook_passenger(
    /// The booking.
    booking_id: String,
    /// The passenger.
    passenger_id: u32,
    /// The new flight.
    segment: Segment,
) -> Value {
    json!([booking_id, passenger_id, segment])
}

fn flights() -> Vec<Flight> {
    let carrier = Carrier { code: "HA".to_owned(), home: "Berlin".to_owned() };
    let flight = |number: &str, origin: &str, seats| Flight {
        flight_number: number.to_owned(),
        origin: origin.to_owned(),
        cabin: Cabin::Economy,
        seats,
        direct: true,
        day: NaiveDate::from_ymd_opt(2031, 5, 6).expect("a day"),
        services: vec!["wifi".to_owned()],
        carrier: carrier.clone(),
    };
    vec![flight("HAT001", "Berlin", 3), flight("HAT002", "Paris", 12)]
}

/// List flights.
#[operation(category = "READ")]
fn list_flights(query: CollectionQuery<Flight>) -> Result<Page<Flight>, OperationError> {
    query.run(flights())
}

/// Search flights.
#[operation(category = "READ", example = { "query": "berlin" })]
fn search_flights(query: CollectionQuery<Flight>) -> Result<Page<Flight>, OperationError> {
    query.run(flights())
}

pub(crate) fn airline() -> Adapter {
    Adapter::builder("airline")
        .operation(book_journey {})
        .operation(change_booking {})
        .operation(cancel_booking {})
        .operation(rebook_passenger {})
        .operation(list_flights {})
        .operation(search_flights {})
        .policy(Policy::allow("cancel_booking"))
        .without_config()
        .build()
        .expect("the airline is sound")
}

pub(crate) fn features() -> Features {
    Features {
        maps: &["memberships", "meals", "allowances", "aggregate"],
        tags: &["payments[0].source", "payments[1].source"],
        wrappers: &["insurance"],
        enums: &["cabin", "journey_type", "reason", "input.cabin", "filter.cabin", "sort.order"],
        keys: vec![
            ("meals", &["first", "row 1", "-2"]),
            ("input.meals", &["first", "300"]),
            ("allowances", &["businesz", "Economy", "zzz"]),
        ],
        limits: vec![
            ("segments[0].flight_number", vec![json!("hat001"), json!("HAT 1"), json!("")]),
            ("segments[0].date", vec![json!("6.5.2031"), json!("2031-13-01")]),
            ("segments", vec![json!([])]),
            ("passengers", vec![json!([])]),
            ("bags", vec![json!(-1), json!(7), json!(300)]),
            ("input.bags", vec![json!(7)]),
            ("input.remarks", vec![json!(["a", "b", "c", "d"])]),
            ("input.contact.email", vec![json!("ada"), json!("")]),
            ("input.contact.language.tag", vec![json!("german"), json!("DE")]),
            ("donation", vec![json!(-0.5), json!(50)]),
            ("hold_until", vec![json!("noon"), json!("2031-05-06"), json!("2031-05-06 10:00")]),
            ("insurance.refund.share", vec![json!(0), json!(101)]),
        ],
        query: Some(QueryFields {
            list: "list_flights",
            search: "search_flights",
            text: "origin",
            number: "seats",
            boolean: "direct",
            list_field: "services",
            choice: ("cabin", "economy"),
        }),
    }
}

/// Returns valid calls of each operation.
pub(crate) fn samples() -> Vec<(&'static str, Value)> {
    let passenger = json!({ "first_name": "Ada", "last_name": "Byron", "dob": "2001-12-10" });
    let mut member = passenger.clone();
    member["memberships"] = json!({ "HA": "77" });
    let segments = json!([
        { "flight_number": "HAT001", "date": "2031-05-06", "seat": [12, "A"] },
        { "flight_number": "HAT002", "date": "2031-05-09" },
    ]);
    vec![
        (
            "book_journey",
            json!({
                "customer_id": "c-1", "cabin": "business", "segments": segments,
                "passengers": [member, passenger],
                "payments": [
                    { "source": "certificate", "certificate_id": "z-9" },
                    { "source": "creditCard", "card_id": "k-4", "amount": 25000 },
                ],
                "insurance": { "complete": { "country": "DE", "luggage": false } },
                "journey_type": "round_trip", "bags": 2, "donation": 0.25,
                "meals": { "1": "vegan" }, "allowances": { "business": 2 },
                "hold_until": "2031-05-01T12:00:00Z",
            }),
        ),
        (
            "book_journey",
            json!({
                "customer_id": "c-2", "cabin": "basic_economy",
                "segments": [segments[1]], "passengers": [passenger],
                "payments": [{ "source": "giftCard", "code": "G-7", "amount": 900 }],
                "insurance": { "refund": { "share": 80 } },
            }),
        ),
        (
            "book_journey",
            json!({
                "customer_id": "c-3", "cabin": "economy", "segments": [segments[0]],
                "passengers": [passenger], "payments": [], "insurance": "nothing",
            }),
        ),
        (
            "change_booking",
            json!({
                "booking_id": "b-1", "notify": false,
                "input": {
                    "cabin": "economy", "bags": 3, "remarks": ["twins"], "return_date": null,
                    "contact": { "email": "ada@example.org", "language": { "tag": "de", "spoken": true } },
                    "meals": { "2": "fish" },
                },
            }),
        ),
        (
            "change_booking",
            json!({ "booking_id": "b-2", "input": { "return_date": "2031-06-01" } }),
        ),
        ("cancel_booking", json!({ "booking_id": "b-3", "reason": "change_of_plan" })),
        (
            "rebook_passenger",
            json!({ "booking_id": "b-3", "passenger_id": 2, "segment": segments[0] }),
        ),
        (
            "list_flights",
            json!({
                "filter": {
                    "cabin": ["economy", "business"], "seats": { "gt": 1 }, "carrier.code": "HA",
                    "day": { "gte": "2031-05-01" },
                },
                "sort": [{ "field": "seats", "order": "desc" }, { "field": "origin" }],
                "fields": "standard", "first": 5,
            }),
        ),
        (
            "list_flights",
            json!({
                "filter": { "not": { "origin": { "starts_with": "Lon" } } },
                "sort": { "field": "day", "order": "asc" },
                "aggregate": { "by_cabin": { "group_by": "cabin", "count": true } },
            }),
        ),
        ("search_flights", json!({ "query": "berlin", "filter": { "direct": true }, "last": 4 })),
    ]
}
