//! Reads the lists of operations and types, and the details of each entry.

use futures_util::stream::{self, StreamExt, TryStreamExt};
use serde_json::{Value, json};

use super::{LearnError, MemoryBudget, ask};
use crate::adapter::gaps::{self, Gap, Part};
use crate::adapter::naming;
use crate::adapter::{Adapter, Operation, Tool, Type};
use crate::budget::Pacer;
use crate::category::Mode;
use crate::wire::Connection;

/// A list returned by `introspect`.
struct ListQuery {
    /// The query. The member with the list has the same name.
    query: &'static str,
    /// The member with the details of one entry.
    details: &'static str,
}

const OPERATIONS: ListQuery = ListQuery { query: "operations", details: "operation" };
const TYPES: ListQuery = ListQuery { query: "types", details: "type" };

/// An entry of a list with its name, and the reply with its details.
struct Listed {
    name: String,
    entry: Value,
    reply: Value,
}

/// Reads lists through the tool that accepts `introspect`.
pub(super) struct Reader<'a> {
    pub(super) connection: &'a Connection,
    pub(super) pacer: &'a Pacer,
    pub(super) introspect: &'a str,
    pub(super) budget: &'a MemoryBudget,
    /// Maximum number of concurrent requests.
    pub(super) at_once: usize,
}

impl Reader<'_> {
    /// Reads the operations and their gaps.
    pub(super) async fn operations(&self, adapter: &mut Adapter) -> Result<(), LearnError> {
        let list = list_in(&adapter.operations_reply, OPERATIONS.query);
        let listed = list.len();
        let member = self.name_member(&OPERATIONS, &list).await;
        let entries = self.details(&OPERATIONS, list, &member).await?;
        let unnamed = listed - entries.len();
        if unnamed > 0 {
            let why = format!("{unnamed} entries of the list of operations have no readable name");
            adapter.gaps.push(Gap::new(Part::Details, "introspection.list_form", why));
        }
        for Listed { name, entry, reply } in entries {
            let mut operation = Operation::read(name, &entry, reply, &member);
            let single = adapter.endpoints.first().filter(|_| adapter.serves_all);
            let tool = naming::tool(
                &operation.tool,
                &operation.endpoint,
                operation.category,
                &adapter.tools,
                &adapter.endpoints,
            );
            operation.tool = match single {
                // Introspection may name the tools of the other mode (REQ-INT-11).
                Some(single) if is_of_other_mode(adapter, &tool) => single.name.clone(),
                _ => tool,
            };
            operation.find_gap();
            adapter.operations.push(operation);
        }
        let gap =
            |operation: &Operation| operation.gap.clone().or_else(|| gaps::of_safety(operation));
        adapter.gaps.extend(adapter.operations.iter().filter_map(gap).collect::<Vec<_>>());
        adapter.name_member = member;
        Ok(())
    }

    /// Reads the types and their gaps.
    pub(super) async fn types(&self, adapter: &mut Adapter) -> Result<(), LearnError> {
        let exchange =
            ask(self.connection, self.pacer, self.introspect, json!({ "query": TYPES.query }))
                .await;
        let reply = exchange.received();
        self.budget.reserve(3, &reply)?;
        let list = list_in(&reply, TYPES.query);
        let is_list = reply.pointer("/data/types").is_some_and(Value::is_array);
        adapter.types_reply = reply;
        let listed = list.len();
        let member = self.name_member(&TYPES, &list).await;
        let entries = self.details(&TYPES, list, &member).await?;
        if !is_list || entries.len() < listed {
            let why = "the list of types could not be read";
            adapter.gaps.push(Gap::new(Part::Types, "introspection.types_form", why));
        }
        for Listed { name, entry, reply } in entries {
            adapter.types.push(Type::read(name, entry, reply, &member));
        }
        if let Some(unread) = adapter.types.iter().find(|known| !known.details().is_object()) {
            let why = format!("the details of the type `{}` could not be read", unread.name);
            adapter.gaps.push(Gap::new(Part::Types, "introspection.type_details_form", why));
        }
        Ok(())
    }

    /// Determines the member that holds the names in a list.
    ///
    /// This is `name`, or the first other member with a value that `introspect` resolves. For example, some adapters
    /// list operations as `{ "operation_name": "get_task" }`.
    async fn name_member(&self, list: &ListQuery, entries: &[Value]) -> String {
        let is_unnamed = |entry: &&Value| naming::name_of(entry, naming::NAME).is_none();
        for (member, name) in
            entries.iter().find(is_unnamed).map(naming::candidates).unwrap_or_default()
        {
            let reply = self.look_up(list, name).await;
            let details = reply.pointer("/data").and_then(|data| data.get(list.details));
            if details.is_some_and(Value::is_object) {
                return member.to_owned();
            }
        }
        naming::NAME.to_owned()
    }

    /// Requests the details of an entry and returns the reply.
    async fn look_up(&self, list: &ListQuery, name: &str) -> Value {
        let params = json!({ "query": list.query, "name": name });
        ask(self.connection, self.pacer, self.introspect, params)
            .await
            .into_body()
            .unwrap_or_default()
    }

    /// Reads the details of all entries with names.
    async fn details(
        &self,
        list: &ListQuery,
        entries: Vec<Value>,
        member: &str,
    ) -> Result<Vec<Listed>, LearnError> {
        let named = entries.into_iter().filter_map(|entry| {
            let name = naming::name_of(&entry, member)?.to_owned();
            Some((name, entry))
        });
        let requests: Vec<_> = named
            .map(|(name, entry)| async move {
                let reply = self.look_up(list, &name).await;
                // Renaming the details creates a second copy.
                let copies = if member == naming::NAME { 1 } else { 2 };
                self.budget.reserve(copies, &reply)?;
                Ok::<_, LearnError>(Listed { name, entry, reply })
            })
            .collect();
        stream::iter(requests).buffered(self.at_once).try_collect().await
    }
}

/// Returns `true` if the adapter serves both modes and this tool belongs to the one not under test.
fn is_of_other_mode(adapter: &Adapter, tool: &str) -> bool {
    adapter.mode == Mode::Single && adapter.tools.iter().any(|known: &Tool| known.name == tool)
}

/// Returns the list with this name in a reply of `introspect`.
fn list_in(reply: &Value, name: &str) -> Vec<Value> {
    let list = reply.pointer("/data").and_then(|data| data.get(name)?.as_array());
    list.cloned().unwrap_or_default()
}
