//! Generates arbitrary items and requests. Values on which databases disagree are more frequent.

use chrono::{DateTime, NaiveDate, Utc};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::{Item, Place, State, Team};

/// A small set of strings, so that equal values occur. Each has a property that databases may treat differently.
const TEXTS: [&str; 28] = [
    "",
    " ",
    "a",
    "A",
    "ab",
    "Ab",
    "b",
    "B",
    "z",
    "Z",
    "é",
    "e\u{301}",
    "É",
    "Straße",
    "STRASSE",
    "日本",
    "a%",
    "a_b",
    "'",
    "\"",
    "\\",
    "?",
    "$1",
    "null",
    "\u{7f}",
    "\u{d7ff}",
    "\u{e000}",
    "a\u{10ffff}",
];

/// Additional strings that only requests contain.
const HOSTILE: [&str; 6] =
    ["a\0", "\0", "'; DROP TABLE items; --", "\") OR 1=1 --", "\\'", "a\u{10ffff}\u{10ffff}"];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![8 => select(TEXTS.to_vec()).prop_map(str::to_owned), 1 => "[^\0]{0,4}"]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![word(), prop::collection::vec(word(), 0..4).prop_map(|words| words.join(" "))]
}

fn whole() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => -3_i64..4,
        1 => select(vec![i64::MIN, i64::MAX, 1 << 53, (1 << 53) + 1, -(1 << 40)]),
    ]
}

/// Numbers whose sums hardly depend on the order of addition.
fn weight() -> impl Strategy<Value = f64> {
    prop_oneof![select(vec![0.0, -0.0, 0.1, 0.25, 1.5, 1e6]), 0.0..1000.0]
}

fn ratio() -> impl Strategy<Value = f32> {
    select(vec![0.0, 0.1, 0.7, 1.0, 2.5, 1e30, 16_777_216.0])
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        select(vec![0.0, -0.0, 0.1, 0.25, -1.5, 1e-300, f64::MAX, f64::MIN, 5e-324]),
        -1000.0..1000.0,
    ]
}

fn day() -> impl Strategy<Value = NaiveDate> {
    let text = select(vec!["2031-05-05", "2031-05-06", "2031-05-07", "0001-01-01", "9999-12-31"]);
    text.prop_map(|text| text.parse().unwrap())
}

/// Points in time. Some are less than a second or less than a millisecond apart.
fn instant(unit: i64) -> impl Strategy<Value = DateTime<Utc>> {
    let second =
        select(vec![0, -1, 1_935_990_000, 1_935_990_001, 253_402_300_799, -62_135_596_800]);
    let part = select(vec![0, 1, 999_999_999, 500_000_000, 500_000_001, 500_100_000, 123_456_789]);
    (second, part).prop_map(move |(second, part): (i64, i64)| {
        DateTime::from_timestamp(second, u32::try_from(part / unit * unit).unwrap()).unwrap()
    })
}

fn state() -> impl Strategy<Value = State> {
    select(vec![State::Open, State::InWork, State::Done, State::Abandoned])
}

fn place() -> impl Strategy<Value = Place> {
    let rooms = prop::collection::vec(word(), 0..3);
    (prop::option::of(word()), whole(), any::<bool>(), prop::option::of(instant(1)), rooms)
        .prop_map(|(city, floor, open, since, rooms)| Place { city, floor, open, since, rooms })
}

fn extra() -> impl Strategy<Value = Value> {
    select(vec![
        json!(null),
        json!(1),
        json!("x"),
        json!([1, [2]]),
        json!({}),
        json!({ "a": { "b": [1, { "c": null }] }, "d": 1.5 }),
    ])
}

fn item() -> impl Strategy<Value = Item> {
    let texts = (text(), prop::option::of(text()), prop::collection::vec(word(), 0..4));
    let numbers = (
        prop::option::of(prop::collection::vec(whole(), 0..3)),
        prop::option::of(whole()),
        prop_oneof![-1000_i64..1000, Just((1_i64 << 58) + 1), Just(-(1_i64 << 54) - 1)],
        prop_oneof![4 => weight(), 1 => Just(f64::NAN)],
        prop::option::of(number()),
        ratio(),
        -3_i64..4,
    );
    let choices =
        (state(), prop::option::of(state()), any::<bool>(), prop::option::of(any::<bool>()));
    let times =
        (prop::option::of(day()), instant(1_000), prop::option::of(instant(1_000_000)), instant(1));
    let objects = (prop::option::of(place()), word(), prop::option::of(word()), extra());
    (texts, numbers, choices, times, objects).prop_map(
        |(texts, numbers, choices, times, objects)| Item {
            id: String::new(),
            title: texts.0,
            body: texts.1,
            tags: texts.2,
            numbers: numbers.0,
            rank: numbers.1,
            size: numbers.2,
            weight: numbers.3,
            share: numbers.4,
            ratio: numbers.5,
            score: numbers.6,
            state: choices.0,
            former: choices.1,
            done: choices.2,
            paid: choices.3,
            due: times.0,
            created: times.1,
            closed: times.2,
            seen: times.3,
            place: objects.0,
            team: Team { name: objects.1, lead: objects.2 },
            extra: objects.3,
        },
    )
}

