//! Tests `#[argument(…)]`. It states what an argument is, independently of the name of its type.

#![deny(warnings)]

use std::sync::Arc;

use mcp_aql::prelude::*;
use mcp_aql::table::{Operation, Operations, ParameterEntry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

type Names = State<Arc<[&'static str]>>;
type CallInfo = Context;
type Background = ExecutionContext;
type TaskChange = Update<Task>;
type Version = IfMatch;
type Tasks = CollectionQuery<Task>;

/// A task.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, UpdateInput)]
struct Task {
    /// The number.
    #[resource(id)]
    id: u32,
    /// The title.
    title: String,
}

mod own {
    use super::{Deserialize, JsonSchema};

    /// A type with the name of one that is not a parameter.
    #[derive(Debug, Deserialize, JsonSchema)]
    pub(crate) struct Context {
        /// The words around a place.
        pub(crate) words: Vec<String>,
    }
}

/// Count the words around a place.
#[operation(category = "READ")]
fn count_words(
    /// The place.
    #[argument(parameter)]
    place: own::Context,
    #[argument(Context)] call: CallInfo,
    #[argument(State<Arc<[&'static str]>>)] names: Names,
) -> usize {
    let _ = call.operation();
    place.words.len() + names.len()
}

struct Desk;

#[operations]
impl Desk {
    /// Change a task.
    #[operation(category = "UPDATE")]
    fn update_task(
        &self,
        /// The number.
        id: u32,
        #[argument(IfMatch)] version: Version,
        #[argument(Update<Task>)] input: TaskChange,
    ) -> Result<u32, OperationError> {
        let _ = (version, input);
        Ok(id)
    }

    /// List the tasks.
    #[operation(category = "READ")]
    fn list_tasks(
        &self,
        #[argument(CollectionQuery<Task>)] query: Tasks,
    ) -> Result<Page<Task>, OperationError> {
        query.run(&[])
    }

    /// Print the tasks.
    #[operation(category = "EXECUTE", lifecycle(cancel))]
    async fn execute_print(&self, #[argument(ExecutionContext)] background: Background) {
        background.cancelled().await;
    }
}

#[test]
fn arguments_are_what_their_attributes_state() {
    let counted = count_words::OPERATION.spec.parameters;
    assert!(matches!(counted, [ParameterEntry::One(one)] if one.name == "place"));
    assert_eq!(count_words::OPERATION.spec.states.len(), 1);
    let counts = Desk::OPERATIONS.iter().map(|method| method.spec.parameters.len());
    assert_eq!(counts.collect::<Vec<_>>(), [3, 1, 0]);
}
