//! The ready operations of a resource.

use std::fmt;

use mcp_aql_core::internal::gatekeeper::fill_with;
use mcp_aql_core::internal::operation::{
    Call, DataKey, OperationEntry, OperationSpec, Outcome, ParameterEntry, Preview,
};
use mcp_aql_core::internal::schema::{DangerSpec, ReturnsSpec};
use mcp_aql_core::resource::{Create, CreateInput};
use mcp_aql_core::update::UpdateInput;
use mcp_aql_core::{Context, OperationError, Page, ParamGroup};
use mcp_aql_protocol::SemanticCategory;
use serde_json::{Map, Value};

use super::references::ReferenceTargets;
use super::{Record, ResourceStore, StoreCall};
use crate::collection::CollectionQuery;
use crate::entry::QueryEntry;
use crate::options::{QueryOptions, TextSearch};
use crate::single::Fields;

/// A store with the ready operations of its resource.
pub struct Ready<S> {
    pub(super) store: S,
    pub(super) targets: ReferenceTargets,
}

impl<S> fmt::Debug for Ready<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Ready").finish_non_exhaustive()
    }
}

/// The ready operations of a resource over a store.
///
/// You rarely implement it yourself: write `#[resource(operations)]` above a type with `#[derive(Resource)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no ready operations",
    label = "has no ready operations",
    note = "write `#[resource(operations)]` above `{Self}`, or choose some with `#[resource(operations(create, get, list))]`"
)]
pub trait ReadyOperations<S: ResourceStore<Resource = Self>>: Record {
    /// The operations.
    const OPERATIONS: &'static [OperationEntry<Ready<S>>];
}

/// The resource of a store.
type ResourceOf<S> = <S as ResourceStore>::Resource;

/// Returns the record or its row, or a "not found" error with this identifier.
fn found<R: Record, T>(record: Option<T>, id: &R::Id) -> Result<T, OperationError> {
    record.ok_or_else(|| OperationError::not_found(R::NAMES.singular, id))
}

/// The `after` step of ready operations: nothing to do.
fn nothing<R>(_: &R) -> Result<(), OperationError> {
    Ok(())
}

/// Replaces `{field}` by the value of the field, and `{{` and `}}` by braces. A list is replaced by the
/// number of its entries.
///
/// ```text
/// Delete the order of {customer}, {items} items? → Delete the order of Ada, 3 items?
/// ```
fn fill_question(question: &str, record: &Map<String, Value>) -> String {
    fill_with(question, |name| {
        Some(match record.get(name) {
            None | Some(Value::Null) => "nothing".into(),
            Some(Value::Array(entries)) => entries.len().into(),
            Some(value) => value.clone(),
        })
    })
}

impl<S: ResourceStore> Ready<S> {
    const ID: ParameterEntry = ParameterEntry::One(ResourceOf::<S>::ID);

    const ROW: ReturnsSpec = ReturnsSpec::of::<S::Row, _>();
    const ROWS: ReturnsSpec = ReturnsSpec::of::<Page<S::Row>, _>();

    const GET: OperationEntry<Self> = OperationEntry::new(
        OperationSpec::new(
            ResourceOf::<S>::NAMES.get.name,
            SemanticCategory::Read,
            ResourceOf::<S>::NAMES.get.description,
        )
        .parameters(&[
            Self::ID,
            ParameterEntry::Composite(
                &QueryEntry::of::<Fields<ResourceOf<S>>>(QueryOptions::new()),
            ),
        ])
        .returns(Self::ROW)
        .data_key(DataKey::Named(ResourceOf::<S>::NAMES.singular))
        .show_sample(),
        |ready, mut call| {
            Box::pin(async move {
                let id = call.param()?;
                let fields = call.composite::<Fields<ResourceOf<S>>>()?;
                let context = call.context();
                let row = ready.store.get_fields(&ready.call(&context), &id, &fields).await?;
                call.reply(found::<ResourceOf<S>, _>(row, &id))
            })
        },
    );

    const LIST: OperationEntry<Self> = OperationEntry::new(
        OperationSpec::new(
            ResourceOf::<S>::NAMES.list.name,
            SemanticCategory::Read,
            ResourceOf::<S>::NAMES.list.description,
        )
        .parameters(&[ParameterEntry::Composite(
            &QueryEntry::of::<CollectionQuery<ResourceOf<S>>>(QueryOptions::new()),
        )])
        .returns(Self::ROWS),
        |ready, call| Box::pin(ready.select(call)),
    );

    const SEARCH: OperationEntry<Self> = OperationEntry::new(
        OperationSpec::new(
            ResourceOf::<S>::NAMES.search.name,
            SemanticCategory::Read,
            ResourceOf::<S>::NAMES.search.description,
        )
        .parameters(&[ParameterEntry::Composite(
            &QueryEntry::of::<CollectionQuery<ResourceOf<S>>>(
                QueryOptions::new().text(TextSearch::Required),
            ),
        )])
        .returns(Self::ROWS),
        |ready, call| Box::pin(ready.select(call)),
    );

