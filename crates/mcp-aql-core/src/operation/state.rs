//! Stores the shared state of an adapter by type.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;

use crate::schema::spec::{SharedState, StateSpec};

/// Gives an operation access to shared state registered with [`AdapterBuilder::state`](crate::AdapterBuilder::state).
///
/// Use it as an argument of your function: `State(clock): State<Clock>`. It does not become a parameter of the
/// operation. If no state of this type is registered, [`build`](crate::AdapterBuilder::build) fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State<T>(pub T);

impl<T> std::ops::Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// All registered states.
#[derive(Default)]
pub(crate) struct StateMap(HashMap<TypeId, RegisteredState>);

struct RegisteredState {
    value: Box<dyn Any + Send + Sync>,
    type_name: &'static str,
}

impl std::fmt::Debug for StateMap {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("StateMap")
    }
}

impl StateMap {
    /// Adds a state. Returns `false` if it replaces a state of the same type.
    pub(crate) fn insert<T: SharedState>(&mut self, state: T) -> bool {
        let state = RegisteredState { value: Box::new(state), type_name: type_name::<T>() };
        self.0.insert(TypeId::of::<T>(), state).is_none()
    }

    /// Returns the problem to report if the state is not registered.
    pub(crate) fn problem_of(&self, spec: &StateSpec) -> Option<String> {
        if self.0.contains_key(&(spec.id)()) {
            return None;
        }
        let needed = (spec.name)();
        let differs_by_arc =
            |known: &str| inside_arc(known) == Some(needed) || inside_arc(needed) == Some(known);
        let near = self.0.values().map(|state| state.type_name).find(|known| differs_by_arc(known));
        if needed.starts_with("alloc::sync::Arc<dyn ") {
            let registered = self.0.values().map(|state| state.type_name);
            let mut shared: Vec<_> = registered
                .filter(|name| inside_arc(name).is_some())
                .map(|name| format!("`{name}`"))
                .collect();
            shared.sort_unstable();
            if !shared.is_empty() {
                return Some(format!(
                    "takes `State<{needed}>`, but the registered state is {}, a different type: register it \
                     with `.state::<{needed}>(…)`",
                    shared.join(" or ")
                ));
            }
        }
        Some(match near {
            Some(near) => format!(
                "takes `State<{needed}>`, but the registered state is `{near}`: write `State<{near}>` in \
                 the function, or register a `{needed}` with `.state(…)`"
            ),
            None => {
                format!("takes `State<{needed}>`, but no such state is registered: add `.state(…)`")
            }
        })
    }

    pub(crate) fn get<T: SharedState>(&self) -> Option<T> {
        self.0.get(&TypeId::of::<T>())?.value.downcast_ref::<T>().cloned()
    }
}

/// Returns `T` for a type name `Arc<T>`. Only a hint in a message depends on it, because type names are not stable.
fn inside_arc(name: &str) -> Option<&str> {
    name.strip_prefix("alloc::sync::Arc<")?.strip_suffix('>')
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[derive(Clone)]
    struct Database;

    #[test]
    fn a_state_that_differs_by_an_arc_is_named() {
        let mut states = StateMap::default();
        let problem = |states: &StateMap, spec| states.problem_of(&spec).unwrap_or_default();
        let missing = problem(&states, StateSpec::of::<Database>());
        assert!(missing.contains("no such state is registered"), "{missing}");

        states.insert(Arc::new(Database));
        states.insert(7_u8);
        let database = type_name::<Database>();
        let found = problem(&states, StateSpec::of::<Database>());
        assert!(found.contains(&format!("write `State<alloc::sync::Arc<{database}>>`")), "{found}");
        assert_eq!(states.problem_of(&StateSpec::of::<Arc<Database>>()), None);

        let found = problem(&states, StateSpec::of::<Arc<dyn std::fmt::Debug + Send + Sync>>());
        assert!(
            found.contains(&format!("is `alloc::sync::Arc<{database}>`, a different")),
            "{found}"
        );
        assert!(found.contains("`.state::<alloc::sync::Arc<dyn "), "{found}");

        let found = problem(&states, StateSpec::of::<Arc<u8>>());
        assert!(found.contains("write `State<u8>`"), "{found}");
        let missing = problem(&states, StateSpec::of::<u16>());
        assert!(missing.contains("no such state is registered"), "{missing}");
    }
}
