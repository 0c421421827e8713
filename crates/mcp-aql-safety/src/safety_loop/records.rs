//! The records of the safety loop in the store.

use chrono::{DateTime, TimeDelta, Utc};
use hmac_sha256::Hash;
use mcp_aql_core::internal::vocab::hex;
use mcp_aql_core::store::{Change, Expected, NewRecord, StateRecord, StateStore, StoreError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::agent_state::{AgentState, PersonRequest};

/// The collection of agents. The key is the agent's normalized name.
pub(super) const AGENTS: &str = "safety_agents";

/// The collection that maps requests to their targets.
///
/// ```text
/// id ID          request by its id
/// code HASH      request by the hash of its code
/// answered ID    mark of an answered approval
/// ```
pub(super) const INDEX: &str = "safety_index";

/// The time for which an inactive agent is kept.
pub(super) const IDLE_TTL: TimeDelta = TimeDelta::days(1);

/// The target of a request.
///
/// ```json
/// { "Agent": { "agent": "tidy", "id": "9f0c…" } }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Target {
    Agent { agent: String, id: String },
    Approval { key: String, id: String },
}

/// Parses the value of a record.
pub(super) fn read<T: DeserializeOwned>(record: &StateRecord) -> Result<T, StoreError> {
    serde_json::from_str(&record.value)
        .map_err(|error| StoreError::Unreadable(format!("record `{}`: {error}", record.key)))
}

/// Parses the value of a record. An unreadable record is logged and skipped, so that it does not affect other records.
pub(super) fn readable<T: DeserializeOwned>(record: &StateRecord) -> Option<T> {
    read(record)
        .inspect_err(|error| tracing::error!(%error, "a record of the safety loop cannot be read"))
        .ok()
}

pub(super) fn written<T: Serialize>(value: &T) -> Result<NewRecord, StoreError> {
    serde_json::to_string(value).map(NewRecord::new).map_err(StoreError::failed)
}

pub(super) fn expected(record: Option<&StateRecord>) -> Expected {
    record.map_or(Expected::Absent, |record| Expected::Version(record.version))
}

pub(super) async fn target(
    store: &dyn StateStore,
    key: &str,
) -> Result<Option<Target>, StoreError> {
    store.get(INDEX, key).await?.as_ref().map(read).transpose()
}

/// Returns the change that marks an approval as answered.
pub(super) fn answered(id: &str, now: DateTime<Utc>) -> Result<Change, StoreError> {
    let record = written(&true)?.expires_at(now + IDLE_TTL);
    Ok(Change::put(INDEX, format!("answered {id}"), Expected::Any, record))
}

/// Returns the change that stores an agent's state.
pub(super) fn agent_change(
    key: &str,
    record: Option<&StateRecord>,
    state: &AgentState,
    now: DateTime<Utc>,
) -> Result<Change, StoreError> {
    let group = state.group();
    let mut kept = written(state)?.group(group);
    if group == "idle" {
        kept = kept.expires_at(now + IDLE_TTL);
    }
    Ok(Change::put(AGENTS, key, expected(record), kept))
}

/// Returns the changes that index a request by its id and by its code.
pub(super) fn indexed(ask: &PersonRequest, target: &Target) -> Result<[Change; 2], StoreError> {
    let until = ask.expires_at + IDLE_TTL;
    let put = |key: String| {
        let record = written(target)?.expires_at(until);
        Ok::<_, StoreError>(Change::put(INDEX, key, Expected::Any, record))
    };
    Ok([put(format!("id {}", ask.id))?, put(format!("code {}", ask.hash))?])
}

/// Returns the key of the approval record for a call.
pub(super) fn call_key(operation: &str, params_hash: &str, session: Option<&str>) -> String {
    let mut hash = Hash::new();
    for part in [operation, params_hash, session.unwrap_or_default()] {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    hash.update([u8::from(session.is_some())]);
    hex(&hash.finalize())
}
