//! The columns of a nested resource.

use super::Column;
use crate::field_info::FieldInfo;

/// Lists the columns of a nested resource from the perspective of its owner.
///
/// Returns the problems of the nested resource, or `None` if the resource contains itself.
pub type Expand<T> = fn(&mut dyn FnMut(NestedField<T>)) -> Option<&'static [String]>;

/// One column of a nested resource.
#[derive(Debug)]
pub struct NestedField<T: 'static> {
    /// The nested resource's description of the field.
    pub(crate) info: FieldInfo,
    pub(crate) column: Box<dyn Column<T>>,
}
