//! Sends thousands of forged, replayed and crossed confirmations over HTTP. An independent model decides which calls
//! may run.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use chrono::DateTime;
use mcp_aql::audit::AuditSink;
use mcp_aql::auth::{Principal, StaticTokens};
use mcp_aql::prelude::*;
use mcp_aql::testing::TimeSource;
use mcp_aql::update::FieldChange;
use mcp_aql::{BoxFuture, HttpOptions};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::authentication::reply;
use super::keep_alive::KeepAlive;
use super::{Server, newest, start};

/// The number of calls whose token must not be accepted.
const FORGERIES: usize = 10_000;
/// One of this many steps issues a token. Half of the issued tokens are used.
const GENUINE_SHARE: u64 = 10;
/// The number of forgeries in one request. Single calls would take three times as long.
const BATCH: usize = 20;
/// The validity of a confirmation plus the tolerance for clocks, in seconds.
const LIFETIME: i64 = 300 + 30;
const START: i64 = 1_900_000_000;

/// A completed call: the operation, its parameters, and the subject of the principal.
type Run = (&'static str, Value, String);

/// Records the completed calls.
#[derive(Clone, Default)]
struct Ledger(Arc<Mutex<Vec<Run>>>);

impl Ledger {
    fn record(&self, context: &Context, operation: &'static str, params: Value) {
        let subject = context.principal().map(|it| it.subject().to_owned()).unwrap_or_default();
        self.0.lock().unwrap().push((operation, params, subject));
    }
}

/// A customer.
#[derive(Clone, Deserialize, JsonSchema, UpdateInput)]
struct Customer {
    /// Name.
    name: String,
    /// Where parcels go.
    address: Option<Address>,
}

/// An address.
#[derive(Clone, Default, Deserialize, JsonSchema, UpdateInput)]
struct Address {
    /// Town.
    city: String,
}

#[mcp_aql::operations]
impl Ledger {
    /// Delete an order.
    #[operation(category = "DELETE")]
    fn delete_order(
        &self,
        context: Context,
        /// Number.
        id: u32,
        /// Why.
        note: Option<String>,
    ) {
        self.record(&context, "delete_order", json!({ "id": id, "note": note }));
    }

    /// Delete an invoice.
    #[operation(category = "DELETE")]
    fn delete_invoice(
        &self,
        context: Context,
        /// Number.
        id: u32,
        /// Why.
        note: Option<String>,
    ) {
        self.record(&context, "delete_invoice", json!({ "id": id, "note": note }));
    }

    /// Delete an order of the caller's tenant.
    #[operation(category = "DELETE")]
    fn delete_tenant_order(
        &self,
        context: Context,
        #[param(from_claim = "tenant")] tenant: String,
        /// Number.
        id: u32,
        /// Why.
        note: Option<String>,
    ) {
        let params = json!({ "id": id, "note": note, "tenant": tenant });
        self.record(&context, "delete_tenant_order", params);
    }

    /// Change a customer.
    #[operation(
        category = "UPDATE",
        danger(confirmation_message = "Move customer {id} to {input.address.city}?")
    )]
    fn update_customer(
        &self,
        context: Context,
        /// Number.
        id: u32,
        input: Update<Customer>,
    ) {
        let changed = input.changed_fields().map(|name| match input.change(name) {
            FieldChange::Set(value) => (name.to_owned(), value.clone()),
            _ => (name.to_owned(), Value::Null),
        });
        let params = json!({ "id": id, "input": Map::from_iter(changed) });
        self.record(&context, "update_customer", params);
    }
}

/// A seeded random number generator: SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// A caller: a bearer token with its principal, with or without a session.
#[derive(Clone, PartialEq)]
struct Caller {
    bearer: &'static str,
    subject: &'static str,
    tenant: &'static str,
    /// The id of the session over HTTP.
    session: Option<String>,
}

/// A call without its token.
#[derive(Clone, PartialEq)]
struct Call {
    operation: &'static str,
    params: Map<String, Value>,
}

