//! Tests tenants that share tables. A tenant must not read, refer to, move, count or guess records of another one.

use mcp_aql::Adapter;
use mcp_aql::prelude::*;
use mcp_aql::query::sql::sea_query::Expr;
use mcp_aql::query::sql::{Dialect, SqlTable};
use mcp_aql::resource::{
    Database, MemoryRecords, PostgresDatabase, ResourceRules, RowFilter, RusqliteDatabase, SqlStore,
};
use mcp_aql_tests_databases::postgres;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, TestRng, TestRunner};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ask;

/// A customer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Customer {
    /// Number of the customer.
    #[resource(id, filter)]
    customer_id: i64,
    /// Name of the customer.
    #[resource(filter, sort, search)]
    name: String,
    /// The tenant.
    #[resource(read_only, filter, group)]
    #[create_input(value = String::new())]
    tenant: String,
}

/// A ticket of a customer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Ticket {
    /// Number of the ticket.
    #[resource(id, filter)]
    ticket_id: i64,
    /// The customer.
    #[resource(references = "customer", filter, sort)]
    customer_id: i64,
    /// Tickets that belong to it.
    #[resource(references = "ticket")]
    #[serde(default)]
    related_ids: Vec<i64>,
    /// The tenant.
    #[resource(read_only, filter, group)]
    #[create_input(value = String::new())]
    tenant: String,
}

/// A comment on a ticket, which belongs to the tenant of the ticket.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Comment {
    /// Number of the comment.
    #[resource(id, filter)]
    comment_id: i64,
    /// The ticket.
    #[resource(references = "ticket", filter)]
    ticket_id: i64,
    /// The tenant of the ticket.
    #[resource(read_only, filter)]
    #[create_input(value = String::new())]
    tenant: String,
}

#[computed_fields]
impl Customer {
    /// The tenant, which has no SQL.
    #[computed(filter)]
    fn owner(&self) -> String {
        self.tenant.clone()
    }
}

#[computed_fields]
impl Ticket {
    /// The tenant, which has no SQL.
    #[computed(filter)]
    fn owner(&self) -> String {
        self.tenant.clone()
    }
}

#[computed_fields]
impl Comment {
    /// The tenant, which has no SQL.
    #[computed(filter)]
    fn owner(&self) -> String {
        self.tenant.clone()
    }
}

