//! Compares filters, sorts, searches, field selections, aggregates and page sizes with the model.

use fastrand::Rng;
use serde_json::{Value, json};

use super::filters::{self, Key, aggregate, filter, found, keys, sort};
use super::random::{chance, generator, one};
use super::tasks::{Call, Tasks, code};

pub(crate) const CASES: usize = 9_000;

/// Requests per set of tasks.
const PER_SET: usize = 1_500;

/// A request, and its parts in the form that the model uses.
struct Request {
    call: Call,
    filter: Value,
    keys: Vec<Key>,
    query: Option<String>,
}

fn request(random: &mut Rng, rows: &[Value]) -> Request {
    let filter = filter(random, rows, 2);
    let keys = keys(random);
    let query = chance(random, 30).then(|| filters::query(random));
    let mut params = json!({ "filter": filter });
    if !keys.is_empty() {
        params["sort"] = sort(&keys);
    }
    if let Some(query) = &query {
        params["query"] = json!(query);
    }
    match random.u8(..4) {
        0 => params["first"] = json!(random.usize(..=40)),
        1 => params["last"] = json!(random.usize(..=40)),
        // Above the maximum, the page has the maximum size.
        2 => params["first"] = json!(random.usize(101..=2_000)),
        _ => {}
    }
    if chance(random, 60) {
        params["fields"] = fields(random);
    }
    if chance(random, 25) {
        let expressions = (0..random.usize(1..=3))
            .map(|number| (format!("sum_{number}"), expression(random)))
            .collect();
        params["aggregate"] = Value::Object(expressions);
        if random.bool() {
            params["include_items"] = json!(random.bool());
        }
    }
    let operation = if query.is_some() { "search_tasks" } else { "list_tasks" };
    Request { call: ("read", operation, params), filter, keys, query }
}

const STORED: [&str; 11] = [
    "task_id",
    "title",
    "description",
    "status",
    "priority",
    "tags",
    "metadata",
    "due_date",
    "created_at",
    "updated_at",
    "_version",
];

fn fields(random: &mut Rng) -> Value {
    match random.u8(..5) {
        0 => json!("minimal"),
        1 => json!("standard"),
        2 => json!("full"),
        _ => {
            let mut paths: Vec<&str> =
                STORED.into_iter().filter(|path| *path != "_version").collect();
            paths.push("_computed.is_overdue");
            random.shuffle(&mut paths);
            paths.truncate(random.usize(1..=4));
            json!(paths)
        }
    }
}

fn expression(random: &mut Rng) -> Value {
    let mut expression = json!({});
    if chance(random, 40) {
        expression["group_by"] = json!(one(random, &["status", "priority"]));
    }
    for _ in 0..random.usize(1..=3) {
        match random.u8(..4) {
            0 => expression["count"] = json!(true),
            1 => expression["sum"] = json!("priority"),
            2 => expression["avg"] = json!("priority"),
            _ => {
                let path = *one(random, &["priority", "due_date", "created_at"]);
                expression[*one(random, &["min", "max"])] = json!(path);
            }
        }
    }
    expression
}

/// Returns the part of a row that a page shows.
fn shown(row: &Value, selected: &Value) -> Value {
    let preset: &[&str] = match selected.as_str() {
        Some("minimal") => &["task_id", "title"],
        Some("standard") => &["task_id", "title", "status", "priority", "tags", "due_date"],
        _ => &STORED,
    };
    let paths = match selected.as_array() {
        Some(paths) => paths.iter().map(|path| path.as_str().unwrap()).collect(),
        None => preset.to_vec(),
    };
    let mut shown = json!({});
    for path in paths {
        if path == "_computed.is_overdue" {
            let overdue = filters::holds(row, &json!({ "_computed.is_overdue": true }));
            shown["_computed"] = json!({ "is_overdue": overdue });
        } else if let Some(value) = row.get(path) {
            shown[path] = value.clone();
        }
    }
    shown
}

/// Returns `true` if the values are equal, except for rounding in the last digits of averages.
fn close(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(name, value)| right.get(name).is_some_and(|other| close(value, other)))
        }
        (Value::Number(left), Value::Number(right)) => {
            (left.as_f64().unwrap() - right.as_f64().unwrap()).abs() < 1e-9
        }
        _ => left == right,
    }
}

#[test]
fn a_page_holds_what_the_model_finds() {
    // REQ-COL-01, REQ-COL-04, REQ-COL-05, REQ-COL-09, REQ-AGG-04, REQ-AGG-05, REQ-FLD-06, REQ-FLD-07,
    // REQ-PAG-04, REQ-PAG-05, REQ-PAG-08
    let (mut random, seed) = generator("queries");
    for set in 0..CASES / PER_SET {
        let mut tasks = Tasks::start();
        let count = [0, 1, 30, 60, 110, 130][set % 6];
        let rows = tasks.fill(&mut random, count);
        // The generator takes values from rows, so it needs at least one.
        let samples = if rows.is_empty() {
            vec![json!({ "title": "a", "created_at": "2031-05-06T07:08:09Z" })]
        } else {
            rows.clone()
        };
        let requests: Vec<_> = (0..PER_SET).map(|_| request(&mut random, &samples)).collect();
        let calls: Vec<_> = requests.iter().map(|request| request.call.clone()).collect();
        for (case, (request, reply)) in requests.iter().zip(tasks.call_all(&calls)).enumerate() {
            let context =
                || format!("seed {seed}, set {set}, case {case}: {:?}: {reply}", request.call);
            assert_eq!(code(&reply), None, "{}", context());
            let wanted = found(&rows, request.query.as_deref(), &request.filter, &request.keys);
            check(request, &wanted, &reply["data"])
                .unwrap_or_else(|fault| panic!("{fault}: {}", context()));
        }
    }
}

/// Compares a page with the rows that the model finds.
fn check(request: &Request, wanted: &[Value], page: &Value) -> Result<(), String> {
    let params = &request.call.2;
    let expect = |name: &str, got: &Value, wanted: Value| {
        if close(got, &wanted) { Ok(()) } else { Err(format!("{name}: the model has {wanted}")) }
    };
    if let Some(expressions) = params["aggregate"].as_object() {
        for (label, expression) in expressions {
            expect(label, &page["aggregations"][label], aggregate(wanted, expression))?;
        }
        if params["include_items"] != true {
            return expect("items", &page["items"], Value::Null);
        }
    }
    let size =
        |name: &str| params[name].as_u64().map(|size| usize::try_from(size).unwrap().min(100));
    let rows = match size("last") {
        Some(last) => &wanted[wanted.len().saturating_sub(last)..],
        None => &wanted[..wanted.len().min(size("first").unwrap_or(20))],
    };
    let default = if request.query.is_some() { "minimal" } else { "standard" };
    let selected = params.get("fields").cloned().unwrap_or_else(|| json!(default));
    let items: Vec<_> = rows.iter().map(|row| shown(row, &selected)).collect();
    if page["items"] != json!(items) {
        return Err(format!("items: the model has {}", json!(items)));
    }
    let info = &page["pageInfo"];
    let more = rows.len() < wanted.len();
    let backwards = params.get("last").is_some();
    expect("totalCount", &info["totalCount"], json!(wanted.len()))?;
    expect("hasNextPage", &info["hasNextPage"], json!(more && !backwards))?;
    expect("hasPreviousPage", &info["hasPreviousPage"], json!(more && backwards))?;
    for name in ["startCursor", "endCursor"] {
        expect(name, &json!(info[name].is_string()), json!(!rows.is_empty()))?;
    }
    Ok(())
}