impl Call {
    fn tool(&self) -> &'static str {
        match self.operation {
            "update_customer" => "mcp_aql_update",
            _ => "mcp_aql_delete",
        }
    }

    /// Returns the record of the operation if the caller runs it.
    fn run_by(&self, caller: &Caller) -> Run {
        let mut params = Value::from(self.params.clone());
        match self.operation {
            "update_customer" => {}
            _ => params["note"] = self.params.get("note").cloned().unwrap_or_default(),
        }
        if self.operation == "delete_tenant_order" {
            params["tenant"] = caller.tenant.into();
        }
        (self.operation, params, caller.subject.to_owned())
    }
}

/// A token issued by the server.
#[derive(Clone)]
struct Issued {
    token: String,
    caller: Caller,
    call: Call,
    issued_at: i64,
    is_used: bool,
}

impl Issued {
    /// Returns `true` if the token allows a call, according to the book.
    fn allows(&self, caller: &Caller, call: &Call, now: i64) -> bool {
        // Without a session, the principal has an implicit session for each tenant.
        let is_own = self.caller.subject == caller.subject && self.caller.session == caller.session;
        let has_same_claims = self.caller.tenant == caller.tenant;
        let is_fresh = !self.is_used && now - self.issued_at <= LIFETIME;
        is_own && has_same_claims && is_fresh && self.call == *call
    }
}

#[derive(Default)]
struct Log(Mutex<Vec<Value>>);

