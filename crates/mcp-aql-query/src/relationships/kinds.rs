//! The kinds of relationships that a query can follow.

use crate::resource::Resource;
use crate::resource_spec::RelationshipType;

/// A type that declares kinds of relationships: each resource, and tuples of stores.
pub trait RelationshipKinds: 'static {
    /// Returns the kinds.
    fn relationship_kinds() -> Vec<RelationshipType>;

    /// Returns the kind and the name of the element in an example.
    fn example_element() -> (String, String);
}

impl<T: Resource> RelationshipKinds for T {
    fn relationship_kinds() -> Vec<RelationshipType> {
        T::model().schema().relationships.to_vec()
    }

    fn example_element() -> (String, String) {
        let kind = T::model().schema().name.clone();
        let name = format!("{}-1", kind.to_lowercase());
        (kind, name)
    }
}
