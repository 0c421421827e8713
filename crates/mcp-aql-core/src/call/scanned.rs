//! Requests whose text was scanned. A valid call is read without a map of its arguments. The stages explain the faults
//! of every other request.

use tracing::Instrument as _;

use super::Pipeline;
use super::call_log;
use super::observe::{Observation, within_span};
use super::reply::introspects;
use super::validate::ValidCall;
use crate::error::OperationError;
use crate::operation::{CallScope, Context};
use crate::request::{Credentials, IndexedArguments, OperationInput, parse};
use crate::response::Reply;
use crate::router::Endpoint;
use crate::validate::{ValidParams, validate_indexed};
use crate::vocab::{ReplyForm, ReplyLimits};

/// A request whose text was scanned, as far as it was read. It does not borrow the text, so that the call can run as
/// a task.
pub(crate) enum Scanned {
    /// A valid call of the operation at this place in the registry.
    Valid(usize, ValidParams),
    /// A call of one operation that needs an error, or anything else that only decoded parameters provide.
    Decoded(OperationInput),
    /// A request that must be parsed.
    Text(Box<str>),
}

impl Pipeline {
    /// Reads a request that was scanned. Also returns the place of its operation in the registry, if the endpoint offers
    /// it.
    pub(crate) fn read_scanned(
        &self,
        sent: &IndexedArguments<'_>,
        endpoint: Endpoint,
        scope: &CallScope,
    ) -> (Option<usize>, Scanned) {
        let operation = self.catalog.registry.find(sent.operation(), endpoint);
        let valid =
            operation.and_then(|place| Some((place, self.validate_scanned(sent, place, scope)?)));
        let scanned = match valid {
            Some((place, valid)) => Scanned::Valid(place, valid),
            None => match sent.to_input(&self.settings.limits) {
                Some(input) => Scanned::Decoded(input),
                None => Scanned::Text(sent.text().into()),
            },
        };
        (operation, scanned)
    }

    /// Checks the parameters of a call. Returns `None` if one of them is invalid, or if a later stage needs the
    /// parameters as they were sent.
    fn validate_scanned(
        &self,
        sent: &IndexedArguments<'_>,
        place: usize,
        scope: &CallScope,
    ) -> Option<ValidParams> {
        let limits = &self.settings.limits;
        let operation = &self.catalog.registry.entries.get(place)?.operation;
        let lifecycle = operation.spec.lifecycle;
        let needs_params =
            operation.rename_params.is_some() || lifecycle.is_some_and(|lifecycle| lifecycle.retry);
        if needs_params || !sent.fits(limits) {
            return None;
        }
        let whole = operation.needs_whole_arguments();
        let caller = scope.principal();
        validate_indexed(operation, sent, &self.catalog.shapes, limits, (caller, whole))
    }

    /// Takes a request that must be parsed to its reply.
    pub(crate) async fn handle_text(
        &self,
        endpoint: Endpoint,
        text: &str,
        scope: CallScope,
        form: ReplyForm,
    ) -> Reply {
        match parse(text.as_bytes(), &self.settings.limits) {
            Ok(sent) => self.handle(endpoint, sent, scope, form).await,
            Err(error) => self.reply_to_unreadable(error, &scope),
        }
    }

    /// Takes a valid call from its parameters to its reply.
    pub(crate) async fn handle_valid(
        &self,
        place: usize,
        valid: ValidParams,
        scope: CallScope,
        form: ReplyForm,
    ) -> Reply {
        let Some(entry) = self.catalog.registry.entries.get(place) else {
            let error = OperationError::internal("the operation is not in the registry");
            return self.reply_to_unreadable(error, &scope);
        };
        let operation = &entry.operation;
        let context = Context::of_call(scope, self.upstream.clone());
        let observation =
            Observation::begin(&self.observers, Some(&operation.spec), || context.clone());
        let limits = ReplyLimits::new(&self.settings.limits).in_form(form);
        let call = ValidCall { operation, valid, credentials: Credentials::default(), sent: None };
        let stages = std::pin::pin!(async {
            self.permit(operation, context.scope()).await?;
            self.admit_and_run(call, &context, limits).await
        });
        let span = call_log::span(operation, context.scope());
        let stages = std::pin::pin!(stages.instrument(span));
        let outcome = within_span(observation.observed(), stages).await;
        self.reply(outcome, introspects(operation.spec.name), &context, form, observation)
    }
}