/// The tenant of the caller.
#[derive(Clone)]
struct Tenant(&'static str);

const TENANTS: [&str; 3] = ["north", "south", "west"];

/// Rules that limit a caller to the records of its tenant. Contains the name of the field with the tenant.
struct Rules<R>(&'static str, std::marker::PhantomData<fn() -> R>);

/// A record that belongs to a tenant.
trait Owned: mcp_aql::resource::Record {
    fn set_tenant(&mut self, tenant: &str);
}

impl Owned for Customer {
    fn set_tenant(&mut self, tenant: &str) {
        tenant.clone_into(&mut self.tenant);
    }
}

impl Owned for Ticket {
    fn set_tenant(&mut self, tenant: &str) {
        tenant.clone_into(&mut self.tenant);
    }
}

impl Owned for Comment {
    // The database computes the tenant of a comment.
    fn set_tenant(&mut self, _: &str) {}
}

impl<R: Owned> ResourceRules for Rules<R> {
    type Resource = R;

    fn visible(&self, context: &Context) -> RowFilter<R> {
        match context.extension::<Tenant>() {
            Some(tenant) => RowFilter::new(json!({ self.0: tenant.0 })),
            None => RowFilter::none(),
        }
    }

    fn before_create(&self, context: &Context, new: &mut R) -> Result<(), OperationError> {
        new.set_tenant(context.extension::<Tenant>().map_or("", |tenant| tenant.0));
        Ok(())
    }
}

const fn rules<R>(field: &'static str) -> Rules<R> {
    Rules(field, std::marker::PhantomData)
}

/// The possible fields with the tenant. A rule about the second one must be evaluated in memory.
const FIELDS: [&str; 2] = ["tenant", "_computed.owner"];

/// An adapter with the rules, and another one that sees all records.
struct Pair {
    adapter: Adapter,
    all: Adapter,
    /// If `true`, the adapters also have comments.
    has_comments: bool,
}

fn in_memory(field: &'static str) -> Pair {
    let (customers, tickets) = (MemoryRecords::<Customer>::new(), MemoryRecords::<Ticket>::new());
    let ruled =
        (customers.clone().with_rules(rules(field)), tickets.clone().with_rules(rules(field)));
    let build = |builder: mcp_aql::AdapterBuilder| builder.without_config().build().unwrap();
    Pair {
        adapter: build(Adapter::builder("desk").resources(ruled)),
        all: build(Adapter::builder("all").resources((customers, tickets))),
        has_comments: false,
    }
}

fn in_database<D: Database + Clone>(dialect: Dialect, database: D, field: &'static str) -> Pair {
    let customers =
        || SqlStore::<Customer, _>::new(SqlTable::new(dialect, "customer"), database.clone());
    let tickets = || SqlStore::<Ticket, _>::new(SqlTable::new(dialect, "ticket"), database.clone());
    let comments = || {
        let table = SqlTable::new(dialect, "comment").expression("tenant", |_| {
            Expr::cust("(SELECT t.tenant FROM ticket t WHERE t.ticket_id = comment.ticket_id)")
        });
        SqlStore::<Comment, _>::new(table, database.clone())
    };
    let build = |builder: mcp_aql::AdapterBuilder| builder.without_config().build().unwrap();
    // Register the resources in separate calls. This must make no difference.
    let referring = (tickets().with_rules(rules(field)), comments().with_rules(rules(field)));
    let adapter = Adapter::builder("desk")
        .resources(referring)
        .resource(customers().with_rules(rules(field)));
    let all = Adapter::builder("all").resources((customers(), tickets(), comments()));
    Pair { adapter: build(adapter), all: build(all), has_comments: true }
}

const TABLES: &str = "CREATE TABLE customer (customer_id {id}, name text NOT NULL, tenant text NOT NULL);
    CREATE TABLE ticket (ticket_id {id}, customer_id bigint NOT NULL REFERENCES customer, related_ids {json} NOT NULL,
        tenant text NOT NULL);
    CREATE TABLE comment (comment_id {id}, ticket_id bigint NOT NULL REFERENCES ticket);";

fn number() -> impl Strategy<Value = i64> {
    // Most of these numbers exist, each for one of the tenants.
    prop_oneof![8 => 1..25_i64, 1 => Just(999_999)]
}

fn a_call() -> impl Strategy<Value = (&'static str, Value)> {
    let list = |name: &'static str| {
        select(vec![
            json!({}),
            json!({ "filter": { "tenant": { "ne": "north" } } }),
            json!({ "aggregate": { "n": { "count": true } } }),
            json!({ "filter": { "not": { "tenant": "south" } }, "first": 2 }),
        ])
        .prop_map(move |params| (name, params))
    };
    prop_oneof![
        2 => select(vec!["Ada", "Eve"]).prop_map(|name| ("create_customer", json!({ "name": name }))),
        4 => (number(), proptest::collection::vec(number(), 0..2)).prop_map(|(customer, related)| {
            ("create_ticket", json!({ "customer_id": customer, "related_ids": related }))
        }),
        3 => number().prop_map(|ticket| ("create_comment", json!({ "ticket_id": ticket }))),
        2 => number().prop_map(|id| {
            ("update_customer", json!({ "customer_id": id, "input": { "name": "Ann" } }))
        }),
        3 => (number(), number()).prop_map(|(id, customer)| {
            ("update_ticket", json!({ "ticket_id": id, "input": { "customer_id": customer } }))
        }),
        2 => (number(), number()).prop_map(|(id, other)| {
            ("update_ticket", json!({ "ticket_id": id, "input": { "related_ids": [other] } }))
        }),
        3 => (number(), number()).prop_map(|(id, ticket)| {
            ("update_comment", json!({ "comment_id": id, "input": { "ticket_id": ticket } }))
        }),
        1 => number().prop_map(|id| ("get_customer", json!({ "customer_id": id }))),
        1 => number().prop_map(|id| ("get_ticket", json!({ "ticket_id": id, "fields": ["tenant"] }))),
        1 => number().prop_map(|id| ("get_comment", json!({ "comment_id": id }))),
        1 => number().prop_map(|id| ("delete_comment", json!({ "comment_id": id }))),
        1 => number().prop_map(|id| ("delete_ticket", json!({ "ticket_id": id }))),
        1 => list("list_customers"),
        1 => list("list_tickets"),
        1 => list("list_comments"),
        1 => number().prop_map(|id| {
            let root = json!({ "element_type": "customer", "element_name": id.to_string() });
            ("query_relationships", json!({ "root": root, "direction": "both" }))
        }),
    ]
}

/// Returns all records by kind.
async fn state(pair: &Pair) -> Value {
    let mut state = json!({});
    for (kind, list) in
        [("customer", "list_customers"), ("ticket", "list_tickets"), ("comment", "list_comments")]
    {
        if kind == "comment" && !pair.has_comments {
            continue;
        }
        let mut all = Vec::new();
        let mut params = json!({ "first": 100, "fields": "full" });
        loop {
            let page = ask_page(&pair.all, list, &params).await;
            all.extend(page["items"].as_array().unwrap().clone());
            if page["pageInfo"]["hasNextPage"] != true {
                break;
            }
            params["after"] = page["pageInfo"]["endCursor"].clone();
        }
        state[kind] = json!(all);
    }
    state
}

async fn ask_page(adapter: &Adapter, operation: &str, params: &Value) -> Value {
    let result = adapter.call(operation, params.clone()).await;
    assert!(result.error().is_none(), "{:?}", result.error());
    result.data().clone()
}

fn record<'a>(state: &'a Value, kind: &str, id: &Value) -> Option<&'a Value> {
    let records = state[kind].as_array()?;
    records.iter().find(|record| record[format!("{kind}_id")] == *id)
}

