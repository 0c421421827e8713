//! Tests documents of other programs: members that the type does not declare, odd numbers, and members of other types.

use std::collections::BTreeMap;

use mcp_aql::Adapter;
use mcp_aql::prelude::*;
use mcp_aql::query::sql::{Dialect, SqlTable, SqlValue, Statement};
use mcp_aql::resource::{
    AccessMode, Database, PostgresDatabase, RusqliteDatabase, SqlStore, Transaction,
};
use mcp_aql_tests_databases::postgres;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ask;

/// A device with settings in one document.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Device {
    /// Number of the device.
    #[resource(id)]
    id: i64,
    /// Name of the device.
    #[resource(filter)]
    name: Option<String>,
    /// Number of the slot.
    slot: Option<std::num::NonZeroU8>,
    /// The settings.
    settings: Option<Settings>,
    /// Any JSON.
    extra: Option<Value>,
}

/// The settings of a device.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, UpdateInput)]
pub(super) struct Settings {
    /// Colour of the light.
    colour: String,
    /// Name of the maker.
    #[serde(alias = "vendor", skip_serializing_if = "Option::is_none")]
    #[resource(read_only)]
    maker: Option<String>,
    /// Level of the light.
    level: Option<f64>,
    /// Number of starts.
    #[serde(default)]
    starts: u64,
    /// The network.
    network: Option<Network>,
    /// Levels by name.
    #[serde(default)]
    levels: BTreeMap<String, f64>,
}

/// A network.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, UpdateInput)]
struct Network {
    /// Name of the host.
    host: String,
    /// Number of the port.
    port: Option<u16>,
}

/// A device in a database, with access to its columns.
pub(super) struct Fixture<D> {
    adapter: Adapter,
    database: D,
}

impl<D: Database + Clone> Fixture<D> {
    fn new(dialect: Dialect, database: D) -> Self {
        let store = SqlStore::<Device, _>::new(SqlTable::new(dialect, "device"), database.clone());
        let adapter = Adapter::builder("devices").resource(store).without_config().build().unwrap();
        Self { adapter, database }
    }

    async fn run(&self, sql: String) -> Vec<Vec<SqlValue>> {
        let mut transaction = self.database.begin(AccessMode::Write).await.unwrap();
        let rows = transaction.run(Statement { sql, values: vec![] }).await.unwrap();
        transaction.commit().await.unwrap();
        rows
    }

    /// Stores a device with a document, and returns its number.
    pub(super) async fn store(&self, column: &str, document: &str) -> i64 {
        let document = document.replace('\'', "''");
        let sql = format!("INSERT INTO device ({column}) VALUES ('{document}') RETURNING id");
        match self.run(sql).await.first().and_then(|row| row.first()) {
            Some(SqlValue::Int(id)) => *id,
            other => panic!("{other:?}"),
        }
    }

