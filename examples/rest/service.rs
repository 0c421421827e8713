//! The parcel service: an ordinary HTTP API that knows nothing about MCP. It listens on the loopback interface and ends
//! with the process. Use these requests to see how the adapter reports errors:
//!
//! | response | request |
//! |---|---|
//! | 404 | a parcel that does not exist |
//! | 409 | a reference that exists; a change or withdrawal of a moving parcel |
//! | 412 | a change with an outdated version in `If-Match` |
//! | 422 | more than 30 kg, or more than 20 kg without a phone number |
//! | 429 | one parcel's position four times in a minute |
//! | 500 | the position of `p-3` |
//! | a slow response | the position of `p-2` |

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::header::{CONTENT_TYPE, ETAG, IF_MATCH, RETRY_AFTER};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use reqwest::Url;
use serde_json::{Value, json};

/// Maximum number of requests for one parcel's position in [`WINDOW`].
const MAX_POSITION_REQUESTS: usize = 3;
const WINDOW: Duration = Duration::from_secs(60);
/// Delay of a response from the pigeon carrier.
const SLOW_ANSWER_DELAY: Duration = Duration::from_secs(30);

type Service = State<Arc<Mutex<Depot>>>;

struct Depot {
    parcels: BTreeMap<String, Stored>,
    last: u32,
}

struct Stored {
    /// The parcel as clients see it.
    parcel: Value,
    version: u32,
    /// The times of the recent requests for its position.
    asked: Vec<Instant>,
}

/// Starts the service on a free port and returns its base URL.
pub(crate) async fn start() -> std::io::Result<Url> {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
    let url = format!("http://{}", listener.local_addr()?);
    let routes = Router::new()
        .route("/parcels", get(list).post(create))
        .route("/parcels/{id}", get(show).patch(change).delete(withdraw))
        .route("/parcels/{id}/position", get(position))
        .with_state(Arc::new(Mutex::new(Depot::with_some_parcels())));
    tokio::spawn(async { axum::serve(listener, routes).await });
    url.parse().map_err(std::io::Error::other)
}

async fn list(State(depot): Service) -> Response {
    let depot = open(&depot);
    let parcels: Vec<_> = depot.parcels.values().map(|stored| &stored.parcel).collect();
    answer(StatusCode::OK, &json!(parcels))
}

async fn show(State(depot): Service, Path(id): Path<String>) -> Response {
    open(&depot).parcels.get(&id).map_or_else(|| missing(&id), shown)
}

async fn create(State(depot): Service, body: Bytes) -> Response {
    let Ok(parcel @ Value::Object(_)) = serde_json::from_slice::<Value>(&body) else {
        return answer(StatusCode::BAD_REQUEST, &json!({ "error": "JSON expected" }));
    };
    if let Some(complaint) = complaint(&parcel) {
        return complaint;
    }
    let mut depot = open(&depot);
    let reference = parcel.get("reference");
    if depot.parcels.values().any(|stored| stored.parcel.get("reference") == reference) {
        let error = json!({ "error": "duplicate key value violates unique constraint" });
        return answer(StatusCode::CONFLICT, &error);
    }
    let mut created = depot.add(parcel, "post", "waiting");
    *created.status_mut() = StatusCode::CREATED;
    created
}

async fn change(
    State(depot): Service,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let mut depot = open(&depot);
    let Some(stored) = depot.parcels.get_mut(&id) else { return missing(&id) };
    let Ok(patch) = serde_json::from_slice::<Value>(&body) else {
        return answer(StatusCode::BAD_REQUEST, &json!({ "error": "JSON expected" }));
    };
    let etag = stored.etag();
    if headers.get(IF_MATCH).is_some_and(|wanted| wanted.as_bytes() != etag.as_bytes()) {
        return (StatusCode::PRECONDITION_FAILED, [(ETAG, etag)]).into_response();
    }
    if !stored.waits() {
        return answer(StatusCode::CONFLICT, &json!({ "error": "left the depot" }));
    }
    let mut parcel = stored.parcel.clone();
    mcp_aql::update::merge_json(&mut parcel, patch);
    if let Some(complaint) = complaint(&parcel) {
        return complaint;
    }
    stored.parcel = parcel;
    stored.version += 1;
    shown(stored)
}