/// Checks that no record refers to a record of another tenant.
fn check_references(state: &Value) {
    let tenant = |kind: &str, id: &Value| record(state, kind, id).map(|it| it["tenant"].clone());
    for ticket in state["ticket"].as_array().unwrap() {
        assert_eq!(
            tenant("customer", &ticket["customer_id"]).unwrap(),
            ticket["tenant"],
            "{ticket}"
        );
        for related in ticket["related_ids"].as_array().unwrap() {
            let related = tenant("ticket", related);
            assert!(related.is_none_or(|it| it == ticket["tenant"]), "{ticket}");
        }
    }
}

/// Collects the tenants that occur in a reply.
fn tenants_in(reply: &Value, into: &mut Vec<String>) {
    match reply {
        Value::Object(members) => {
            if let Some(Value::String(tenant)) = members.get("tenant") {
                into.push(tenant.clone());
            }
            let members = members.iter().filter(|(name, _)| *name != "applied");
            members.for_each(|(_, member)| tenants_in(member, into));
        }
        Value::Array(entries) => entries.iter().for_each(|entry| tenants_in(entry, into)),
        _ => {}
    }
}

/// Removes all digits from a reply, and with them the identifiers in the call.
fn without_numbers(reply: &Value) -> String {
    reply.to_string().chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

async fn run(pair: &Pair, calls: usize, seed: u8) {
    let rng = TestRng::from_seed(proptest::test_runner::RngAlgorithm::ChaCha, &[seed; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut before = state(pair).await;
    let mut owners = std::collections::BTreeMap::<String, Value>::new();
    for number in 0..calls {
        let (operation, params) = a_call().new_tree(&mut runner).unwrap().current();
        if operation.contains("comment") && !pair.has_comments {
            continue;
        }
        let tenant = TENANTS[number % TENANTS.len()];
        let adapter = pair.adapter.with_extension(Tenant(tenant));
        let reply = ask(&adapter, operation, &params).await;
        let told = format!("{number}: {tenant} {operation} {params} -> {reply}");
        assert_ne!(reply["code"], "INTERNAL_ERROR", "{told}");
        let mut seen = Vec::new();
        tenants_in(&reply, &mut seen);
        assert!(seen.iter().all(|it| it == tenant), "{told}");
        // A record of another tenant must get the same reply as one that does not exist.
        let kind = operation.split_once('_').unwrap().1;
        if let Some(id) =
            params.get(format!("{kind}_id")).filter(|_| !operation.starts_with("create_"))
        {
            let owner = record(&before, kind, id).map(|it| it["tenant"].clone());
            if owner.is_some_and(|owner| owner != tenant) {
                let mut other = params.clone();
                other[format!("{kind}_id")] = json!(888_888);
                let missing = ask(&adapter, operation, &other).await;
                assert_eq!(without_numbers(&reply), without_numbers(&missing), "{told}");
            }
        }
        if operation == "create_ticket" || operation == "create_comment" {
            let (field, target) = if operation == "create_ticket" {
                ("customer_id", "customer")
            } else {
                ("ticket_id", "ticket")
            };
            let owner = record(&before, target, &params[field]).map(|it| it["tenant"].clone());
            if owner.is_some_and(|owner| owner != tenant) {
                let mut other = params.clone();
                other[field] = json!(888_888);
                let missing = ask(&adapter, operation, &other).await;
                assert_eq!(without_numbers(&reply), without_numbers(&missing), "{told}");
            }
        }
        if operation.starts_with("list_") && params.get("aggregate").is_some() {
            let kind = kind.strip_suffix('s').unwrap();
            let own = before[kind].as_array().unwrap().iter().filter(|it| it["tenant"] == tenant);
            assert_eq!(reply["aggregations"]["n"], own.count(), "{told}");
        }
        if !["create_", "update_", "delete_"].iter().any(|verb| operation.starts_with(verb)) {
            continue;
        }
        let after = state(pair).await;
        check_references(&after);
        // The records of other tenants are unchanged, and no record changes its tenant.
        for (kind, records) in after.as_object().unwrap() {
            for found in records.as_array().unwrap() {
                let id = &found[format!("{kind}_id")];
                let owner =
                    owners.entry(format!("{kind} {id}")).or_insert_with(|| found["tenant"].clone());
                assert_eq!(*owner, found["tenant"], "{told}");
            }
        }
        for (kind, records) in before.as_object().unwrap() {
            for old in records.as_array().unwrap().iter().filter(|old| old["tenant"] != tenant) {
                assert_eq!(record(&after, kind, &old[format!("{kind}_id")]), Some(old), "{told}");
            }
        }
        before = after;
    }
    // Many calls must have succeeded. Otherwise the test proves nothing.
    assert!(before["ticket"].as_array().unwrap().len() > 10, "{before}");
}

#[tokio::test]
async fn tenants_are_apart_in_memory() {
    for field in FIELDS {
        run(&in_memory(field), 2_000, 1).await;
    }
}

#[tokio::test]
async fn tenants_are_apart_in_sqlite() {
    let tables =
        TABLES.replace("{id}", "INTEGER PRIMARY KEY AUTOINCREMENT").replace("{json}", "text");
    for field in FIELDS {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        connection.execute_batch(&format!("PRAGMA foreign_keys = ON; {tables}")).unwrap();
        let database = RusqliteDatabase::new(connection);
        run(&in_database(Dialect::Sqlite, database, field), 3_000, 2).await;
    }
}

#[tokio::test]
async fn tenants_are_apart_in_postgres() {
    let tables = TABLES.replace("{id}", "bigserial PRIMARY KEY").replace("{json}", "jsonb");
    for field in FIELDS {
        let Some(pool) = postgres::pool_with_schema().await else { return };
        pool.get().await.unwrap().batch_execute(&tables).await.unwrap();
        run(&in_database(Dialect::Postgres, PostgresDatabase::new(pool), field), 1_000, 3).await;
    }
}

#[tokio::test]
async fn a_field_that_the_table_computes_cannot_be_set() {
    /// A note.
    #[derive(
        Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput,
    )]
    #[resource(operations)]
    struct Note {
        /// Number of the note.
        #[resource(id)]
        note_id: i64,
        /// The tenant.
        tenant: String,
    }
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    let table = SqlTable::new(Dialect::Sqlite, "note").expression("tenant", |_| Expr::val("x"));
    let store = SqlStore::<Note, _>::new(table, RusqliteDatabase::new(connection));
    let error = Adapter::builder("notes").resource(store).without_config().build().unwrap_err();
    let told = error.to_string();
    for operation in ["create_note", "update_note"] {
        assert!(told.contains(&format!("'{operation}' sets 'tenant'")), "{told}");
    }
}
