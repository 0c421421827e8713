//! Tests with arbitrary rows and queries: results must equal those of the naive implementation, and pages must be
//! complete.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, NaiveDate};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};

use super::garden::{Garden, Health, Kind, Plant, Visit, adapter_of, bed, builder, plant};
use super::naive::{self, FIELDS, Field, Form};
use crate::support::{call, code, data};

fn word() -> impl Strategy<Value = String> {
    select(vec!["oak", "Oak", "oaks", "elm", "red elm", "null", "", "a b c", "x-ray", "~"])
        .prop_map(str::to_owned)
}

fn float() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (-8..8_i8).prop_map(|quarters| f64::from(quarters) / 4.0),
        // Only use numbers that every JSON parser reads in the same way.
        1 => any::<i32>().prop_map(|parts| f64::from(parts) / 64.0),
        1 => Just(-0.0),
    ]
}

fn a_day() -> impl Strategy<Value = NaiveDate> {
    (0..6_i64).prop_map(|days| {
        NaiveDate::from_ymd_opt(2030, 2, 26).unwrap() + chrono::Duration::days(days)
    })
}

fn one() -> impl Strategy<Value = Plant> {
    let first = (
        word(),
        option::of(word()),
        select(vec![Kind::Tree, Kind::Shrub, Kind::Herb]),
        option::of(select(vec![Health::NotWell, Health::Fine, Health::AtItsBest])),
        0..4_u8,
        option::of(prop_oneof![3 => -3..3_i64, 1 => -(1_i64 << 40)..(1_i64 << 40)]),
        float(),
        option::of(
            prop_oneof![4 => (-8..8_i8).prop_map(|it| f32::from(it) / 2.0), 1 => Just(f32::NAN)],
        ),
    );
    let second = (
        any::<bool>(),
        vec(word(), 0..3),
        vec(-3..3_i32, 0..3),
        option::of(a_day()),
        (0..5_i64, 0..3_u32).prop_map(|(seconds, parts)| {
            DateTime::from_timestamp(1_930_000_000 + seconds, parts * 250_000_000).unwrap()
        }),
        option::of((word(), option::of(float()), -2..2_i16)),
        vec((word(), 0..9_u32), 0..2),
    );
    (first, second).prop_map(|(first, second)| {
        let (name, note, kind, health, rank, change, height, mass) = first;
        let (rare, tags, fruits, planted, seen_at, place, visits) = second;
        Plant {
            note,
            kind,
            health,
            rank,
            change,
            height,
            mass,
            rare,
            tags,
            fruits,
            planted,
            seen_at,
            bed: place.and_then(|(zone, moisture, acidity)| bed(&zone, moisture, acidity)),
            visits: visits.into_iter().map(|(by, minutes)| Visit { by, minutes }).collect(),
            extra: BTreeMap::from([("rank".to_owned(), json!(rank))]),
            ..plant(0, &name)
        }
    })
}

/// Generates rows whose ids are in random order.
pub(super) fn rows(most: usize) -> impl Strategy<Value = Vec<Plant>> {
    vec(one(), 0..most).prop_map(number).prop_shuffle()
}

fn number(mut plants: Vec<Plant>) -> Vec<Plant> {
    for (plant, number) in plants.iter_mut().zip(1..) {
        plant.plant_id = number;
    }
    plants
}

/// Generates a value to compare a field with.
fn operand(field: &Field) -> BoxedStrategy<Value> {
    match field.form {
        Form::Number if field.whole => prop_oneof![
            4 => (-3..6_i64).prop_map(Value::from),
            1 => (-3..6_i32).prop_map(|it| Value::from(f64::from(it))),
        ]
        .boxed(),
        Form::Number => {
            prop_oneof![3 => float().prop_map(Value::from), 1 => (-3..3_i64).prop_map(Value::from)]
                .boxed()
        }
        Form::Text => word().prop_map(Value::from).boxed(),
        Form::Choice(names) => select(names).prop_map(Value::from).boxed(),
        Form::Bool => any::<bool>().prop_map(Value::from).boxed(),
        Form::Day => a_day().prop_map(|day| Value::from(day.to_string())).boxed(),
        Form::Instant => prop_oneof![
            select(vec![
                "2031-02-27T15:06:42Z",
                "2031-02-27T16:06:42.250+01:00",
                "2031-02-27T15:06:41.5Z",
                "2031-02-27",
                "2031-02-28",
            ])
            .prop_map(Value::from),
            (0..5_i64).prop_map(|it| {
                Value::from(DateTime::from_timestamp(1_930_000_000 + it, 0).unwrap().to_rfc3339())
            }),
        ]
        .boxed(),
    }
}

