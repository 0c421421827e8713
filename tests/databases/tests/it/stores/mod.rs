//! Tests the stores: their common contract, and failures of files, servers and processes.

mod contract;
mod crash;
mod executions;
mod fixture;
mod postgres;
mod sqlite;
mod start;

/// Generates a test of the contract for each promise and each store.
macro_rules! promised {
    ($($promise:ident),* $(,)?) => { $(
        mod $promise {
            use super::{contract, fixture};

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn in_memory() {
                contract::$promise(&fixture::memory()).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn in_sqlite() {
                contract::$promise(&fixture::sqlite()).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn in_postgres() {
                let Some(fixture) = fixture::postgres().await else { return };
                contract::$promise(&fixture).await;
            }
        }
    )* };
}

promised!(
    all_changes_are_made_or_none,
    readers_see_no_partial_write,
    expectations_decide_about_writes,
    one_of_many_claims_wins,
    no_count_is_lost,
    writers_in_any_order_get_through,
    versions_are_unique,
    groups_are_listed_in_pages,
    keys_are_ordered_by_their_bytes,
    any_text_is_kept,
    names_that_are_too_long_are_refused,
    what_has_expired_is_forgotten,
    renewed_records_outlive_a_purge,
    dropped_writes_are_complete_or_absent,
    results_stay_within_their_budget,
);