impl AuditSink for Log {
    fn append<'a>(&'a self, line: &'a str) -> BoxFuture<'a, io::Result<()>> {
        self.0.lock().unwrap().push(serde_json::from_str(line).unwrap());
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Log {
    fn take(&self) -> Vec<Value> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// The server under test, its callers, and the model.
struct Shop {
    server: Server,
    connection: KeepAlive,
    ledger: Ledger,
    audit: Arc<Log>,
    clock: Arc<AtomicI64>,
    random: Random,
    callers: Vec<Caller>,
    issued: Vec<Issued>,
    /// The index of each issued token.
    places: HashMap<String, usize>,
}

const BEARERS: [(&str, &str, &str); 4] = [
    ("ada-1", "ada", "north"),
    ("ada-2", "ada", "south"),
    ("eve-1", "eve", "north"),
    ("bo-1", "bo", "south"),
];

/// A second token of the first caller.
const SECOND_TOKEN: (&str, &str, &str) = ("ada-3", "ada", "north");

impl Shop {
    async fn open() -> Self {
        let (ledger, audit) = (Ledger::default(), Arc::new(Log::default()));
        let clock = Arc::new(AtomicI64::new(START));
        let seconds = Arc::clone(&clock);
        let builder = Adapter::builder("shop")
            .operations(ledger.clone())
            .time_source(TimeSource::new(move || {
                DateTime::from_timestamp(seconds.load(Ordering::SeqCst), 0).unwrap()
            }))
            // The limits on confirmations and guesses have tests of their own, so they are raised here.
            .confirmations_per_minute(1_000_000)
            .audit_sink(Arc::clone(&audit));
        let mut tokens = StaticTokens::new();
        for (bearer, subject, tenant) in BEARERS.into_iter().chain([SECOND_TOKEN]) {
            let principal = Principal::new("operator", subject)
                .with_scopes(["shop:delete", "shop:update"])
                .with_claim("tenant", tenant);
            tokens = tokens.token(bearer, principal);
        }
        let server = start(builder, HttpOptions::new().authenticator(tokens)).await;
        let mut callers = Vec::new();
        for (bearer, subject, tenant) in BEARERS {
            // Calls without a session take half the time, so they are more frequent.
            let mut sessions = vec![None; 4];
            for _ in 0..if bearer == "ada-1" { 2 } else { 1 } {
                sessions.push(Some(server.session_of(&format!("Bearer {bearer}")).await));
            }
            let caller = |session| Caller { bearer, subject, tenant, session };
            callers.extend(sessions.into_iter().map(caller));
        }
        // A session can be used with each token of its principal.
        let shared = Caller { bearer: SECOND_TOKEN.0, ..callers[4].clone() };
        callers.push(shared);
        let connection = KeepAlive::connect(server.address).await;
        Self {
            server,
            connection,
            ledger,
            audit,
            clock,
            random: Random(0x5eed),
            callers,
            issued: Vec::new(),
            places: HashMap::new(),
        }
    }

    fn now(&self) -> i64 {
        self.clock.load(Ordering::SeqCst)
    }

    /// Makes calls of one tool. Several calls are sent as a batch. Returns the replies, and the entries that the calls
    /// added to the audit log.
    async fn send(
        &mut self,
        caller: &Caller,
        calls: &[(Option<&str>, &Call)],
    ) -> (Vec<Value>, Vec<Value>) {
        let mut items = Vec::new();
        for (token, call) in calls {
            let mut item = json!({ "operation": call.operation, "params": call.params });
            if let Some(token) = *token {
                match self.random.below(3) {
                    0 => item["params"]["_confirmation"] = token.into(),
                    1 => item["params"]["confirmation_token"] = token.into(),
                    _ => item["_confirmation"] = token.into(),
                }
            }
            items.push(item);
        }
        let is_batch = items.len() > 1;
        let arguments = if is_batch { json!({ "operations": items }) } else { items.remove(0) };
        let tool = calls[0].1.tool();
        let mut body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": tool, "arguments": arguments } });
        let bearer = format!("Bearer {}", caller.bearer);
        let mut headers = vec![("Authorization", &*bearer)];
        if let Some(session) = &caller.session {
            headers.push(("Mcp-Session-Id", session));
        } else {
            let (own, of_read) = newest("");
            headers.extend(own.into_iter().filter(|(name, _)| *name != "Mcp-Name"));
            headers.push(("Mcp-Name", tool));
            let of_read: Value = serde_json::from_str(&of_read).unwrap();
            body["params"]["_meta"] = of_read["params"]["_meta"].clone();
        }
        let answer = self.connection.post(&headers, &body.to_string()).await;
        let mut reply = reply(&answer);
        let replies = match reply["results"].as_array_mut() {
            Some(results) => results.iter_mut().map(|result| result["result"].take()).collect(),
            None => vec![reply],
        };
        (replies, self.audit.take())
    }

    /// Returns a call with random parameters.
    fn any_call(&mut self) -> Call {
        let operation = *self.random.pick(&[
            "delete_order",
            "delete_invoice",
            "delete_tenant_order",
            "update_customer",
        ]);
        let id = self.random.below(50);
        let mut params = Map::from_iter([("id".to_owned(), id.into())]);
        match operation {
            "update_customer" => {
                let city = *self.random.pick(&["Ulm", "Bonn"]);
                params.insert("input".to_owned(), json!({ "address": { "city": city } }));
            }
            _ if self.random.below(2) == 0 => {
                params.insert("note".to_owned(), format!("n{}", self.random.below(9)).into());
            }
            _ => {}
        }
        Call { operation, params }
    }

    /// Requests a token for a call.
    async fn issue(&mut self, caller: Caller, call: Call) -> usize {
        let (asked, entries) = self.send(&caller, &[(None, &call)]).await;
        let asked = &asked[0];
        assert_eq!(asked["error"]["code"], "CONFIRMATION_REQUIRED", "{asked}");
        assert_eq!(events(&entries), ["TOKEN_ISSUED", "CONFIRMATION_REQUIRED"]);
        let token = asked["error"]["details"]["confirmation_token"].as_str().unwrap().to_owned();
        let issued_at = self.now();
        self.places.insert(token.clone(), self.issued.len());
        self.issued.push(Issued { token, caller, call, issued_at, is_used: false });
        self.issued.len() - 1
    }

    /// Sends a token with a call. See [`attempt_all`](Self::attempt_all).
    async fn attempt(&mut self, token: &str, caller: &Caller, call: &Call) -> Option<String> {
        self.attempt_all(caller, &[(token.to_owned(), call.clone())]).await.remove(0)
    }

    /// Sends calls with tokens. Returns the error codes, or `None` for calls that were run.
    ///
    /// The results are compared with the model, with the audit log, and with the records of the operations.
    async fn attempt_all(
        &mut self,
        caller: &Caller,
        attempts: &[(String, Call)],
    ) -> Vec<Option<String>> {
        let calls: Vec<_> = attempts.iter().map(|(token, call)| (Some(&**token), call)).collect();
        let (replies, entries) = self.send(caller, &calls).await;
        assert_eq!((replies.len(), entries.len()), (attempts.len(), 2 * attempts.len()));
        let mut runs = std::mem::take(&mut *self.ledger.0.lock().unwrap()).into_iter();
        let mut outcomes = Vec::new();
        for (((token, call), reply), entries) in
            attempts.iter().zip(&replies).zip(entries.chunks(2))
        {
            let now = self.now();
            let issued = self.places.get(token).map(|place| &mut self.issued[*place]);
            let issued = issued.filter(|issued| issued.allows(caller, call, now));
            outcomes.push(match issued {
                Some(issued) => {
                    issued.is_used = true;
                    assert_eq!(reply["success"], true, "{reply}");
                    assert_eq!(runs.next(), Some(call.run_by(caller)));
                    assert_eq!(events(entries), ["TOKEN_VALIDATED", "CONFIRMATION_GRANTED"]);
                    None
                }
                None => Some(refusal(caller, call, reply, entries)),
            });
        }
        assert_eq!(runs.next(), None);
        outcomes
    }

    /// Returns a forgery of a token: the token, the caller or the call differs, or the same attempt comes too late or a
    /// second time.
    fn forge(&mut self) -> (String, Caller, Call) {
        let kind = self.random.below(10);
        let now = self.now();
        let issued = loop {
            let issued = &self.issued[self.random.below(self.issued.len())];
            let fits = match kind {
                // Most of the older tokens have expired.
                0..8 => !issued.is_used && now - issued.issued_at < LIFETIME,
                // These are sent as issued, but they are used or expired.
                _ => issued.is_used || now - issued.issued_at > LIFETIME,
            };
            if fits {
                break issued.clone();
            }
        };
        let Issued { mut token, mut caller, mut call, .. } = issued;
        match kind {
            0 | 1 => flip(&mut token, &mut self.random),
            2 => cut(&mut token, &mut self.random),
            3 => token = self.another_token(),
            4 => caller = self.random.pick(&self.callers).clone(),
            5 => call = self.changed(&call),
            6 => call = self.crossed(call),
            7 => {
                caller = self.random.pick(&self.callers).clone();
                call = self.changed(&call);
            }
            _ => {}
        }
        (token, caller, call)
    }

    /// Returns a token of the correct form that the server has not issued.
    fn another_token(&mut self) -> String {
        const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let prefix = *self.random.pick(&["conf_", "cont_", "quota_"]);
        let random = (0..43).map(|_| char::from(*self.random.pick(ALPHABET)));
        prefix.chars().chain(random.collect::<Vec<_>>()).collect()
    }

    /// Returns a call of another operation with the same parameters, if there is such an operation.
    fn crossed(&mut self, call: Call) -> Call {
        let others: &[&'static str] = match call.operation {
            "delete_order" => &["delete_invoice", "delete_tenant_order"],
            "delete_invoice" => &["delete_order", "delete_tenant_order"],
            "delete_tenant_order" => &["delete_order", "delete_invoice"],
            _ => return self.changed(&call),
        };
        let operation = *self.random.pick(others);
        Call { operation, ..call }
    }

    fn changed(&mut self, call: &Call) -> Call {
        let mut call = call.clone();
        match (call.operation, self.random.below(3)) {
            (_, 0) => call.params["id"] = json!(call.params["id"].as_u64().unwrap() + 1),
            ("update_customer", 1) => call.params["input"]["address"] = Value::Null,
            ("update_customer", _) => call.params["input"]["name"] = "Eve".into(),
            (_, 1) => {
                call.params.insert("note".to_owned(), "changed".into());
            }
            _ => {
                call.params.remove("note");
            }
        }
        call
    }
}

/// Flips one bit of a token.
fn flip(token: &mut String, random: &mut Random) {
    let mut bytes = std::mem::take(token).into_bytes();
    let place = random.below(bytes.len());
    // Flipping the highest bit would result in invalid UTF-8.
    bytes[place] ^= 1 << random.below(7);
    *token = String::from_utf8(bytes).unwrap();
}

/// Removes or adds characters at one end of a token.
fn cut(token: &mut String, random: &mut Random) {
    let count = 1 + random.below(token.len() - 1);
    match random.below(4) {
        0 => token.truncate(count),
        1 => drop(token.drain(..count)),
        2 => token.push('A'),
        _ => token.insert(0, ' '),
    }
}

/// Checks that a rejection is in the audit log, and returns its code.
fn refusal(caller: &Caller, call: &Call, reply: &Value, entries: &[Value]) -> String {
    let code = reply["error"]["code"].as_str().unwrap_or_else(|| panic!("{reply}"));
    assert!(code.starts_with("TOKEN_"), "{reply}");
    assert_eq!(events(entries), ["TOKEN_REJECTED", "OPERATION_DENIED"], "{reply}");
    let (rejected, denied) = (&entries[0], &entries[1]);
    assert_eq!((&rejected["failure_reason"], &denied["reason"]), (&json!(code), &json!(code)));
    assert_eq!(denied["operation"], call.operation, "{denied}");
    assert_eq!(denied["principal"], format!("operator {}", caller.subject), "{denied}");
    assert_eq!(rejected["token_id"], denied["token_id"]);
    code.to_owned()
}

fn events(entries: &[Value]) -> Vec<&str> {
    entries.iter().map(|entry| entry["event"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn ten_thousand_forged_confirmations_run_nothing_and_are_in_the_audit_log() {
    // REQ-TOK-07, REQ-TOK-10, REQ-TOK-15, REQ-TOK-16, REQ-TOK-17
    let mut shop = Shop::open().await;
    for number in 0..40 {
        let (caller, call) = (shop.random.pick(&shop.callers).clone(), shop.any_call());
        let issued = shop.issue(caller.clone(), call.clone()).await;
        if number == 0 {
            let token = shop.issued[issued].token.clone();
            assert_eq!(shop.attempt(&token, &caller, &call).await, None);
        }
    }
    let mut refused = BTreeMap::<String, usize>::new();
    let (mut forgeries, mut genuine, mut others) = (0, 1, 0);
    let mut pending = Vec::<(Caller, Vec<(String, Call)>)>::new();
    while forgeries < FORGERIES {
        if shop.random.next() % GENUINE_SHARE == 0 {
            let (caller, call) = (shop.random.pick(&shop.callers).clone(), shop.any_call());
            let issued = shop.issue(caller.clone(), call.clone()).await;
            // Some tokens stay unused, so that forgeries of unused tokens are possible, too.
            if shop.random.below(2) == 0 {
                let token = shop.issued[issued].token.clone();
                assert_eq!(shop.attempt(&token, &caller, &call).await, None);
                genuine += 1;
                let again = shop.attempt(&token, &caller, &call).await;
                assert_eq!(again.as_deref(), Some("TOKEN_ALREADY_USED"));
                *refused.entry("TOKEN_ALREADY_USED".to_owned()).or_default() += 1;
                forgeries += 1;
            }
            shop.clock.fetch_add(1, Ordering::SeqCst);
            continue;
        }
        let (token, caller, call) = shop.forge();
        let is_same = |(of, calls): &&mut (Caller, Vec<(String, Call)>)| {
            *of == caller && calls[0].1.tool() == call.tool()
        };
        match pending.iter_mut().find(is_same) {
            Some((_, calls)) => calls.push((token, call)),
            None => pending.push((caller, vec![(token, call)])),
        }
        let full = pending.iter().position(|(_, calls)| calls.len() == BATCH);
        let batches: Vec<_> = full.into_iter().map(|place| pending.swap_remove(place)).collect();
        for (caller, calls) in batches {
            for outcome in shop.attempt_all(&caller, &calls).await {
                match outcome {
                    Some(code) => {
                        *refused.entry(code).or_default() += 1;
                        forgeries += 1;
                    }
                    // The change happened to choose the same caller or the same parameters.
                    None => others += 1,
                }
            }
        }
    }
    let runs = shop.issued.iter().filter(|issued| issued.is_used).count();
    assert_eq!(runs, genuine + others);
    assert!(genuine > 200, "only {genuine} genuine calls");
    for code in ["TOKEN_INVALID", "TOKEN_SCOPE_MISMATCH", "TOKEN_ALREADY_USED", "TOKEN_EXPIRED"] {
        let count = refused.get(code).copied().unwrap_or_default();
        assert!(count > 500, "only {count} of {code}: {refused:?}");
    }
    assert_eq!(refused.values().sum::<usize>(), forgeries);
    drop(shop.connection);
    shop.server.stop.send(()).unwrap();
}
