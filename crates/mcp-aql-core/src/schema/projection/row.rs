//! Serializes a row with only its selected fields.

use std::sync::Arc;

use serde::ser::{Error as _, Serializer};
use serde_json::{Map, Value};

use super::{Projected, Selection};

/// The values of a row's computed fields, by name.
pub(crate) type ComputedValues = Result<Map<String, Value>, serde_json::Error>;

/// Describes how rows of a type are displayed.
pub struct View<T> {
    /// Selected fields.
    pub selection: Arc<Selection>,
    /// Computes the values of the selected computed fields.
    pub computed: fn(&T, &Selection) -> ComputedValues,
}

impl<T> Clone for View<T> {
    fn clone(&self) -> Self {
        Self { selection: Arc::clone(&self.selection), computed: self.computed }
    }
}

impl<T> std::fmt::Debug for View<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("View").field("selection", &self.selection).finish_non_exhaustive()
    }
}

/// A row in the form in which it is displayed.
pub struct DisplayedRow<'a, T> {
    /// The row.
    pub row: &'a T,
    /// The selected fields. `None` if the executor has already projected the row.
    pub view: Option<&'a View<T>>,
}

impl<T: serde::Serialize> serde::Serialize for DisplayedRow<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(View { selection, computed }) = self.view else {
            return self.row.serialize(serializer);
        };
        let projection = &selection.projection;
        if let Some(open) = &selection.open {
            open.mark_row();
        }
        if selection.computed.is_empty() {
            return Projected { value: self.row, projection, computed: None }.serialize(serializer);
        }
        let computed = computed(self.row, selection).map_err(S::Error::custom)?;
        Projected { value: self.row, projection, computed: Some(&computed) }.serialize(serializer)
    }
}
