//! Renders the forms of query parameters for messages.

use super::{QuerySurface, noun};
use crate::field_info::FieldInfo;
use crate::value::ValueKind;

/// Maximum number of keys in the form of a filter.
const MAX_FORM_KEYS: usize = 8;

/// Returns the form of a filter in messages, for example:
///
/// ```text
/// { title, status: 'open'|'closed', pages: integer }
/// ```
pub(crate) fn filter_form(surface: &QuerySurface<'_>) -> String {
    let fields: Vec<_> =
        surface.table.fields.iter().filter(|field| surface.filters(field)).collect();
    let key = |field: &&FieldInfo| {
        let name = &field.path;
        let name = if name.contains('.') { format!("'{name}'") } else { name.clone() };
        match field.kind {
            ValueKind::Text => name,
            ValueKind::Choice => format!("{name}: '{}'", field.choices.join("'|'")),
            kind => format!("{name}: {}", noun(kind)),
        }
    };
    let mut keys: Vec<_> = fields.iter().take(MAX_FORM_KEYS).map(key).collect();
    if fields.len() > MAX_FORM_KEYS {
        keys.push("…".to_owned());
    }
    format!("{{ {} }}", keys.join(", "))
}

/// Maximum total length of the field names in the form of `sort`.
const MAX_FORM_BYTES: usize = 120;

/// Returns the form of a sort key in messages.
pub(crate) fn sort_form(surface: &QuerySurface<'_>) -> String {
    let paths = surface.paths(|field| surface.sorts(field));
    let all = paths.join("'|'");
    let shown =
        if all.len() <= MAX_FORM_BYTES { &all } else { paths.first().copied().unwrap_or_default() };
    format!("{{ field: '{shown}', order?: 'asc'|'desc' }}")
}
