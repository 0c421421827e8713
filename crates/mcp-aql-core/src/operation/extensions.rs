//! Values that a transport or an embedding program attaches to calls.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Values of any types that belong to a call, such as the authenticated user. There is one value of each type.
///
/// The program that receives a request inserts them into [`CallScope::extensions`](crate::transport::CallScope::extensions),
/// and operations read them with [`Context::extension`](crate::Context::extension). They never come from a client's
/// `_meta`. A clone shares the values.
///
/// ```
/// use mcp_aql::prelude::*;
/// use mcp_aql::transport::{CallScope, Endpoint, Extensions};
/// use serde_json::{Map, json};
///
/// struct User(&'static str);
///
/// /// Return the name of the caller.
/// #[operation(category = "READ")]
/// fn get_user(context: Context) -> Option<&'static str> {
///     context.extension::<User>().map(|user| user.0)
/// }
///
/// # fn main() -> mcp_aql::Result<()> {
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let adapter = Adapter::builder("users").operation(get_user {}).build()?;
/// let mut extensions = Extensions::default();
/// extensions.insert(User("Ada"));
/// let scope = CallScope { extensions, ..CallScope::default() };
/// let arguments = Map::from_iter([("operation".to_owned(), json!("get_user"))]);
/// let reply = adapter.handle(Endpoint::Unified, arguments, scope).await;
/// assert!(reply.text.contains("Ada"));
/// # Ok(()) }) }
/// ```
#[derive(Clone, Default)]
pub struct Extensions(Option<Arc<Values>>);

type Values = HashMap<TypeId, Arc<dyn Any + Send + Sync>>;

impl Extensions {
    /// Inserts a value. Returns whether it replaced one of the same type.
    pub fn insert<T: Send + Sync + 'static>(&mut self, value: T) -> bool {
        let values = Arc::make_mut(self.0.get_or_insert_default());
        values.insert(TypeId::of::<T>(), Arc::new(value)).is_some()
    }

    /// The value of this type.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.0.as_ref()?.get(&TypeId::of::<T>())?.downcast_ref()
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.0.as_ref().map_or(0, |values| values.len());
        formatter.debug_struct("Extensions").field("count", &count).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_value_of_each_type() {
        let mut extensions = Extensions::default();
        assert!(!extensions.insert("Ada"));
        assert!(!extensions.insert(7_u8));
        let before = extensions.clone();
        assert!(extensions.insert("Grace"));
        assert_eq!(extensions.get::<&str>(), Some(&"Grace"));
        assert_eq!(before.get::<&str>(), Some(&"Ada"));
        assert_eq!(extensions.get::<u8>(), Some(&7));
        assert_eq!(extensions.get::<u16>(), None);
    }
}
