//! Finds the stores to which fields of other stores refer.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, Weak};

use mcp_aql_core::internal::util::lock;
use mcp_aql_core::{BoxFuture, Context, OperationError};

/// The spellings of identifiers by the spellings of references to them.
pub(super) type Spellings = HashMap<String, String>;

/// A store with records to which fields of other records refer.
pub trait ReferenceTarget: Send + Sync {
    /// Returns the kind of the store's records.
    fn element_type(&self) -> &'static str;

    /// Returns `true` if there is a record with this name.
    fn contains<'a>(
        &'a self,
        context: &'a Context,
        name: &'a str,
    ) -> BoxFuture<'a, Result<bool, OperationError>>;

    /// Returns the identifiers of the records with these names, if their spelling differs from the name.
    fn spellings<'a>(
        &'a self,
        context: &'a Context,
        names: Vec<String>,
    ) -> BoxFuture<'a, Result<Spellings, OperationError>>;

    /// Returns `true` if only some of the records exist for the caller.
    fn is_restricted(&self, context: &Context) -> bool;

    /// Returns the statement that finds a record with this name, if the store is in a database.
    ///
    /// # Errors
    ///
    /// Returns an error if a row filter fails.
    fn lookup(&self, context: &Context, name: &str) -> Result<Option<Lookup>, OperationError>;
}

/// The stores of an adapter, by the kind of their records.
#[derive(Clone, Default)]
pub(super) struct ReferenceTargets(Arc<Mutex<Vec<Weak<dyn ReferenceTarget>>>>);

impl fmt::Debug for ReferenceTargets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ReferenceTargets")
    }
}

impl ReferenceTargets {
    /// Adds a store. Only a weak reference is kept, because the adapter owns the store.
    pub(super) fn add(&self, store: &Arc<dyn ReferenceTarget>) {
        let store = Arc::downgrade(store);
        lock(&self.0).push(store);
    }

    /// Returns the store of these records, if only some of them exist for the caller.
    pub(super) fn find(
        &self,
        element_type: &str,
        context: &Context,
    ) -> Option<Arc<dyn ReferenceTarget>> {
        let stores = lock(&self.0);
        let mut stores = stores.iter().filter_map(Weak::upgrade);
        let found = stores.find(|store| store.element_type() == element_type)?;
        found.is_restricted(context).then_some(found)
    }
}

/// The statement that finds a record in a database.
#[doc(hidden)]
#[derive(Debug)]
pub struct Lookup {
    /// The identity of the database.
    pub(crate) database: usize,
    /// The lookup. Its type belongs to the `sql` module.
    pub(crate) lookup: Box<dyn Any + Send>,
}

/// A reference whose target must exist for the caller.
pub(crate) struct ReferenceCheck {
    /// The parameter.
    pub(super) field: String,
    pub(super) target: Arc<dyn ReferenceTarget>,
    /// The identifier as a string.
    pub(super) id: String,
}

impl ReferenceCheck {
    /// Checks the reference in the other store.
    pub(crate) async fn run(&self, context: &Context) -> Result<(), OperationError> {
        match self.target.contains(context, &self.id).await? {
            true => Ok(()),
            false => Err(self.refused()),
        }
    }

    /// Returns the statement that finds the record, if the other store is in the database with this identity.
    pub(crate) fn lookup<L: 'static>(
        &self,
        context: &Context,
        database: usize,
    ) -> Result<Option<L>, OperationError> {
        let lookup = self.target.lookup(context, &self.id)?;
        let lookup = lookup.filter(|lookup| lookup.database == database);
        Ok(lookup.and_then(|lookup| lookup.lookup.downcast().ok()).map(|lookup| *lookup))
    }

    /// Returns the error for a record that does not exist, or not for the caller.
    pub(crate) fn refused(&self) -> OperationError {
        let target = self.target.element_type();
        OperationError::invalid_value(&self.field, format!("must identify an existing {target}"))
    }
}