    const DELETE: OperationEntry<Self> = OperationEntry::new(
        OperationSpec::new(
            ResourceOf::<S>::NAMES.delete.name,
            SemanticCategory::Delete,
            ResourceOf::<S>::NAMES.delete.description,
        )
        .parameters(&[
            Self::ID,
            ParameterEntry::Group(<ResourceOf<S> as Record>::IfMatch::PARAMETERS),
        ])
        .returns(Self::ROW)
        .data_key(DataKey::Named(ResourceOf::<S>::NAMES.singular))
        .show_sample()
        .danger(
            DangerSpec::UNDECLARED.confirmation_message(ResourceOf::<S>::NAMES.delete_question),
        ),
        |ready: &Self, call| Box::pin(ready.delete(call)),
    )
    .preview(|ready: &Self, call| Box::pin(ready.preview(call)));

    /// Returns the information about the call for the store.
    fn call<'a>(&self, context: &'a Context) -> StoreCall<'a, ResourceOf<S>> {
        StoreCall::new(context).with_targets(self.targets.clone())
    }

    async fn delete(&self, mut call: Call) -> Outcome {
        let id = call.param()?;
        let if_match = call.group::<<ResourceOf<S> as Record>::IfMatch>()?;
        let context = call.context();
        let check = |record: &ResourceOf<S>| {
            record.check_version(&if_match)?;
            // The record may have changed since a person confirmed its deletion.
            match context.is_as_confirmed(record) {
                true => Ok(()),
                false => {
                    let name = ResourceOf::<S>::NAMES.singular;
                    Err(OperationError::changed_since_confirmation(name))
                }
            }
        };
        let deleted = self.store.delete(&self.call(&context), &id, check, nothing).await?;
        call.reply(found::<ResourceOf<S>, _>(deleted, &id))
    }

    /// Describes the record that a deletion would remove.
    ///
    /// The call is rejected here if the deletion would fail, before a person is asked. A confirmation is only
    /// valid for the record in this state, with all of its fields.
    async fn preview(&self, mut call: Call) -> Result<Preview, OperationError> {
        let id: <ResourceOf<S> as Record>::Id = call.param()?;
        let if_match = call.group::<<ResourceOf<S> as Record>::IfMatch>()?;
        let context = call.context();
        let record = self.store.before_delete(&self.call(&context), &id).await?;
        let record = found::<ResourceOf<S>, _>(record, &id)?;
        record.check_version(&if_match)?;
        let names = ResourceOf::<S>::NAMES;
        if let Some(own) = names.own_delete_question {
            let value = serde_json::to_value(&record).map_err(OperationError::internal)?;
            let question = value.as_object().map(|value| fill_question(own, value));
            let preview = question.map_or_else(Preview::unchanged, Preview::new);
            return Ok(preview.of_state(&record));
        }
        let what = self.store.describe(&record).map(|text| format!(", {text}")).unwrap_or_default();
        let question = format!("Delete {} '{id}'{what}?", names.singular.replace('_', " "));
        Ok(Preview::new(question).of_state(&record))
    }

    async fn select(&self, mut call: Call) -> Outcome {
        let query = call.composite::<CollectionQuery<ResourceOf<S>>>()?;
        let context = call.context();
        let page = self.store.select(&self.call(&context), &query).await;
        call.reply(page)
    }
}

/// A resource whose records can be created by a ready operation. Callers set every field except the
/// identifier.
#[diagnostic::on_unimplemented(
    message = "a ready operation cannot create a `{Self}`",
    label = "cannot be created by a ready operation",
    note = "write `#[derive(CreateInput)]` above `{Self}`",
    note = "give each field that callers do not set a value, except the identifier: `#[create_input(value = …)]`; or choose the operations without `create` and write that one"
)]
pub trait CreatedById: CreateInput<Rest = <Self as Record>::Id> + Record {}

#[diagnostic::do_not_recommend]
impl<R: Record + CreateInput<Rest = <R as Record>::Id>> CreatedById for R {}

/// A resource whose records can be created with an identifier chosen by the caller. Callers set every field.
#[diagnostic::on_unimplemented(
    message = "a ready operation cannot create a `{Self}`",
    label = "cannot be created by a ready operation",
    note = "give each field that callers do not set a value: `#[create_input(value = …)]`"
)]
pub trait CreatedWithId: CreateInput<Rest = ()> + Record {}

#[diagnostic::do_not_recommend]
impl<R: Record + CreateInput<Rest = ()>> CreatedWithId for R {}

/// Returns the operation that creates a record with the caller's identifier and returns it.
pub const fn create_chosen<R: CreatedWithId, S: ResourceStore<Resource = R>>()
-> OperationEntry<Ready<S>> {
    Ready::<S>::CREATE_CHOSEN
}