fn maybe_null(values: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    prop_oneof![6 => values, 1 => Just(Value::Null)].boxed()
}

/// Generates a condition on a random field.
fn condition() -> impl Strategy<Value = (String, Value)> {
    (0..FIELDS.len()).prop_flat_map(|place| {
        let field = &FIELDS[place];
        let list = || vec(maybe_null(operand(field)), 0..4).prop_map(Value::from).boxed();
        let bare = if field.list { operand(field) } else { maybe_null(operand(field)) };
        let mut operators: Vec<BoxedStrategy<(&'static str, Value)>> =
            vec![any::<bool>().prop_map(|it| ("exists", json!(it))).boxed()];
        let mut add = |name: &'static str, values: BoxedStrategy<Value>| {
            operators.push(values.prop_map(move |value| (name, value)).boxed());
        };
        if field.form != Form::Bool {
            add("in", list());
            add("nin", list());
        }
        if field.list {
            add("contains", operand(field));
        } else {
            add("eq", maybe_null(operand(field)));
            add("ne", maybe_null(operand(field)));
            match field.form {
                Form::Text => {
                    add("contains", operand(field));
                    add("starts_with", operand(field));
                }
                Form::Number | Form::Day | Form::Instant => {
                    for name in ["gt", "gte", "lt", "lte"] {
                        add(name, operand(field));
                    }
                }
                Form::Choice(_) | Form::Bool => {}
            }
        }
        let tests = vec(proptest::strategy::Union::new(operators), 1..3).prop_map(|tests| {
            Value::Object(tests.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
        });
        let asked = if field.form == Form::Bool {
            prop_oneof![bare, tests].boxed()
        } else {
            // An empty list is rejected, because its meaning would be unclear.
            let some = list().prop_filter("no value", |list| list != &json!([]));
            prop_oneof![bare, some, tests].boxed()
        };
        asked.prop_map(move |value| (field.path.to_owned(), value))
    })
}

fn object(members: Vec<(String, Value)>) -> Value {
    Value::Object(members.into_iter().collect())
}

pub(super) fn filter() -> impl Strategy<Value = Value> {
    vec(condition(), 0..3).prop_map(object).prop_recursive(3, 12, 3, |inner| {
        let group = prop_oneof![
            (select(vec!["and", "or"]), vec(inner.clone(), 1..3))
                .prop_map(|(name, all)| (name.to_owned(), json!(all))),
            inner.prop_map(|not| ("not".to_owned(), not)),
        ];
        (vec(condition(), 0..2), vec(group, 1..3)).prop_map(|(mut all, groups)| {
            all.extend(groups);
            object(all)
        })
    })
}

fn paths(wanted: impl Fn(&Field) -> bool) -> Vec<&'static str> {
    FIELDS.iter().filter(|field| wanted(field)).map(|field| field.path).collect()
}

