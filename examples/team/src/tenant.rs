//! The rules that separate the tenants.

use std::marker::PhantomData;

use mcp_aql::prelude::*;
use mcp_aql::resource::{Record, ResourceRules, RowFilter};
use serde_json::json;

use crate::model::{Project, Ticket};

/// The token claim that names the caller's tenant.
const TENANT: &str = "tenant";

/// A record that belongs to one tenant.
pub(crate) trait TenantRecord: Record {
    /// Sets the tenant of a new record, and its author if it has one.
    fn set_owner(&mut self, tenant: &str, subject: &str);
}

impl TenantRecord for Project {
    fn set_owner(&mut self, tenant: &str, _subject: &str) {
        tenant.clone_into(&mut self.tenant);
    }
}

impl TenantRecord for Ticket {
    fn set_owner(&mut self, tenant: &str, subject: &str) {
        tenant.clone_into(&mut self.tenant);
        subject.clone_into(&mut self.created_by);
    }
}

/// Limits each caller to the records of its own tenant. The condition is added to the SQL of every statement.
pub(crate) struct TenantRules<R>(PhantomData<fn() -> R>);

impl<R> TenantRules<R> {
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<R: TenantRecord> ResourceRules for TenantRules<R> {
    type Resource = R;

    fn visible(&self, context: &Context) -> RowFilter<R> {
        match caller(context) {
            Some((tenant, _)) => RowFilter::new(json!({ "tenant": tenant })),
            None => RowFilter::none(),
        }
    }

    fn before_create(&self, context: &Context, new: &mut R) -> Result<(), OperationError> {
        let refused = || OperationError::permission_denied("the token has no claim `tenant`");
        let (tenant, subject) = caller(context).ok_or_else(refused)?;
        new.set_owner(tenant, subject);
        Ok(())
    }
}

/// Returns the tenant and the subject of the caller's token.
fn caller(context: &Context) -> Option<(&str, &str)> {
    let principal = context.principal()?;
    Some((principal.claim(TENANT)?.as_str()?, principal.subject()))
}