/// Returns the operation that creates a record and returns it.
pub const fn create<R: CreatedById, S: ResourceStore<Resource = R>>() -> OperationEntry<Ready<S>> {
    Ready::<S>::CREATE
}

/// Returns the operation that changes fields of a record and returns it.
pub const fn update<R: Record + UpdateInput, S: ResourceStore<Resource = R>>()
-> OperationEntry<Ready<S>> {
    Ready::<S>::UPDATE
}

/// Returns the operation that gets one record with selected fields.
pub const fn get<R: Record, S: ResourceStore<Resource = R>>() -> OperationEntry<Ready<S>> {
    Ready::<S>::GET
}

/// Returns the operation that lists records.
pub const fn list<R: Record, S: ResourceStore<Resource = R>>() -> OperationEntry<Ready<S>> {
    Ready::<S>::LIST
}

/// Returns the operation that searches the records.
pub const fn search<R: Record, S: ResourceStore<Resource = R>>() -> OperationEntry<Ready<S>> {
    Ready::<S>::SEARCH
}

/// Returns the operation that deletes a record and returns it.
pub const fn delete<R: Record, S: ResourceStore<Resource = R>>() -> OperationEntry<Ready<S>> {
    Ready::<S>::DELETE
}

impl<R: Record + CreateInput, S: ResourceStore<Resource = R>> Ready<S> {
    const CREATE_SPEC: OperationSpec = OperationSpec::new(
        R::NAMES.create.name,
        SemanticCategory::Create,
        R::NAMES.create.description,
    )
    .parameters(&[ParameterEntry::Group(<R as CreateInput>::PARAMETERS)])
    .returns(Self::ROW)
    .data_key(DataKey::Named(R::NAMES.singular))
    .show_sample();

    /// Creates the record described by the call.
    async fn create(&self, mut call: Call, rest: impl FnOnce(R::Id) -> R::Rest + Send) -> Outcome {
        let input = call.group::<Create<R>>()?;
        let make = |id| Ok(input.into_resource(rest(id)));
        let context = call.context();
        let can_set = |field: &str| R::PARAMETERS.iter().any(|parameter| parameter.name == field);
        let store_call = self.call(&context).with_settable(can_set);
        let created = self.store.insert(&store_call, make, nothing).await;
        call.reply(created)
    }
}

impl<S: ResourceStore<Resource: CreatedById>> Ready<S> {
    const CREATE: OperationEntry<Self> =
        OperationEntry::new(Self::CREATE_SPEC, |ready, call| Box::pin(ready.create(call, |id| id)));
}

impl<S: ResourceStore<Resource: CreatedWithId>> Ready<S> {
    const CREATE_CHOSEN: OperationEntry<Self> =
        OperationEntry::new(Self::CREATE_SPEC, |ready, call| Box::pin(ready.create(call, drop)));
}

impl<S: ResourceStore<Resource: UpdateInput>> Ready<S> {
    const UPDATE: OperationEntry<Self> = OperationEntry::new(
        OperationSpec::new(
            ResourceOf::<S>::NAMES.update.name,
            SemanticCategory::Update,
            ResourceOf::<S>::NAMES.update.description,
        )
        .parameters(&[
            Self::ID,
            ParameterEntry::Group(<ResourceOf<S> as Record>::IfMatch::PARAMETERS),
            ParameterEntry::Input(<ResourceOf<S> as UpdateInput>::INPUT),
        ])
        .returns(Self::ROW)
        .data_key(DataKey::Named(ResourceOf::<S>::NAMES.singular))
        .show_sample(),
        |ready, mut call| {
            Box::pin(async move {
                let id = call.param()?;
                let if_match = call.group::<<ResourceOf<S> as Record>::IfMatch>()?;
                let input = call.input::<ResourceOf<S>>()?;
                let given = input.clone().into_fields();
                let change = |record: &mut ResourceOf<S>| {
                    record.check_version(&if_match)?;
                    input.merge_into(record);
                    record.advance_version();
                    Ok(())
                };
                let context = call.context();
                let can_set =
                    |field: &str| <ResourceOf<S> as UpdateInput>::INPUT.field(field).is_some();
                let table = const { &<ResourceOf<S> as UpdateInput>::INPUT };
                let store_call = ready.call(&context).setting(&given, table).with_settable(can_set);
                let changed = ready.store.update(&store_call, &id, change, nothing).await?;
                call.reply(found::<ResourceOf<S>, _>(changed, &id))
            })
        },
    );
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::fill_question;

    #[test]
    fn slots_show_the_values_of_fields() {
        let record = json!({ "id": 7, "customer": "Ada {x}", "items": ["a", "b"], "note": null });
        let record = record.as_object().unwrap();
        for (question, expected) in [
            ("Delete it?", "Delete it?"),
            ("Delete {id} of {customer}, {items} items?", "Delete 7 of Ada {x}, 2 items?"),
            ("{{{id}}} {note} {unknown}", "{7} nothing nothing"),
        ] {
            assert_eq!(fill_question(question, record), expected);
        }
    }
}
