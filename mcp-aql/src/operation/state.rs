use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;

/// Shared state, by its type: what [`AdapterBuilder::state`](crate::AdapterBuilder::state) was given.
///
/// As an argument of an operation it is no parameter: `State(clock): State<Clock>`. A state that no
/// one registered is an error of [`build`](crate::AdapterBuilder::build), not of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State<T>(pub T);

impl<T> std::ops::Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// A state that an operation needs.
#[derive(Clone, Copy)]
pub struct StateSpec {
    pub(crate) id: fn() -> TypeId,
    pub(crate) name: fn() -> &'static str,
}

impl StateSpec {
    /// The state of type `T`.
    pub const fn of<T: 'static>() -> Self {
        Self { id: TypeId::of::<T>, name: type_name::<T> }
    }
}

impl fmt::Debug for StateSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "StateSpec({})", (self.name)())
    }
}

/// All registered states.
#[derive(Default)]
pub(crate) struct StateMap(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

impl StateMap {
    /// Adds a state; `false` when one of this type was there already.
    pub(crate) fn insert<T: Send + Sync + 'static>(&mut self, state: T) -> bool {
        self.0.insert(TypeId::of::<T>(), Box::new(state)).is_none()
    }

    pub(crate) fn contains(&self, spec: &StateSpec) -> bool {
        self.0.contains_key(&(spec.id)())
    }

    pub(crate) fn get<T: Clone + 'static>(&self) -> Option<T> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref::<T>().cloned()
    }
}