/// Returns up to `most` items with different identifiers.
pub fn items(most: usize) -> impl Strategy<Value = Vec<Item>> {
    (prop::collection::vec(item(), 0..=most), any::<u8>()).prop_map(|(mut items, turn)| {
        for (place, item) in items.iter_mut().enumerate() {
            // Identifiers are not sorted like the rows, and some differ only in case.
            let mixed = (place * 7 + usize::from(turn)) % 32;
            let letter = if mixed % 2 == 0 { 'i' } else { 'I' };
            item.id = format!("{letter}{}-{}", mixed / 2, place / 32);
        }
        items
    })
}

fn given_text() -> impl Strategy<Value = Value> {
    prop_oneof![4 => word(), 1 => select(HOSTILE.to_vec()).prop_map(str::to_owned)]
        .prop_map(Value::from)
}

fn given_whole() -> impl Strategy<Value = Value> {
    prop_oneof![4 => whole().prop_map(Value::from), 1 => Just(json!(u64::MAX)), 1 => Just(json!(2.0))]
}

fn given_number() -> impl Strategy<Value = Value> {
    let short = ratio().prop_map(|ratio| ratio.to_string().parse().unwrap());
    prop_oneof![
        number().prop_map(Value::from),
        weight().prop_map(Value::from),
        short.prop_map(|number: f64| json!(number)),
        Just(json!(1)),
    ]
}

fn given_instant() -> impl Strategy<Value = Value> {
    let odd = select(vec![
        "2031-05-06",
        "2031-05-06T09:00:00.5+02:00",
        "9999-12-31T23:59:59.999999999+01:00",
        "0000-01-01T00:00:00-01:00",
        "1970-01-01T00:00:00.000001Z",
    ]);
    // A day matches all points in time on it. Use the days of the rows and their neighbors.
    let days = select(vec![
        "2031-05-07",
        "2031-05-08",
        "1970-01-01",
        "1969-12-31",
        "0001-01-01",
        "0000-12-31",
        "9999-12-31",
    ]);
    prop_oneof![
        3 => instant(1).prop_map(|instant| json!(instant)),
        1 => odd.prop_map(Value::from),
        2 => days.prop_map(Value::from),
    ]
}

fn given_day() -> impl Strategy<Value = Value> {
    prop_oneof![4 => day().prop_map(|day| json!(day)), 1 => Just(json!("0000-02-03"))]
}

fn given_state() -> impl Strategy<Value = Value> {
    state().prop_map(|state| json!(state))
}

/// Generates a condition on one of the fields `paths`.
fn condition(
    paths: &'static [&'static str],
    operators: &'static [&'static str],
    values: BoxedStrategy<Value>,
    plain: bool,
) -> BoxedStrategy<Value> {
    let several =
        prop::collection::vec(prop_oneof![9 => values.clone(), 1 => Just(Value::Null)], 1..4);
    let (operator, path) = (select(operators), select(paths));
    let given = (operator, values, several, any::<bool>(), 0..10_u8).prop_map(
        move |(operator, one, several, holds, short)| match operator {
            _ if plain && short == 0 => one,
            _ if plain && short == 1 => Value::Null,
            "exists" => json!({ operator: holds }),
            "in" | "nin" => json!({ operator: several }),
            _ => json!({ operator: one }),
        },
    );
    (path, given).prop_map(|(path, given)| json!({ path: given })).boxed()
}

const ORDERED: &[&str] = &["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "exists"];

fn filter() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        4 => condition(
            &["item_id", "title", "body", "place.city", "team.name", "team.lead"],
            &["eq", "ne", "in", "nin", "contains", "starts_with", "exists"],
            given_text().boxed(),
            true,
        ),
        2 => condition(
            &["tags", "place.rooms"],
            &["contains", "in", "nin", "exists"],
            given_text().boxed(),
            false,
        ),
        1 => condition(&["numbers"], &["contains", "in", "nin", "exists"], given_whole().boxed(), false),
        2 => condition(
            &["rank", "size", "score", "place.floor", "_computed.cents", "_computed.turned"],
            ORDERED,
            given_whole().boxed(),
            true,
        ),
        2 => condition(&["weight", "share", "ratio"], ORDERED, given_number().boxed(), true),
        2 => condition(&["state", "former"], &["eq", "ne", "in", "nin", "exists"], given_state().boxed(), true),
        1 => condition(
            &["done", "paid", "place.open", "_computed.is_closed"],
            &["eq", "ne", "exists"],
            any::<bool>().prop_map(Value::from).boxed(),
            true,
        ),
        1 => condition(&["due"], ORDERED, given_day().boxed(), true),
        3 => condition(&["created", "closed", "seen", "place.since"], ORDERED, given_instant().boxed(), true),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|each| json!({ "and": each })),
            prop::collection::vec(inner.clone(), 1..4).prop_map(|each| json!({ "or": each })),
            inner.prop_map(|inner| json!({ "not": inner })),
        ]
    })
    .boxed()
}

