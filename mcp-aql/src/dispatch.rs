//! Runs one checked call: cancellation, time limit, panics caught, concurrency as declared.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::Value;
use tokio::sync::{RwLock, Semaphore};

use crate::error::OperationError;
use crate::gatekeeper::Permit;
use crate::operation::{Argument, BoxFuture, Context, Outcome, Parameter};
use crate::shape::{Kind, Rest, Shape, Shapes};
use crate::vocab::SemanticCategory;

/// Which calls may run side by side. Published as `_protocol.concurrency` and kept by the adapter.
///
/// Source: MCP-AQL §9.3.1 (REQ-CON-01).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Concurrency {
    /// One call after the other.
    Serialized,
    /// READ operations run side by side, any other runs alone.
    ReadConcurrent,
    /// Everything runs side by side; the operations look after themselves.
    #[default]
    FullyConcurrent,
    /// Everything runs side by side, and the operations lock the resources they touch.
    ResourceLocked,
}

impl Concurrency {
    /// The word in `_protocol.concurrency`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Serialized => "serialized",
            Self::ReadConcurrent => "read-concurrent",
            Self::FullyConcurrent => "fully-concurrent",
            Self::ResourceLocked => "resource-locked",
        }
    }
}

/// Lets calls in as the adapter's concurrency category has it.
pub(crate) struct Turnstile {
    category: Concurrency,
    alone: RwLock<()>,
    places: Option<Semaphore>,
    time_limit: Option<Duration>,
}

impl Turnstile {
    pub(crate) fn new(
        category: Concurrency,
        places: Option<usize>,
        time_limit: Option<Duration>,
    ) -> Self {
        Self {
            category,
            alone: RwLock::new(()),
            places: places.map(|places| Semaphore::new(places.min(Semaphore::MAX_PERMITS))),
            time_limit,
        }
    }

    /// Runs a permitted call when its turn has come.
    pub(crate) async fn run<'a>(
        &self,
        _permit: Permit,
        category: SemanticCategory,
        context: &Context,
        start: impl FnOnce() -> BoxFuture<'a, Outcome>,
    ) -> Outcome {
        if self.is_open() {
            if context.is_cancelled() {
                return Err(given_up());
            }
            return match category {
                SemanticCategory::Read => unless_cancelled(context, caught(start)).await,
                _ => caught(start).await,
            };
        }
        // Apart, so that the future of a call that waits for nobody stays small.
        let work = Box::pin(async {
            let _place = match &self.places {
                Some(places) => Some(places.acquire().await),
                None => None,
            };
            // These guards are async ones and are meant to be held while the operation runs: that is
            // what the category promises.
            let reads = category == SemanticCategory::Read;
            let (_shared, _alone) = match self.category {
                Concurrency::ReadConcurrent if reads => (Some(self.alone.read().await), None),
                Concurrency::Serialized | Concurrency::ReadConcurrent => {
                    (None, Some(self.alone.write().await))
                }
                Concurrency::FullyConcurrent | Concurrency::ResourceLocked => (None, None),
            };
            // Whoever gave up while waiting in line does not want it started any more.
            if context.is_cancelled() {
                return Err(given_up());
            }
            match self.time_limit {
                Some(limit) => tokio::time::timeout(limit, caught(start))
                    .await
                    .unwrap_or_else(|_| Err(OperationError::internal("the time limit has passed"))),
                None => caught(start).await,
            }
        });
        if category != SemanticCategory::Read {
            // Half of a change is worse than one that nobody waits for: what writes and has begun runs
            // to its end, unless its author watches `Context::cancelled` or set a time limit.
            return work.await;
        }
        unless_cancelled(context, work).await
    }

    /// Whether calls wait for nobody and nobody waits for them.
    pub(crate) fn is_open(&self) -> bool {
        let free =
            matches!(self.category, Concurrency::FullyConcurrent | Concurrency::ResourceLocked);
        free && self.places.is_none() && self.time_limit.is_none()
    }
}

/// Runs a READ until its caller gives up.
async fn unless_cancelled(context: &Context, work: impl Future<Output = Outcome>) -> Outcome {
    tokio::select! {
        biased;
        outcome = work => outcome,
        () = context.cancelled() => Err(given_up()),
    }
}

fn given_up() -> OperationError {
    OperationError::internal("the caller gave up")
}

/// A panic becomes `INTERNAL_ERROR`, and the session lives on.
async fn caught<'a>(start: impl FnOnce() -> BoxFuture<'a, Outcome>) -> Outcome {
    AssertUnwindSafe(async { start().await }).catch_unwind().await.unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<&str>()
            .map(ToString::to_string)
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_default();
        Err(OperationError::internal(format!("panicked: {message}")))
    })
}

/// The arguments as the log may show them: secrets are masked.
pub(crate) fn redacted(parameters: &[Parameter], arguments: &[Argument], shapes: &Shapes) -> Value {
    arguments
        .iter()
        .zip(parameters)
        .filter_map(|(argument, parameter)| {
            let value = argument.value.as_ref()?;
            Some((parameter.name.to_string(), masked(parameter, value, shapes)))
        })
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// An argument as others than its sender may see it.
pub(crate) fn masked(parameter: &Parameter, value: &Value, shapes: &Shapes) -> Value {
    if parameter.spec.sensitive { MASK.into() } else { mask(value, &parameter.shape, shapes) }
}

const MASK: &str = "[redacted]";

fn mask(value: &Value, shape: &Shape, shapes: &Shapes) -> Value {
    let target = shape.resolve(shapes);
    if shape.sensitive || target.sensitive {
        return MASK.into();
    }
    match (value, &target.kind) {
        (Value::Object(fields), Kind::Object(object)) => fields
            .iter()
            .map(|(name, value)| {
                let masked = match (object.fields.get(name), &object.rest) {
                    (Some(field), _) => mask(value, &field.shape, shapes),
                    (None, Rest::Each(each)) => mask(value, each, shapes),
                    (None, _) => value.clone(),
                };
                (name.clone(), masked)
            })
            .collect::<serde_json::Map<_, _>>()
            .into(),
        (Value::Array(values), Kind::Array(items)) => {
            values.iter().map(|value| mask(value, items, shapes)).collect()
        }
        _ => value.clone(),
    }
}

/// Shared by the adapter's clones.
pub(crate) type SharedTurnstile = Arc<Turnstile>;
