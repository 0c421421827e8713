//! The documents of a stored record, and how an update changes them.

use std::collections::HashMap;

use mcp_aql_core::internal::operation::DocumentEdit;
use serde_json::{Map, Value};

use crate::document::shown;
use crate::field_info::DocumentReader;
use crate::records::GivenInput;

/// A JSON document of a record, as stored.
#[derive(Debug, Clone)]
pub(super) struct StoredDocument {
    /// The field, such as `settings`.
    pub(super) path: String,
    pub(super) text: String,
    pub(super) reader: DocumentReader,
}

/// The documents of an updated record with their new strings, or `None` for an unchanged document.
pub(super) type UpdatedDocuments = HashMap<String, Option<String>>;

impl StoredDocument {
    /// Returns the document after an update.
    ///
    /// Only the members that the update or the rules of the author have changed differ from the stored document. It
    /// keeps the members that the field's type does not declare, and the digits of numbers.
    fn updated(&self, edit: Option<DocumentEdit>, before: &Value, after: &Value) -> String {
        let whole = after.to_string();
        let Some(expected) = self.value_of(&whole) else { return whole };
        let edited = edit.and_then(|edit| edit.completed(after).apply(&self.text));
        let edited = edited.and_then(|text| self.value_of(&text).map(|value| (text, value)));
        let (text, before) = edited.unwrap_or_else(|| (self.text.clone(), before.clone()));
        if before == expected {
            return text;
        }
        let text = DocumentEdit::between(&before, &expected).apply(&text);
        text.filter(|text| self.value_of(text).as_ref() == Some(&expected)).unwrap_or(whole)
    }

    /// Returns the value that the field's type reads from a document.
    fn value_of(&self, document: &str) -> Option<Value> {
        shown(Some(self.reader), document).map(|(_, value)| value)
    }
}

/// Returns the documents of an updated record. `replaced` contains the fields that are written even if their value is
/// the same.
pub(super) fn updated_documents(
    documents: &[StoredDocument],
    given: Option<GivenInput<'_>>,
    (before, after): (&Map<String, Value>, &Map<String, Value>),
    replaced: &[String],
) -> UpdatedDocuments {
    let mut updated = UpdatedDocuments::new();
    for document in documents {
        let path = document.path.as_str();
        // A column without a document contains NULL.
        let Some(after) = value_at(after, path).filter(|after| !after.is_null()) else { continue };
        let edit = given.and_then(|given| given.edit(path));
        let before = value_at(before, path).unwrap_or(&Value::Null);
        let text = document.updated(edit, before, after);
        let is_written = text != document.text || replaced.iter().any(|field| field == path);
        updated.insert(path.to_owned(), is_written.then_some(text));
    }
    updated
}

/// Returns the value at a path such as `team.settings`.
pub(super) fn value_at<'a>(members: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let mut names = path.split('.');
    let first = members.get(names.next()?)?;
    names.try_fold(first, |value, name| value.get(name))
}
