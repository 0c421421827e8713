//! Scopes that authenticated callers need to call operations.

use std::sync::Arc;

use mcp_aql_protocol::{SemanticCategory, is_scope};

use crate::operation::OperationSpec;

/// Controls the scopes that authenticated callers need to call the operations of an adapter. Pass it to
/// [`AdapterBuilder::access`](crate::AdapterBuilder::access).
///
/// An operation needs the scope of its `#[operation(scope = "…")]`. An operation without one needs the scope of its
/// category. For an adapter called `tasks`, these are `tasks:read`, `tasks:create`, `tasks:update`, `tasks:delete` and
/// `tasks:execute`. A caller without the scope neither sees the operation nor can call it. `introspect` needs no scope.
///
/// A call without a [`Principal`](crate::caller::principal::Principal) comes from the program itself or from the user who
/// started it. It may call every operation, unless you set [`require_principal`](Self::require_principal). An HTTP
/// server with an authenticator has no such calls.
///
/// ```
/// use mcp_aql::Adapter;
/// use mcp_aql::auth::Access;
///
/// let access = Access::new().prefix("shop").administrator("shop:admin").require_principal(true);
/// let builder = Adapter::builder("orders").access(access);
/// ```
#[derive(Debug, Clone)]
pub struct Access {
    pub(crate) prefix: Option<String>,
    pub(crate) administrator: Option<String>,
    pub(crate) category_scopes: bool,
    pub(crate) requires_principal: bool,
}

impl Default for Access {
    fn default() -> Self {
        Self::new()
    }
}

impl Access {
    /// Creates the default rules. Each category has a scope that starts with the adapter's name.
    pub fn new() -> Self {
        Self { prefix: None, administrator: None, category_scopes: true, requires_principal: false }
    }

    /// Sets the first part of the scopes of categories: with `shop`, READ operations need `shop:read`. Defaults to the
    /// adapter's name, with `-` instead of each character not allowed in a scope.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// Sets the administrator scope. Its bearers can also get and cancel the executions of other principals by their
    /// ids. Defaults to the prefix followed by `:admin`.
    #[must_use]
    pub fn administrator(mut self, scope: impl Into<String>) -> Self {
        self.administrator = Some(scope.into());
        self
    }

    /// If `true`, an operation without its own scope needs the scope of its category. This is the default. If `false`,
    /// every authenticated caller may call such an operation.
    #[must_use]
    pub fn category_scopes(mut self, on: bool) -> Self {
        self.category_scopes = on;
        self
    }

    /// If `true`, calls without a principal are rejected. Default: `false`.
    #[must_use]
    pub fn require_principal(mut self, on: bool) -> Self {
        self.requires_principal = on;
        self
    }

    /// Returns the first part of the scopes of categories, for the adapter with this name.
    pub(crate) fn prefix_for(&self, adapter: &str) -> String {
        self.prefix.clone().unwrap_or_else(|| scope_of(adapter))
    }

    /// Returns the administrator scope of the adapter with this name.
    pub(crate) fn administrator_for(&self, adapter: &str) -> String {
        let default = || format!("{}:admin", self.prefix_for(adapter));
        self.administrator.clone().unwrap_or_else(default)
    }

    /// Returns the rules for the adapter with this name. Adds a problem for each invalid scope.
    pub(crate) fn rules(&self, adapter: &str, problems: &mut Vec<String>) -> AccessRules {
        let (prefix, administrator) = (self.prefix_for(adapter), self.administrator_for(adapter));
        for scope in [&prefix, &administrator] {
            if !is_scope(scope) {
                problems.push(format!(
                    "`{scope}` is not a scope: write printable ASCII characters without spaces, quotes and backslashes"
                ));
            }
        }
        AccessRules {
            categories: self.category_scopes.then(|| {
                SemanticCategory::ALL.map(|category| {
                    let name = category.as_str().to_ascii_lowercase();
                    (category, Arc::from(format!("{prefix}:{name}")))
                })
            }),
            administrator: administrator.into(),
            requires_principal: self.requires_principal,
        }
    }
}

/// Turns an adapter's name into a valid scope prefix by replacing invalid characters with `-`.
///
/// ```text
/// my adapter → my-adapter
/// ```
fn scope_of(name: &str) -> String {
    let valid = |each: char| is_scope(each.encode_utf8(&mut [0; 4]));
    name.chars().map(|each| if valid(each) { each } else { '-' }).collect()
}

/// The scopes that the callers of an adapter need, with all defaults filled in.
#[derive(Debug)]
pub(crate) struct AccessRules {
    categories: Option<[(SemanticCategory, Arc<str>); 5]>,
    pub(crate) administrator: Arc<str>,
    pub(crate) requires_principal: bool,
}

impl AccessRules {
    /// Returns the scope that callers of an operation need: the operation's own, or that of its category.
    pub(crate) fn scope(&self, spec: &OperationSpec) -> Option<Arc<str>> {
        let by_category = || {
            let scopes = self.categories.as_ref()?;
            let (_, scope) = scopes.iter().find(|(category, _)| *category == spec.category)?;
            Some(Arc::clone(scope))
        };
        spec.scope.map(Arc::from).or_else(by_category)
    }
}