async fn withdraw(State(depot): Service, Path(id): Path<String>) -> Response {
    let mut depot = open(&depot);
    match depot.parcels.get(&id) {
        None => missing(&id),
        Some(stored) if !stored.waits() => {
            answer(StatusCode::CONFLICT, &json!({ "error": "left the depot" }))
        }
        Some(_) => {
            depot.parcels.remove(&id);
            StatusCode::NO_CONTENT.into_response()
        }
    }
}

async fn position(State(depot): Service, Path(id): Path<String>) -> Response {
    let carrier = {
        let mut depot = open(&depot);
        let Some(stored) = depot.parcels.get_mut(&id) else { return missing(&id) };
        stored.asked.retain(|asked| asked.elapsed() < WINDOW);
        if let Some(first) =
            stored.asked.first().filter(|_| stored.asked.len() >= MAX_POSITION_REQUESTS)
        {
            let wait = (WINDOW.saturating_sub(first.elapsed()).as_secs() + 1).to_string();
            return (StatusCode::TOO_MANY_REQUESTS, [(RETRY_AFTER, wait)]).into_response();
        }
        stored.asked.push(Instant::now());
        stored.parcel.get("carrier").and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    match carrier.as_str() {
        "pigeon" => tokio::time::sleep(SLOW_ANSWER_DELAY).await,
        "stork" => {
            let error = json!({ "error": "stork-gw.internal:5432 refused the connection" });
            return answer(StatusCode::INTERNAL_SERVER_ERROR, &error);
        }
        _ => {}
    }
    answer(StatusCode::OK, &json!({ "place": "Dover", "km_to_go": 125 }))
}

impl Depot {
    fn with_some_parcels() -> Self {
        let mut depot = Self { parcels: BTreeMap::new(), last: 0 };
        for (reference, carrier, status) in [
            ("order-11", "post", "moving"),
            ("order-12", "pigeon", "moving"),
            ("order-13", "stork", "waiting"),
            ("order-14", "post", "waiting"),
        ] {
            let recipient = json!({ "name": "Ada", "street": "Main Street 1", "city": "London" });
            let parcel = json!({
                "reference": reference, "recipient": recipient, "weight_g": 900,
                "note": "ring twice",
            });
            depot.add(parcel, carrier, status);
        }
        depot
    }

    /// Stores a parcel and returns the response for its sender.
    fn add(&mut self, mut parcel: Value, carrier: &str, status: &str) -> Response {
        self.last += 1;
        let id = format!("p-{}", self.last);
        let rest = json!({ "parcel_id": id, "carrier": carrier, "status": status });
        mcp_aql::update::merge_json(&mut parcel, rest);
        let stored = Stored { parcel, version: 1, asked: Vec::new() };
        let response = shown(&stored);
        self.parcels.insert(id, stored);
        response
    }
}

impl Stored {
    fn etag(&self) -> String {
        format!("\"{}\"", self.version)
    }

    fn waits(&self) -> bool {
        self.parcel.get("status").is_some_and(|status| status == "waiting")
    }
}

/// Validates a parcel. Returns the error response for an invalid one.
fn complaint(parcel: &Value) -> Option<Response> {
    let weight = parcel.get("weight_g").and_then(Value::as_u64).unwrap_or(0);
    let (field, rule) = match parcel.pointer("/recipient/phone") {
        _ if weight > 30_000 => ("weight_g", "max"),
        None if weight > 20_000 => ("recipient.phone", "missing"),
        _ => return None,
    };
    let error = json!({ "field": field, "rule": rule });
    Some(answer(StatusCode::UNPROCESSABLE_ENTITY, &error))
}

fn shown(stored: &Stored) -> Response {
    let mut response = answer(StatusCode::OK, &stored.parcel);
    if let Ok(etag) = stored.etag().parse() {
        response.headers_mut().insert(ETAG, etag);
    }
    response
}

fn missing(id: &str) -> Response {
    answer(StatusCode::NOT_FOUND, &json!({ "error": format!("no row in parcels for {id}") }))
}

fn answer(status: StatusCode, body: &Value) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

fn open(depot: &Mutex<Depot>) -> MutexGuard<'_, Depot> {
    depot.lock().unwrap_or_else(PoisonError::into_inner)
}
