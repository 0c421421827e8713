//! The names of a resource and of its ready operations.

/// The names of a resource and of its ready operations.
#[derive(Debug, Clone, Copy)]
pub struct RecordNames {
    /// The name of one: `order`.
    pub singular: &'static str,
    /// The name of several: `orders`.
    pub plural: &'static str,
    /// `create_order`
    pub create: OperationName,
    /// `get_order`
    pub get: OperationName,
    /// `list_orders`
    pub list: OperationName,
    /// `search_orders`
    pub search: OperationName,
    /// `update_order`
    pub update: OperationName,
    /// `delete_order`
    pub delete: OperationName,
    /// The question before a deletion: `Delete order '{order_id}'?`
    pub delete_question: &'static str,
    /// The question before a deletion in the words of the author, with fields of the record: `Delete the order of
    /// {customer}, {items} items?`
    pub own_delete_question: Option<&'static str>,
}

/// The name and the description of an operation.
#[derive(Debug, Clone, Copy)]
pub struct OperationName {
    /// The name: `create_order`.
    pub name: &'static str,
    /// The description: `Create an order.`
    pub description: &'static str,
}

impl OperationName {
    /// Names an operation.
    pub const fn new(name: &'static str, description: &'static str) -> Self {
        Self { name, description }
    }
}
