//! Settings of a PostgreSQL server, and servers that do not answer.

use mcp_aql::Adapter;
use mcp_aql::prelude::*;
use mcp_aql::query::sql::Dialect;
use mcp_aql::resource::{PostgresDatabase, SqlStore};
use mcp_aql_tests_databases::postgres;
use serde_json::json;

use super::ask;
use super::samples::{self, walk};

fn samples_in(database: PostgresDatabase) -> Adapter {
    let store = SqlStore::new(samples::table(Dialect::Postgres), database);
    Adapter::builder("samples").resource(store).without_config().build().unwrap()
}

#[tokio::test]
async fn values_do_not_depend_on_the_settings_of_the_database() {
    // REQ-PAG-04
    let settings = ["extra_float_digits = -3", "DateStyle = 'German'", "TimeZone = 'Asia/Tokyo'"];
    let settings = settings.map(|setting| {
        format!(
            "EXECUTE format('ALTER DATABASE %I SET {}', current_database());",
            setting.replace('\'', "''")
        )
    });
    let rows = "INSERT INTO sample (double, single, at, day) VALUES
        (0.30000000000000004, 0.1, '2031-05-06T07:00:00Z', '2031-05-06'),
        (0.3, 0.10000001, '294000-01-01T00:00:00Z', '4000-01-01'),
        (0.30000000000000010, 0.10000002, 'infinity', 'infinity')";
    let tables = format!(
        "DO $do$ BEGIN {} END $do$; {}",
        settings.concat(),
        samples::table_sql(Dialect::Postgres, rows)
    );
    let Some(address) = postgres::new_database(&tables).await else { return };
    let adapter = samples_in(PostgresDatabase::connect(&address).await.unwrap());
    for field in ["double", "single", "at", "day"] {
        for order in ["asc", "desc"] {
            let sort = json!({ "field": field, "order": order });
            walk(&adapter, "list_samples", sort).await.unwrap();
        }
    }
    let page = ask(&adapter, "list_samples", &json!({})).await;
    assert_eq!(page["items"][0]["double"], 0.30000000000000004, "{page}");
    assert_eq!(page["items"][1]["single"], 0.10000001, "{page}");
    assert_eq!(page["items"][1]["at"], "294000-01-01 00:00:00+00", "{page}");
}