pub(super) type Keys = Vec<(&'static str, bool)>;

pub(super) fn sort() -> impl Strategy<Value = Keys> {
    let paths = subsequence(paths(|field| field.sort), 0..4).prop_shuffle();
    (paths, vec(any::<bool>(), 4)).prop_map(|(paths, down)| paths.into_iter().zip(down).collect())
}

pub(super) fn sort_param(keys: &Keys) -> Value {
    let keys = keys
        .iter()
        .map(|(path, down)| json!({ "field": path, "order": if *down { "desc" } else { "asc" } }));
    keys.collect()
}

pub(super) fn expression() -> impl Strategy<Value = Map<String, Value>> {
    let numeric = || select(paths(|field| field.numeric)).prop_map(Value::from);
    let ordered = || {
        select(paths(|field| {
            field.numeric || (field.sort && matches!(field.form, Form::Day | Form::Instant))
        }))
        .prop_map(Value::from)
    };
    let of = |name: &'static str, value: Option<Value>| value.map(|value| (name.to_owned(), value));
    let functions = (
        option::of(any::<bool>().prop_map(Value::from)),
        option::of(numeric()),
        option::of(numeric()),
        option::of(ordered()),
        option::of(ordered()),
        option::of(select(paths(|field| field.group)).prop_map(Value::from)),
    );
    functions.prop_map(move |(count, sum, avg, min, max, group)| {
        let mut all: Map<_, _> = [of("sum", sum), of("avg", avg), of("min", min), of("max", max)]
            .into_iter()
            .flatten()
            .collect();
        all.extend(of("count", if all.is_empty() { Some(json!(true)) } else { count }));
        all.extend(of("group_by", group));
        all
    })
}

/// Returns `true` if two results are equal, apart from rounding in sums of floating-point numbers.
fn close(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            if one.is_f64() || other.is_f64() {
                let (one, other) = (one.as_f64().unwrap(), other.as_f64().unwrap());
                (one - other).abs() <= 1e-9 * one.abs().max(other.abs()).max(1.0)
            } else {
                one == other
            }
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(name, value)| other.get(name).is_some_and(|other| close(value, other)))
        }
        _ => one == other,
    }
}

fn numbers(page: &Value) -> Vec<u64> {
    page["items"].as_array().unwrap().iter().map(|row| row["plant_id"].as_u64().unwrap()).collect()
}

/// Returns the rows that the naive implementation finds, in order.
fn expected(rows: &[Value], filter: &Value, keys: &Keys) -> Vec<Value> {
    let mut found: Vec<_> = rows.iter().filter(|row| naive::holds(row, filter)).cloned().collect();
    found.sort_by(|one, other| naive::order(one, other, keys));
    found
}

fn with_sort(mut params: Value, keys: &Keys) -> Value {
    if !keys.is_empty() {
        params["sort"] = sort_param(keys);
    }
    params
}

const DEFAULT: [(&str, bool); 2] = [("rank", true), ("name", false)];

fn effective(keys: &Keys) -> Keys {
    if keys.is_empty() { DEFAULT.to_vec() } else { keys.clone() }
}

/// Generates an arbitrary value for a parameter.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[ -~]{0,12}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        select(vec![
            "name",
            "rank",
            "tree",
            "full",
            "desc",
            "2030-01-01",
            "_computed.age_days",
            "bed.zone"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 30, 4, |inner| {
        let name = prop_oneof![
            4 => select(vec![
                "and", "or", "not", "name", "rank", "kind", "tags", "bed", "bed.zone", "planted", "field",
                "order", "eq", "gt", "in", "nin", "exists", "contains", "count", "group_by", "sum", "min",
            ]).prop_map(str::to_owned),
            1 => any::<String>(),
        ];
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((name, inner), 0..4).prop_map(object),
        ]
    })
}

