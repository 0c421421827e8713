//! Tests that an adapter with ready operations and one of its own reaches level 2 without a configuration and warnings.

use mcp_aql::AdapterBuilder;
use mcp_aql::prelude::*;
use mcp_aql::resource::MemoryRecords;
use mcp_aql::testing::conformance::{File, Settings};
use mcp_aql::testing::conformance_report;
use mcp_aql_conformance_tests::found;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A label. A field has the same name as the resource.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Tag {
    /// Number of the tag.
    #[resource(id)]
    tag_id: u32,
    /// The text of the tag.
    #[resource(search, filter, sort)]
    #[param(min_length = 1, max_length = 80)]
    tag: String,
    /// The order of tags in a menu.
    #[resource(filter, sort, numeric)]
    #[param(minimum = 0, maximum = 900)]
    rank: u32,
    /// A remark.
    remark: Option<String>,
}

/// The progress of a ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Progress {
    /// Not started.
    Open,
    /// Somebody works on it.
    Active,
    /// Finished.
    Done,
}

/// A ticket.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Ticket {
    /// Number of the ticket.
    #[resource(id)]
    ticket_id: u32,
    /// Subject in one line.
    #[resource(search, filter, sort)]
    #[param(min_length = 1, max_length = 120)]
    subject: String,
    /// The whole text.
    #[resource(search)]
    text: Option<String>,
    /// The progress.
    #[resource(filter, group)]
    progress: Progress,
    /// The tag.
    #[resource(filter, references = "tag")]
    tag_id: u32,
    /// The number of changes.
    #[resource(read_only)]
    #[create_input(value = 1)]
    #[serde(rename = "_version")]
    version: u64,
}

/// A temperature.
#[derive(Debug, Serialize, JsonSchema)]
struct Temperature {
    /// Degrees Celsius.
    celsius: f64,
    /// Degrees Fahrenheit.
    fahrenheit: f64,
}

/// Convert a temperature. The operation has no example, because its parameter shows how it is called.
#[operation(category = "READ")]
fn get_temperature(
    /// Degrees Celsius.
    #[param(minimum = -273, maximum = 10_000)]
    celsius: f64,
) -> Temperature {
    Temperature { celsius, fahrenheit: celsius * 1.8 + 32.0 }
}

/// A badge.
#[derive(Debug, Serialize, JsonSchema)]
struct Badge {
    /// The owner.
    owner_id: String,
    /// The badge.
    badge_id: String,
}

/// Get a badge.
#[operation(category = "READ")]
fn get_badge(
    /// The owner.
    owner_id: String,
    /// The badge.
    badge_id: String,
) -> Result<Badge, OperationError> {
    match (owner_id.as_str(), badge_id.as_str()) {
        ("o-1", "b-1") => Ok(Badge { owner_id, badge_id }),
        _ => Err(OperationError::not_found("badge", &badge_id)),
    }
}

/// The weather of a region.
#[derive(Debug, Serialize, JsonSchema)]
struct Weather {
    /// The region.
    region_id: String,
    /// Whether it rains.
    rains: bool,
}

/// Get the weather.
#[operation(category = "READ")]
fn get_weather(
    /// The region.
    region_id: String,
) -> Result<Weather, OperationError> {
    match region_id.as_str() {
        "north" => Ok(Weather { region_id, rains: true }),
        _ => Err(OperationError::not_found("region", &region_id)),
    }
}

fn helpdesk() -> AdapterBuilder {
    Adapter::builder("helpdesk")
        .without_config()
        .resource(MemoryRecords::<Tag>::new())
        .resource(MemoryRecords::<Ticket>::new())
        .operation(get_temperature {})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ready_operations_reach_level_2_without_a_configuration() {
    // REQ-CNF-01, REQ-CNF-02
    let adapter = helpdesk().build().expect("the adapter is sound");
    // The strings in stored records differ from those that the run would search for.
    for (number, name) in ["mauve", "teal", "ochre", "beige"].into_iter().enumerate() {
        let params = json!({ "tag": name, "rank": number });
        assert!(adapter.call("create_tag", params).await.is_success());
        let params =
            json!({ "subject": format!("Printer {name}"), "progress": "open", "tag_id": 1 });
        assert!(adapter.call("create_ticket", params).await.is_success());
    }
    let report = conformance_report(&adapter, Settings::default().allow_all()).await.unwrap();
    let found = found(&report);
    assert!(found.is_empty(), "{found:#?}");
    assert_eq!(report.conformance_level, 2, "{:#?}", report.obstacles);
    assert!(report.left_behind.is_empty(), "{:?}", report.left_behind);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_report_names_all_missing_values() {
    // REQ-CNF-01, REQ-CNF-02
    let builder = || helpdesk().operation(get_badge {}).operation(get_weather {});
    let run = async |settings: Settings| {
        conformance_report(&builder().build().unwrap(), settings.allow_all()).await.unwrap()
    };
    let report = run(Settings::default()).await;
    let text = report.text(false);
    for said in [
        "`owner_id` and `badge_id`: add them under [params.get_badge]",
        "`region_id`: add one under [params.get_weather]",
    ] {
        assert!(text.contains(said), "{text}");
    }
    let file = "[params.get_badge]\nowner_id = 'o-1'\nbadge_id = 'b-1'\n\
                [params.get_weather]\nregion_id = 'north'";
    let settings = Settings::default().file(File::parse(file, |_| None).unwrap());
    let report = run(settings).await;
    assert_eq!(report.conformance_level, 2, "{:#?}", report.obstacles);
}
