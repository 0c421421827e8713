//! Tests that a correct adapter keeps its level regardless of its number of resources.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcp_aql::prelude::*;
use mcp_aql::testing::conformance::Settings;
use mcp_aql::testing::conformance_report;
use mcp_aql_conformance::{Report, Verdict};
use mcp_aql_conformance_tests::found;
use serde::{Deserialize, Serialize};

/// Defines a resource with five operations. None of them requires confirmation.
macro_rules! kind {
    (
        $module:ident $record:ident $noun:literal $id:ident $id_text:literal
        $create:ident $get:ident $list:ident $update:ident $delete:ident
    ) => {
        mod $module {
            use super::*;

            /// A record of this kind.
            #[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, UpdateInput)]
            pub(super) struct $record {
                /// The number, assigned on creation.
                #[resource(id)]
                $id: u64,
                /// The name.
                #[resource(filter, sort)]
                #[param(min_length = 1, max_length = 60)]
                name: String,
                /// The labels.
                labels: Vec<String>,
            }

            /// Stores all records of this kind.
            #[derive(Default)]
            pub(super) struct Records(Mutex<BTreeMap<u64, $record>>);

            impl Records {
                fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, $record>> {
                    self.0.lock().unwrap_or_else(PoisonError::into_inner)
                }
            }

            #[operations]
            impl Records {
                /// Add a record of this kind.
                #[operation(category = "CREATE", example = { "name": "First", "labels": ["new"] })]
                fn $create(
                    &self,
                    /// The name.
                    #[param(min_length = 1, max_length = 60)]
                    name: String,
                    /// The labels.
                    #[param(default = [])]
                    labels: Vec<String>,
                ) -> $record {
                    let mut records = self.lock();
                    let $id = records.keys().last().map_or(1, |last| last + 1);
                    let record = $record { $id, name, labels };
                    records.insert($id, record.clone());
                    record
                }

                /// Get one record of this kind.
                #[operation(category = "READ", example = { $id_text: 1 })]
                fn $get(
                    &self,
                    /// The record.
                    $id: u64,
                    fields: Fields<$record>,
                ) -> Result<mcp_aql::query::SelectedFields<$record>, OperationError> {
                    let found = self.lock().get(&$id).cloned();
                    Ok(fields.of(found.ok_or_else(|| OperationError::not_found($noun, $id))?))
                }

                /// List records of this kind.
                #[operation(category = "READ", example = { "first": 5 })]
                fn $list(
                    &self,
                    query: CollectionQuery<$record>,
                ) -> Result<Page<$record>, OperationError> {
                    let records: Vec<_> = self.lock().values().cloned().collect();
                    query.run(records)
                }

                /// Change a record of this kind.
                #[operation(category = "UPDATE", example = { $id_text: 1, "input": { "name": "Second" } })]
                fn $update(
                    &self,
                    /// The record.
                    $id: u64,
                    input: Update<$record>,
                ) -> Result<$record, OperationError> {
                    let mut records = self.lock();
                    let found = records.get_mut(&$id);
                    let record = found.ok_or_else(|| OperationError::not_found($noun, $id))?;
                    input.merge_into(record);
                    Ok(record.clone())
                }

                /// Remove a record of this kind. It can be added again.
                #[operation(
                    category = "DELETE",
                    danger(level = "reversible", reasons = ["The record can be added again"]),
                    example = { $id_text: 1 },
                )]
                fn $delete(
                    &self,
                    /// The record.
                    $id: u64,
                ) -> Result<$record, OperationError> {
                    let found = self.lock().remove(&$id);
                    found.ok_or_else(|| OperationError::not_found($noun, $id))
                }
            }
        }
    };
}

kind!(apples Apple "apple" apple_id "apple_id" create_apple get_apple list_apples update_apple delete_apple);
kind!(boats Boat "boat" boat_id "boat_id" create_boat get_boat list_boats update_boat delete_boat);
kind!(cards Card "card" card_id "card_id" create_card get_card list_cards update_card delete_card);
kind!(doors Door "door" door_id "door_id" create_door get_door list_doors update_door delete_door);
kind!(engines Engine "engine" engine_id "engine_id" create_engine get_engine list_engines update_engine delete_engine);
kind!(forests Forest "forest" forest_id "forest_id" create_forest get_forest list_forests update_forest delete_forest);
kind!(grapes Grape "grape" grape_id "grape_id" create_grape get_grape list_grapes update_grape delete_grape);

async fn report(kinds: usize) -> Report {
    let builder = Adapter::builder("kinds").without_config();
    let mut builder = builder.operations(apples::Records::default());
    if kinds > 1 {
        builder = builder
            .operations(boats::Records::default())
            .operations(cards::Records::default())
            .operations(doors::Records::default())
            .operations(engines::Records::default())
            .operations(forests::Records::default())
            .operations(grapes::Records::default());
    }
    let adapter = builder.build().expect("the adapter is sound");
    conformance_report(&adapter, Settings::default().allow_all()).await.expect("the run ends")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_verdicts_do_not_depend_on_the_number_of_kinds() {
    // REQ-SES-02, REQ-SES-05, REQ-CNF-02
    let (one, seven) = (report(1).await, report(7).await);
    for report in [&one, &seven] {
        let found = found(report);
        assert!(found.is_empty(), "{found:#?}");
        assert_eq!(report.conformance_level, 2, "{:#?}", report.obstacles);
    }
    let verdicts = |report: &Report| -> BTreeMap<String, Verdict> {
        report.checks().map(|check| (check.id.clone(), check.verdict)).collect()
    };
    assert_eq!(verdicts(&one), verdicts(&seven));
    let verdict = verdicts(&seven).get("sessions.tokens_end").copied();
    assert_eq!(verdict, Some(Verdict::NotApplicable));
}