    /// Returns the text of a stored document.
    pub(super) async fn text(&self, column: &str, id: i64) -> String {
        let sql = format!("SELECT CAST({column} AS text) FROM device WHERE id = {id}");
        match self.run(sql).await.into_iter().flatten().next() {
            Some(SqlValue::Text(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn update(&self, id: i64, input: Value) -> Value {
        ask(&self.adapter, "update_device", &json!({ "id": id, "input": input })).await
    }
}

pub(super) fn in_sqlite() -> Fixture<RusqliteDatabase> {
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    let sql = "CREATE TABLE device (id INTEGER PRIMARY KEY, name, slot, settings TEXT, extra TEXT)";
    connection.execute_batch(sql).unwrap();
    Fixture::new(Dialect::Sqlite, RusqliteDatabase::new(connection))
}

/// Returns a table whose documents have this type.
async fn in_postgres(kind: &str) -> Option<Fixture<PostgresDatabase>> {
    let pool = postgres::pool_with_schema().await?;
    let sql = format!(
        "CREATE TABLE device (id bigserial PRIMARY KEY, name text, slot bigint, settings {kind}, extra {kind})"
    );
    pool.get().await.unwrap().batch_execute(&sql).await.unwrap();
    Some(Fixture::new(Dialect::Postgres, PostgresDatabase::new(pool)))
}

/// A stored document, an update of it, and the document that must be stored afterwards.
type Merged = (&'static str, Value, &'static str);

fn merged() -> Vec<Merged> {
    vec![
        // Members that the type does not declare, and numbers that no `f64` holds.
        (
            r#"{"colour":"red","big":18446744073709551616,"huge":1e400,"fine":0.10000000000000000001,"zeros":1.500}"#,
            json!({ "colour": "blue" }),
            r#"{"colour":"blue","big":18446744073709551616,"huge":1e400,"fine":0.10000000000000000001,"zeros":1.500}"#,
        ),
        // Digits of declared numbers.
        (
            r#"{"colour":"red","level":0.10000000000000000001,"levels":{"a":2.50,"b":1}}"#,
            json!({ "levels": { "b": 3 } }),
            r#"{"colour":"red","level":0.10000000000000000001,"levels":{"a":2.50,"b":3.0}}"#,
        ),
        // Members inside of nested objects.
        (
            r#"{"colour":"red","network":{"host":"a","port":1,"mtu":1500.0},"x":{"y":[1.0]}}"#,
            json!({ "network": { "port": null } }),
            r#"{"colour":"red","network":{"host":"a","mtu":1500.0},"x":{"y":[1.0]}}"#,
        ),
        // A member that the update replaces may be anything.
        (
            r#"{"colour":"red","level":1e400,"x":1.0}"#,
            json!({ "level": 0.5 }),
            r#"{"colour":"red","level":0.5,"x":1.0}"#,
        ),
        (r#"{"colour":7,"x":1.0}"#, json!({ "colour": "blue" }), r#"{"colour":"blue","x":1.0}"#),
        (r#"{"x":1.0}"#, json!({ "colour": "blue" }), r#"{"x":1.0,"colour":"blue"}"#),
        // The other name of a member.
        (
            r#"{"vendor":"acme","colour":"red","x":1.0}"#,
            json!({ "colour": "blue" }),
            r#"{"vendor":"acme","colour":"blue","x":1.0}"#,
        ),
        // A member with the value that its type shows, but with more digits.
        (
            r#"{"colour":"red","level":0.50000000000000000001}"#,
            json!({ "level": 0.5 }),
            r#"{"colour":"red","level":0.5}"#,
        ),
    ]
}

async fn merges<D: Database + Clone>(fixture: &Fixture<D>) {
    for (stored, settings, expected) in merged() {
        let id = fixture.store("settings", stored).await;
        let changed = fixture.update(id, json!({ "settings": settings })).await;
        assert!(changed["device"]["settings"].is_object(), "{stored} with {settings}: {changed}");
        assert_eq!(fixture.text("settings", id).await, expected, "{stored} with {settings}");
    }
}

#[tokio::test]
async fn an_update_of_a_member_keeps_the_rest_of_the_document() {
    // REQ-UPD-08, REQ-UPD-11
    merges(&in_sqlite()).await;
    if let Some(fixture) = in_postgres("json").await {
        merges(&fixture).await;
    }
}

/// Documents that the type of the settings does not allow.
const ODD: [&str; 11] = [
    r#"{"colour":7}"#,
    r#"{}"#,
    r#"{"level":1}"#,
    r#"{"colour":"red","level":1e400}"#,
    r#"{"colour":"red","colour":"blue"}"#,
    r#"{"colour":"red","vendor":"a","maker":"b"}"#,
    r#"{"colour":"red","starts":1.5}"#,
    r#"{"colour":"red","network":{"port":1}}"#,
    r#"{"colour":"red","network":{"host":"a","host":"a"}}"#,
    r#"{"colour":"red","levels":{"a":1,"a":2}}"#,
    r#"["red"]"#,
];

/// Returns what replies show of a document.
fn shown(part: Value) -> Value {
    let mut whole = json!({
        "colour": "red", "level": null, "starts": 0, "network": null, "levels": {},
    });
    whole.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
    whole
}

async fn shows<D: Database + Clone>(fixture: &Fixture<D>) {
    for (stored, part) in [
        (r#"{"colour":"red"}"#, json!({})),
        (r#"{"colour":"red","secret":1,"secret":2,"big":1e400}"#, json!({})),
        (r#"{"colour":"red","vendor":"acme"}"#, json!({ "maker": "acme" })),
        (r#"{"colour":"red","starts":18446744073709551615}"#, json!({ "starts": u64::MAX })),
        (
            r#"{"colour":"red","network":{"host":"a","secret":1},"levels":{"any":1}}"#,
            json!({ "network": { "host": "a", "port": null }, "levels": { "any": 1.0 } }),
        ),
    ] {
        let id = fixture.store("settings", stored).await;
        let found = ask(&fixture.adapter, "get_device", &json!({ "id": id })).await;
        assert_eq!(found["device"]["settings"], shown(part), "{stored}: {found}");
    }
}

#[tokio::test]
async fn replies_show_the_members_that_the_type_declares() {
    // REQ-FLD-01
    shows(&in_sqlite()).await;
    if let Some(fixture) = in_postgres("json").await {
        shows(&fixture).await;
    }
}

async fn leaves_out<D: Database + Clone>(fixture: &Fixture<D>) {
    let mut ids = Vec::new();
    for stored in ODD {
        ids.push(fixture.store("settings", stored).await);
    }
    let fine = fixture.store("settings", r#"{"colour":"red"}"#).await;
    let page = fixture.adapter.call("list_devices", json!({})).await;
    let items = page.data()["items"].as_array().unwrap();
    for (item, stored) in items.iter().zip(ODD) {
        assert!(item.get("settings").is_none(), "{stored}: {item}");
    }
    assert_eq!(items[ODD.len()]["settings"], shown(json!({})));
    let warnings = serde_json::to_value(page.warnings()).unwrap();
    assert_eq!(warnings[0]["details"]["count"], ODD.len(), "{warnings}");
    let first = json!({ "field": "settings", "row": ids[0].to_string(), "value": "left out" });
    assert_eq!(warnings[0]["details"]["values"][0], first);
    for (id, stored) in ids.into_iter().zip(ODD) {
        // Another field of the row.
        let changed = fixture.update(id, json!({ "name": "a" })).await;
        assert_eq!(changed["device"]["name"], "a", "{stored}: {changed}");
        assert_eq!(fixture.text("settings", id).await, stored, "another field was set");
        // Another member of the document.
        let refused = fixture.update(id, json!({ "settings": { "network": null } })).await;
        if refused["code"].is_string() {
            assert_eq!(refused["code"], "VALIDATION_INVALID_VALUE", "{stored}: {refused}");
            let message = refused["message"].as_str().unwrap();
            let told = "Parameter 'input.settings' must have all members of the field, because the stored value does \
                        not have its type: send the whole value";
            assert_eq!(message, told, "{stored}");
            assert_eq!(fixture.text("settings", id).await, stored, "the update was refused");
        } else {
            assert!(stored.contains("network"), "{stored}: {refused}");
        }
        // The whole value.
        let whole = json!({
            "colour": "red", "level": 2.0, "starts": 3, "network": { "host": "b", "port": 4 },
            "levels": { "a": 5.0 },
        });
        let changed = fixture.update(id, json!({ "settings": whole })).await;
        let mut found = changed["device"]["settings"].clone();
        if stored.contains("vendor") {
            assert_eq!(changed["code"], "VALIDATION_INVALID_VALUE", "{changed}");
            continue;
        }
        found.as_object_mut().unwrap().remove("maker");
        assert_eq!(found, whole, "{stored}: {changed}");
        let deleted = ask(&fixture.adapter, "delete_device", &json!({ "id": id })).await;
        assert_eq!(deleted["device"]["id"], id, "{deleted}");
    }
    let found = ask(&fixture.adapter, "get_device", &json!({ "id": fine })).await;
    assert_eq!(found["device"]["settings"], shown(json!({})));
}

#[tokio::test]
async fn a_document_of_another_type_is_left_out_and_corrected() {
    // REQ-COL-03, REQ-WRN-02, REQ-ERR-02
    leaves_out(&in_sqlite()).await;
    if let Some(fixture) = in_postgres("json").await {
        leaves_out(&fixture).await;
    }
}

/// A code of two letters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
struct Code(String);

impl TryFrom<String> for Code {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.len() == 2 { Ok(Self(text)) } else { Err("two letters") }
    }
}

/// A part, whose place is stored in several columns.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Part {
    /// Number of the part.
    #[resource(id)]
    id: i64,
    /// Name of the part.
    name: Option<String>,
    /// Code of the part.
    code: Code,
    /// Number of pieces.
    count: std::num::NonZeroU8,
    /// The place.
    #[resource(nested)]
    place: Place,
}

/// A place.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, UpdateInput)]
struct Place {
    /// Name of the room.
    room: String,
    /// Day of the delivery.
    since: chrono::NaiveDate,
    /// Day of the end.
    until: Option<chrono::NaiveDate>,
    /// The network.
    network: Network,
}

#[tokio::test]
async fn an_update_beside_a_value_of_another_type_works_or_says_what_to_do() {
    // REQ-ERR-02, REQ-UPD-11
    const COLUMNS: [&str; 6] = ["code", "count", "room", "since", "until", "network"];
    const FINE: [&str; 6] = ["ab", "1", "a", "2031-05-06", "2031-05-07", r#"{"host":"a","x":1.0}"#];
    const ODD: [&str; 6] = ["abc", "0", "", "soon", "never", r#"{"host":1,"x":1.0}"#];
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    let columns = COLUMNS.join(", ");
    let table = format!("CREATE TABLE part (id INTEGER PRIMARY KEY, name, {columns})");
    connection.execute_batch(&table).unwrap();
    let insert = |values: &[&str]| {
        let values: Vec<_> = values.iter().map(|value| format!("'{value}'")).collect();
        let sql = format!("INSERT INTO part ({columns}) VALUES ({})", values.join(", "));
        connection.execute_batch(&sql.replace("'0'", "0").replace("'1'", "1")).unwrap();
    };
    for odd in 0..COLUMNS.len() {
        let mut values = FINE;
        values[odd] = ODD[odd];
        insert(&values);
    }
    let database = RusqliteDatabase::new(connection);
    let table = ["room", "since", "until", "network"]
        .into_iter()
        .fold(SqlTable::new(Dialect::Sqlite, "part"), |table, name| {
            table.column(format!("place.{name}"), name)
        });
    let store = SqlStore::<Part, _>::new(table, database.clone());
    let adapter = Adapter::builder("parts").resource(store).without_config().build().unwrap();
    for odd in 0..COLUMNS.len() {
        for (input, column, told) in [
            (json!({ "name": "b" }), "", ""),
            (json!({ "place": { "room": "c" } }), "room", ""),
            (json!({ "place": { "until": "2031-06-01" } }), "until", ""),
            (
                json!({ "place": { "network": { "port": 7 } } }),
                "network",
                "Parameter 'input.place.network' must have all members",
            ),
            (json!({ "place": { "network": { "host": "b" } } }), "network", ""),
            (json!({ "code": "cd" }), "code", ""),
            (json!({ "count": 2 }), "count", ""),
        ] {
            let id = odd + 1;
            let params = json!({ "id": id, "input": input });
            let changed = ask(&adapter, "update_part", &params).await;
            let statement = format!("SELECT {columns} FROM part WHERE id = {id}");
            let mut transaction = database.begin(AccessMode::Read).await.unwrap();
            let rows = transaction.run(Statement { sql: statement, values: vec![] }).await.unwrap();
            transaction.commit().await.unwrap();
            let kept = match &rows[0][odd] {
                SqlValue::Text(text) => text == ODD[odd],
                other => *other == SqlValue::Int(0),
            };
            if column == COLUMNS[odd] && told.is_empty() {
                assert!(changed["part"].is_object(), "{}: {input}: {changed}", COLUMNS[odd]);
                assert!(!kept || ODD[odd].is_empty(), "{}: {input}", COLUMNS[odd]);
                break;
            }
            assert!(kept || ODD[odd].is_empty(), "{}: {input}: {rows:?}", COLUMNS[odd]);
            let code = changed["code"].as_str().unwrap_or_default();
            let message = changed["message"].as_str().unwrap_or_default();
            let expected = format!("The stored value of '{}' in the 'part'", COLUMNS[odd]);
            match code {
                "VALIDATION_INVALID_VALUE" if column == COLUMNS[odd] => {
                    assert!(message.starts_with(told), "{message}");
                }
                "CONFLICT_VERSION_MISMATCH" => assert!(message.starts_with(&expected), "{message}"),
                _ => assert_eq!(code, "", "{}: {input}: {changed}", COLUMNS[odd]),
            }
        }
    }
}