const SORTED: &[&str] = &[
    "item_id",
    "title",
    "body",
    "state",
    "former",
    "rank",
    "size",
    "score",
    "weight",
    "share",
    "ratio",
    "due",
    "created",
    "closed",
    "seen",
    "place.city",
    "place.floor",
    "place.since",
    "team.name",
    "team.lead",
    "_computed.cents",
    "_computed.turned",
];

fn sort() -> impl Strategy<Value = Value> {
    let key = (select(SORTED), any::<bool>()).prop_map(|(field, descending)| {
        json!({ "field": field, "order": if descending { "desc" } else { "asc" } })
    });
    prop::collection::vec(key, 1..4).prop_map(|mut keys| {
        let mut known = Vec::new();
        keys.retain(|key| {
            let new = !known.contains(&key["field"]);
            known.push(key["field"].clone());
            new
        });
        json!(keys)
    })
}

fn fields() -> impl Strategy<Value = Value> {
    let paths = select(vec![
        "item_id",
        "title",
        "body",
        "tags",
        "numbers",
        "state",
        "former",
        "rank",
        "size",
        "score",
        "weight",
        "share",
        "ratio",
        "done",
        "paid",
        "due",
        "created",
        "closed",
        "seen",
        "place",
        "place.city",
        "place.rooms",
        "place.since",
        "team",
        "team.name",
        "team.lead",
        "extra",
        "extra.a.b",
        "extra.d.e",
        "extra.a.b.c.x",
        "_computed.cents",
        "_computed.is_closed",
        "_computed.turned",
    ]);
    prop_oneof![
        select(vec!["minimal", "standard", "full"]).prop_map(Value::from),
        prop::collection::vec(paths, 1..6).prop_map(|paths| json!(paths)),
    ]
}

fn summary() -> impl Strategy<Value = Value> {
    let group = prop::option::of(select(vec![
        "title",
        "body",
        "state",
        "former",
        "rank",
        "done",
        "paid",
        "due",
        "created",
        "place.city",
        "team.name",
        "_computed.cents",
        "_computed.is_closed",
    ]));
    let numbers =
        || select(vec!["size", "score", "weight", "ratio", "_computed.cents", "place.floor"]);
    let any = select(vec![
        "size",
        "weight",
        "ratio",
        "rank",
        "due",
        "created",
        "closed",
        "seen",
        "place.since",
    ]);
    (
        group,
        prop::option::of(numbers()),
        prop::option::of(numbers()),
        prop::option::of(any.clone()),
        prop::option::of(any),
    )
        .prop_map(|(group, sum, avg, min, max)| {
            let mut summary = json!({ "count": true });
            for (name, field) in
                [("group_by", group), ("sum", sum), ("avg", avg), ("min", min), ("max", max)]
            {
                if let Some(field) = field {
                    summary[name] = json!(field);
                }
            }
            summary
        })
}

fn window() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({})),
        (1..8_u8).prop_map(|first| json!({ "first": first })),
        (1..8_u8).prop_map(|last| json!({ "last": last })),
        (1..8_u8, 0..20_u8).prop_map(|(limit, offset)| json!({ "limit": limit, "offset": offset })),
        (1..4_u8, 1..8_u8).prop_map(|(page, size)| json!({ "page": page, "page_size": size })),
    ]
}

/// Generates requests without cursors.
pub fn queries() -> impl Strategy<Value = Value> {
    let words = select(vec![
        "a",
        "A b",
        "strasse",
        "\"a b\"",
        "ab a",
        "É",
        "日本",
        "\"straße a\" z",
        "null",
        "\"a",
        "? a",
    ]);
    let summaries = prop::collection::vec(summary(), 1..3);
    (
        prop::option::weighted(0.3, words),
        prop::option::weighted(0.8, filter()),
        prop::option::weighted(0.7, sort()),
        prop::option::weighted(0.8, fields()),
        prop::option::weighted(0.3, summaries),
        any::<bool>(),
        window(),
    )
        .prop_map(|(words, filter, sort, fields, summaries, items, window)| {
            let mut query = window;
            for (name, value) in [
                ("query", words.map(Value::from)),
                ("filter", filter),
                ("sort", sort),
                ("fields", fields),
            ] {
                if let Some(value) = value {
                    query[name] = value;
                }
            }
            if let Some(summaries) = summaries {
                for (index, summary) in summaries.into_iter().enumerate() {
                    query["aggregate"][format!("s{index}")] = summary;
                }
                if items {
                    query["include_items"] = json!(true);
                } else {
                    query = without_window(query);
                }
            }
            query
        })
}

/// Removes everything about pages, because without rows there are none.
fn without_window(mut query: Value) -> Value {
    let members = query.as_object_mut().unwrap();
    members.retain(|name, _| matches!(name.as_str(), "query" | "filter" | "aggregate"));
    query
}