const CONTROLS: [&str; 15] = [
    "filter",
    "sort",
    "order",
    "fields",
    "preset",
    "aggregate",
    "include_items",
    "first",
    "after",
    "last",
    "before",
    "limit",
    "offset",
    "page",
    "page_size",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pages_equal_those_of_the_naive_implementation(
        plants in rows(30),
        filter in filter(),
        keys in sort(),
        window in 0..6_usize,
        size in 0..12_usize,
        skipped in 0..20_usize,
    ) {
        // REQ-COL-04, REQ-COL-05, REQ-PAG-06, REQ-PAG-11
        let rows: Vec<_> = plants.iter().map(naive::row).collect();
        let wanted = expected(&rows, &filter, &effective(&keys));
        let (adapter, _) = adapter_of(plants);
        let mut params = with_sort(json!({ "filter": filter }), &keys);
        let count = wanted.len();
        let (range, total) = match window {
            0 => (0..20, "pageInfo"),
            1 => { params["first"] = json!(size); (0..size, "pageInfo") }
            2 => { params["last"] = json!(size); (count.saturating_sub(size)..count, "pageInfo") }
            3 => {
                params["limit"] = json!(size);
                params["offset"] = json!(skipped);
                (skipped..skipped + size, "pagination")
            }
            4 => {
                params["page"] = json!(skipped + 1);
                params["page_size"] = json!(size + 1);
                (skipped * (size + 1)..(skipped + 1) * (size + 1), "pagination")
            }
            _ => { params["offset"] = json!(skipped); (skipped..skipped + 20, "pagination") }
        };
        let page = data(call(&adapter, "list_plants", params.clone()));
        let slice = &wanted[range.start.min(count)..range.end.min(count)];
        let mut stored = slice.to_vec();
        for row in &mut stored {
            row.as_object_mut().unwrap().remove("_computed");
        }
        prop_assert_eq!(&page["items"], &json!(stored), "{}", params);
        let told = if total == "pageInfo" { &page[total]["totalCount"] } else { &page[total]["total_items"] };
        prop_assert_eq!(told, count, "{}", params);
        if total == "pageInfo" {
            prop_assert_eq!(&page[total]["hasNextPage"], window != 2 && range.end < count);
            prop_assert_eq!(&page[total]["hasPreviousPage"], window == 2 && range.start > 0);
        } else {
            prop_assert_eq!(&page[total]["has_more"], range.end < count);
        }
    }

    #[test]
    fn aggregates_equal_those_of_the_naive_implementation(
        plants in rows(40),
        filter in filter(),
        expressions in vec(expression(), 1..4),
    ) {
        // REQ-AGG-02, REQ-AGG-04, REQ-AGG-06
        let rows: Vec<_> = plants.iter().map(naive::row).collect();
        let found: Vec<_> = rows.iter().filter(|row| naive::holds(row, &filter)).collect();
        let (adapter, _) = adapter_of(plants);
        let labelled: Map<String, Value> = expressions
            .iter()
            .enumerate()
            .map(|(number, expression)| (format!("label {number}"), expression.clone().into()))
            .collect();
        let params = json!({ "filter": filter, "aggregate": labelled });
        let got = data(call(&adapter, "list_plants", params))["aggregations"].clone();
        for (number, expression) in expressions.iter().enumerate() {
            let wanted = naive::aggregate(&found, expression);
            let got = &got[format!("label {number}")];
            prop_assert!(close(got, &wanted), "{expression:?}: {got} is not {wanted}");
        }
    }

    #[test]
    fn searches_equal_those_of_the_naive_implementation(
        plants in rows(30),
        words in vec(prop_oneof![word(), Just("\"red elm\"".to_owned()), Just("\"b c\"".to_owned()), Just("EL".to_owned())], 1..4),
        filter in filter(),
    ) {
        // REQ-COL-09
        let query = words.join(" ");
        let rows: Vec<_> = plants.iter().map(naive::row).collect();
        let mut wanted: Vec<(u64, u64)> = rows
            .iter()
            .filter(|row| naive::holds(row, &filter))
            .map(|row| (naive::score(row, &query), row["plant_id"].as_u64().unwrap()))
            .filter(|(score, _)| *score > 0)
            .collect();
        wanted.sort_by_key(|(score, number)| (u64::MAX - score, *number));
        let (adapter, _) = adapter_of(plants);
        let params = json!({ "query": query, "filter": filter, "first": 100 });
        let reply = call(&adapter, "search_plants", params);
        if code(&reply).is_some() {
            prop_assert!(!query.chars().any(|each| each.is_ascii_alphanumeric()), "{reply}");
        } else {
            let wanted: Vec<_> = wanted.into_iter().map(|(_, number)| number).collect();
            prop_assert_eq!(numbers(&reply["data"]), wanted, "{}", query);
        }
    }

    #[test]
    fn selected_fields_equal_those_of_the_whole_row(
        plants in rows(8),
        chosen in subsequence(vec![
            "plant_id", "name", "note", "tags", "planted", "bed", "bed.zone", "bed.soil", "bed.soil.colour",
            "visits", "visits.by", "extra", "extra.rank", "extra.none", "_computed.age_days",
            "_computed.is_tall", "_computed.sign", "mass", "height",
        ], 1..8).prop_shuffle(),
    ) {
        // REQ-FLD-03, REQ-FLD-07, REQ-FLD-08, REQ-CMP-01
        let mut rows: Vec<_> = plants.iter().map(naive::row).collect();
        rows.sort_by_key(|row| row["plant_id"].as_u64());
        let (adapter, _) = adapter_of(plants);
        let params = json!({ "fields": chosen, "sort": { "field": "plant_id" } });
        let page = data(call(&adapter, "list_plants", params));
        let wanted: Vec<_> = rows.iter().map(|row| naive::pick(row, &chosen)).collect();
        prop_assert_eq!(&page["items"], &json!(wanted), "{:?}", chosen);
    }

    #[test]
    fn walking_visits_every_row_once(
        plants in rows(40),
        filter in filter(),
        keys in sort(),
        sizes in vec(1..7_usize, 1..6),
        backwards in any::<bool>(),
        searched in any::<bool>(),
    ) {
        // REQ-PAG-01, REQ-PAG-04, REQ-PAG-09, REQ-PAG-10
        let rows: Vec<_> = plants.iter().map(naive::row).collect();
        let wanted = expected(&rows, &filter, &effective(&keys));
        let (adapter, _) = adapter_of(plants);
        let (size, end, more) =
            if backwards { ("last", "startCursor", "hasPreviousPage") } else { ("first", "endCursor", "hasNextPage") };
        let control = if backwards { "before" } else { "after" };
        let operation = if searched { "search_plants" } else { "list_plants" };
        let base = || {
            let params = with_sort(json!({ "filter": filter }), &keys);
            if searched { let mut params = params; params["query"] = json!("oak elm"); params } else { params }
        };
        // Read all rows on a single page, then on several pages.
        let mut whole = base();
        whole["first"] = json!(100);
        let whole = numbers(&data(call(&adapter, operation, whole)));
        if !searched {
            let wanted: Vec<_> = wanted.iter().map(|row| row["plant_id"].as_u64().unwrap()).collect();
            prop_assert_eq!(&whole, &wanted);
        }
        let mut seen = Vec::new();
        let mut cursor = Value::Null;
        for step in 0.. {
            prop_assert!(step < 60, "it never ends");
            let mut params = base();
            params[size] = json!(sizes[step % sizes.len()]);
            if !cursor.is_null() {
                params[control] = cursor.clone();
            }
            let page = data(call(&adapter, operation, params));
            let mut on_page = numbers(&page);
            if backwards {
                on_page.extend(seen);
                seen = on_page;
            } else {
                seen.extend(on_page);
            }
            let info = &page["pageInfo"];
            let other = if backwards { "hasNextPage" } else { "hasPreviousPage" };
            prop_assert_eq!(&info[other], step > 0);
            if info[more] == false {
                break;
            }
            cursor = info[end].clone();
        }
        prop_assert_eq!(seen, whole);
    }

    #[test]
    fn rows_that_stay_are_seen_once_whatever_comes_and_goes(
        plants in rows(30),
        more in vec(one(), 0..20),
        gone in vec(any::<prop::sample::Index>(), 0..20),
        keys in sort(),
        sizes in vec(1..5_usize, 1..4),
        backwards in any::<bool>(),
    ) {
        // REQ-PAG-09, REQ-PAG-10
        let staying: BTreeSet<u64> = {
            let gone: BTreeSet<_> = gone.iter().filter(|_| !plants.is_empty()).map(|place| plants[place.index(plants.len())].plant_id).collect();
            plants.iter().filter(|plant| !gone.contains(&plant.plant_id)).map(|plant| u64::from(plant.plant_id)).collect()
        };
        let mut leaving: Vec<_> = plants.iter().map(|plant| plant.plant_id).filter(|number| !staying.contains(&u64::from(*number))).collect();
        let mut coming = number(more);
        for plant in &mut coming {
            plant.plant_id += 1_000;
        }
        let garden = Garden::new(plants);
        let adapter = builder(garden.clone()).build().unwrap();
        let (size, control, end, more) = if backwards {
            ("last", "before", "startCursor", "hasPreviousPage")
        } else {
            ("first", "after", "endCursor", "hasNextPage")
        };
        let mut seen = Vec::new();
        let mut cursor = Value::Null;
        for step in 0.. {
            prop_assert!(step < 100, "it never ends");
            let mut params = with_sort(json!({ size: sizes[step % sizes.len()] }), &keys);
            if !cursor.is_null() {
                params[control] = cursor.clone();
            }
            let page = data(call(&adapter, "list_plants", params));
            seen.extend(numbers(&page));
            if page["pageInfo"][more] == false {
                break;
            }
            cursor = page["pageInfo"][end].clone();
            garden.with(|plants| {
                if let Some(number) = leaving.pop() {
                    plants.retain(|plant| plant.plant_id != number);
                }
                if let Some(plant) = coming.pop() {
                    let place = usize::from(plant.rank).min(plants.len());
                    plants.insert(place, plant);
                }
            });
        }
        let once: BTreeSet<_> = seen.iter().copied().collect();
        prop_assert_eq!(once.len(), seen.len(), "a row came twice: {:?}", seen);
        prop_assert!(staying.is_subset(&once), "{:?} lacks some of {:?}", once, staying);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_best_of_many_rows_are_kept(
        kinds in vec(one(), 1..40),
        step in select(vec![1_u32, 7, 611, 1_201]),
        keys in sort(),
        filter in prop_oneof![3 => Just(json!({})), 1 => filter()],
        size in 1..30_usize,
        backwards in any::<bool>(),
        searched in any::<bool>(),
    ) {
        // REQ-COL-05, REQ-PAG-01, REQ-PAG-09
        // Use more rows than the executor processes at once. They are in random order, and many are equal.
        const MANY: u32 = 1_300;
        let plants: Vec<_> = (0..MANY)
            .map(|place| Plant {
                plant_id: place * step % 1_301,
                ..kinds[place as usize * 13 % kinds.len()].clone()
            })
            .collect();
        let rows: Vec<_> = plants.iter().map(naive::row).collect();
        let mut wanted = expected(&rows, &filter, &effective(&keys));
        if searched {
            wanted.retain(|row| naive::score(row, "elm oak") > 0);
            if keys.is_empty() {
                wanted.sort_by_key(|row| {
                    (u64::MAX - naive::score(row, "elm oak"), row["plant_id"].as_u64())
                });
            }
        }
        let mut wanted: Vec<_> =
            wanted.iter().map(|row| row["plant_id"].as_u64().unwrap()).collect();
        let (adapter, _) = adapter_of(plants);
        let (count, control, end) =
            if backwards { ("last", "before", "startCursor") } else { ("first", "after", "endCursor") };
        if backwards {
            wanted.reverse();
        }
        let mut cursor = Value::Null;
        for page in 0..3 {
            let mut params = with_sort(json!({ "filter": filter, count: size }), &keys);
            let operation = if searched { "search_plants" } else { "list_plants" };
            if searched {
                params["query"] = json!("elm oak");
            }
            if !cursor.is_null() {
                params[control] = cursor;
            }
            let got = data(call(&adapter, operation, params));
            let mut on_page = numbers(&got);
            if backwards {
                on_page.reverse();
            }
            let start = (page * size).min(wanted.len());
            let rest = &wanted[start..(start + size).min(wanted.len())];
            prop_assert_eq!(on_page, rest);
            prop_assert_eq!(&got["pageInfo"]["totalCount"], wanted.len());
            cursor = got["pageInfo"][end].clone();
            if cursor.is_null() {
                break;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_controls_are_answered(
        controls in vec((select(CONTROLS.as_slice()), anything()), 1..5),
        mixed in option::of((filter(), sort(), expression())),
    ) {
        // REQ-COL-04, REQ-COL-05, REQ-AGG-08, REQ-FLD-09, REQ-PAG-02, REQ-ERR-04
        let mut params = Value::Object(controls.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
        if let Some((filter, keys, expression)) = mixed {
            params["filter"] = filter;
            params["aggregate"] = json!({ "it": expression });
            params = with_sort(params, &keys);
        }
        for operation in ["list_plants", "search_plants", "get_plant"] {
            let mut params = params.clone();
            match operation {
                "search_plants" => params["query"] = json!("apple"),
                "get_plant" => {
                    params = json!({ "plant_id": 1, "fields": params.get("fields"), "preset": params.get("preset") });
                }
                _ => {}
            }
            let reply = call(&super::garden::GARDEN, operation, params.clone());
            if let Some(code) = code(&reply) {
                prop_assert!(code.starts_with("VALIDATION_"), "{params}: {reply}");
                let said = crate::support::message(&reply);
                prop_assert!(!mcp_aql::testing::leaks_internals(said), "{said}");
            }
        }
    }
}
