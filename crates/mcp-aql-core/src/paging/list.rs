//! Pages of the framework's own lists.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use serde_json::Value;

use super::controls::{CURSOR_CONTROLS, Contradiction, EXPECTED_CURSOR, clamped, refused_cursor};
use super::cursor_key::CursorKey;
use super::page::RowCursors;
use super::page_info::PageInfo;
use crate::error::OperationError;
use crate::error::warning::Warning;
use crate::schema::Argument;

/// The page sizes of a list (REQ-PAG-08).
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageSizes {
    /// Page size if the call sets none.
    pub(crate) default: usize,
    /// Maximum page size.
    pub(crate) max: usize,
}

/// The page requested by a call. A position in the list is a string that identifies an entry.
#[derive(Debug, Clone)]
pub(crate) struct PageRequest {
    /// If `true`, the page is taken from the end of the list.
    from_end: bool,
    size: usize,
    /// Position in `after` or `before`.
    position: Option<String>,
    key: CursorKey,
    purpose: String,
}

impl PageRequest {
    /// Parses the page controls of a call. Their names and types are already validated.
    ///
    /// Cursors are bound to `operation`, to the `owner` of the list and to all other arguments of the call. A cursor
    /// of another list, or of the same list with another filter, is rejected.
    ///
    /// # Errors
    ///
    /// Returns `VALIDATION_INVALID_TYPE` if the controls contradict each other, and `VALIDATION_INVALID_VALUE` for a
    /// cursor of another list. The details are those of a `CollectionQuery`.
    pub(crate) fn read(
        operation: &str,
        owner: Option<&str>,
        arguments: &[Argument],
        sizes: PageSizes,
        key: &CursorKey,
        warnings: &mut Vec<Warning>,
    ) -> Result<Self, OperationError> {
        let given = |name: &str| {
            let value = arguments.iter().find(|argument| argument.name == name)?.value.as_ref();
            value.filter(|value| !value.is_null())
        };
        let provided: Vec<_> =
            CURSOR_CONTROLS.into_iter().filter(|name| given(name).is_some()).collect();
        if let Some(contradiction) = Contradiction::find(&provided) {
            return Err(contradiction.error().with_detail("operation", operation));
        }
        let others: Vec<_> = arguments
            .iter()
            .filter(|argument| !CURSOR_CONTROLS.contains(&argument.name))
            .map(|argument| (argument.name, argument.value.as_ref().unwrap_or(&Value::Null)))
            .collect();
        let list = match owner {
            Some(owner) => format!("{operation} of {owner}"),
            None => operation.to_owned(),
        };
        let purpose = serde_json::json!(["list", list, others]).to_string();
        let from_end = provided.contains(&"last");
        let (size, cursor) = if from_end { ("last", "before") } else { ("first", "after") };
        let asked = given(size).and_then(Value::as_u64);
        let asked = asked.map(|asked| usize::try_from(asked).unwrap_or(usize::MAX));
        let mut request = Self {
            from_end,
            size: asked.map_or(sizes.default, |asked| clamped(size, asked, sizes.max, warnings)),
            position: None,
            key: key.clone(),
            purpose,
        };
        if let Some(text) = given(cursor).and_then(Value::as_str) {
            let position = key.open(&request.purpose, text);
            let position = position.and_then(|bytes| String::from_utf8(bytes).ok());
            if position.is_none() {
                let why = refused_cursor(text, "list", "other parameters");
                return Err(OperationError::invalid_value(cursor, why)
                    .with_detail("expected", EXPECTED_CURSOR)
                    .with_detail("operation", operation));
            }
            request.position = position;
        }
        Ok(request)
    }

    /// Returns the position after which the page begins.
    pub(crate) fn after(&self) -> Option<&str> {
        self.position.as_deref().filter(|_| !self.from_end)
    }

    /// Returns the position before which the page ends.
    pub(crate) fn before(&self) -> Option<&str> {
        self.position.as_deref().filter(|_| self.from_end)
    }

    /// Creates an empty page, to be filled with entries.
    pub(crate) fn page<T>(self) -> ListPage<T> {
        ListPage { request: self, entries: VecDeque::new(), has_more: false }
    }

    fn cursor(&self, position: &str) -> String {
        self.key.seal(&self.purpose, position.as_bytes())
    }
}

/// Creates the cursors of a page's entries. They are needed if the page is shortened afterwards.
#[derive(Debug, Clone)]
pub(crate) struct ListCursors {
    request: PageRequest,
    positions: Vec<String>,
}

impl RowCursors for ListCursors {
    fn cursor(&self, place: usize) -> Option<String> {
        self.positions.get(place).map(|position| self.request.cursor(position))
    }

    fn is_from_end(&self) -> bool {
        self.request.from_end
    }
}

/// A page filled from a list, entry by entry.
#[derive(Debug)]
pub(crate) struct ListPage<T> {
    request: PageRequest,
    entries: VecDeque<T>,
    /// If `true`, some entries did not fit on the page.
    has_more: bool,
}

impl<T> ListPage<T> {
    /// Adds the next entry of the list. Pass only entries between [`PageRequest::after`] and [`PageRequest::before`],
    /// and stop when the result is `Break`.
    pub(crate) fn push(&mut self, entry: T) -> ControlFlow<()> {
        if self.request.from_end {
            self.entries.push_back(entry);
            if self.entries.len() > self.request.size {
                self.entries.pop_front();
                self.has_more = true;
            }
        } else if self.entries.len() < self.request.size {
            self.entries.push_back(entry);
        } else {
            self.has_more = true;
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// Returns the cursors of the entries. `position` returns the string that identifies an entry.
    pub(crate) fn cursors(&self, position: impl Fn(&T) -> &str) -> ListCursors {
        let positions = self.entries.iter().map(|entry| position(entry).to_owned()).collect();
        ListCursors { request: self.request.clone(), positions }
    }

    /// Returns the entries of the page, and its position in the list. `position` returns the string that identifies
    /// an entry.
    pub(crate) fn finish(self, position: impl Fn(&T) -> &str) -> (Vec<T>, PageInfo) {
        let Self { request, entries, has_more } = self;
        let is_inside = request.position.is_some();
        let (next, previous) =
            if request.from_end { (is_inside, has_more) } else { (has_more, is_inside) };
        let mut info = PageInfo::new(next, previous);
        if let (Some(start), Some(end)) = (entries.front(), entries.back()) {
            info = info.cursors(request.cursor(position(start)), request.cursor(position(end)));
        }
        (entries.into(), info)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const SIZES: PageSizes = PageSizes { default: 3, max: 5 };

    fn arguments(params: &Value) -> Vec<Argument> {
        ["status", "first", "after", "last", "before"]
            .map(|name| Argument { name, value: params.get(name).cloned() })
            .into()
    }

    fn read(params: &Value) -> Result<(PageRequest, Vec<Warning>), OperationError> {
        let mut warnings = Vec::new();
        let key = CursorKey::new([7; 16]);
        let request =
            PageRequest::read("list_beds", None, &arguments(params), SIZES, &key, &mut warnings)?;
        Ok((request, warnings))
    }

    /// Returns a page of the list `000`, `001`, …
    fn page(entries: usize, params: &Value) -> (Vec<String>, PageInfo) {
        let (request, _) = read(params).unwrap();
        let all = (0..entries).map(|number| format!("{number:03}"));
        let (after, before) =
            (request.after().map(str::to_owned), request.before().map(str::to_owned));
        let mut page = request.page();
        for entry in all {
            let outside = after.as_ref().is_some_and(|after| entry <= *after)
                || before.as_ref().is_some_and(|before| entry >= *before);
            if !outside && page.push(entry).is_break() {
                break;
            }
        }
        page.finish(|entry| entry)
    }

    proptest! {
        #[test]
        fn pages_join_into_the_list_in_both_directions(entries in 0_usize..20, size in 1_usize..8) {
            // REQ-PAG-01, REQ-PAG-04, REQ-PAG-05, REQ-PAG-08
            let all: Vec<_> = (0..entries).map(|number| format!("{number:03}")).collect();
            let mut forwards = Vec::new();
            let mut cursor = Value::Null;
            loop {
                let (items, info) = page(entries, &json!({ "first": size, "after": cursor }));
                prop_assert!(items.len() <= size.min(SIZES.max));
                prop_assert_eq!(info.start_cursor.is_some(), !items.is_empty());
                forwards.extend(items);
                if !info.has_next_page {
                    break;
                }
                cursor = json!(info.end_cursor);
            }
            prop_assert_eq!(&forwards, &all);
            let mut backwards = Vec::new();
            let mut cursor = Value::Null;
            loop {
                let (items, info) = page(entries, &json!({ "last": size, "before": cursor }));
                backwards.splice(0..0, items);
                if !info.has_previous_page {
                    break;
                }
                cursor = json!(info.start_cursor);
            }
            prop_assert_eq!(&backwards, &all);
        }

        #[test]
        fn forged_cursors_are_refused(text: String) {
            // REQ-PAG-10
            for (size, cursor) in [("first", "after"), ("last", "before")] {
                let error = read(&json!({ size: 2, cursor: text.clone() })).unwrap_err();
                prop_assert_eq!(error.code().as_str(), "VALIDATION_INVALID_VALUE");
                prop_assert_eq!(&error.details()["param_name"], cursor);
                prop_assert_eq!(&error.details()["expected"], "a cursor of an earlier page");
                prop_assert_eq!(&error.details()["operation"], "list_beds");
            }
        }
    }

    #[test]
    fn a_cursor_belongs_to_its_list_and_filter() {
        // REQ-PAG-10
        let key = CursorKey::new([7; 16]);
        let (_, info) = page(9, &json!({ "first": 2, "status": "open" }));
        let after = info.end_cursor.unwrap();
        let same = json!({ "first": 4, "after": after, "status": "open" });
        let mut warnings = Vec::new();
        for (list, params, key, accepted) in [
            ("list_beds", same.clone(), &key, true),
            ("list_tasks", same.clone(), &key, false),
            ("list_beds", json!({ "first": 4, "after": after, "status": "shut" }), &key, false),
            ("list_beds", json!({ "first": 4, "after": after }), &key, false),
            ("list_beds", same.clone(), &CursorKey::new([8; 16]), false),
        ] {
            let read =
                PageRequest::read(list, None, &arguments(&params), SIZES, key, &mut warnings);
            assert_eq!(read.is_ok(), accepted, "{list} {params}");
        }
    }

    #[test]
    fn contradictory_controls_are_refused() {
        // REQ-PAG-02, REQ-PAG-03
        for params in [
            json!({ "first": 1, "last": 1 }),
            json!({ "first": 1, "before": "x" }),
            json!({ "last": 1, "after": "x" }),
            json!({ "after": "x" }),
            json!({ "before": "x" }),
        ] {
            let error = read(&params).unwrap_err();
            assert_eq!(error.code().as_str(), "VALIDATION_INVALID_TYPE", "{params}");
            for detail in ["param_name", "expected_type", "actual_type", "provided", "hint"] {
                assert!(error.details().contains_key(detail), "{params}: {detail}");
            }
            assert_eq!(error.details()["param_name"], "pagination");
        }
    }

    #[test]
    fn sizes_out_of_range_are_answered() {
        // REQ-PAG-08
        for (params, len, warns) in [
            (json!({}), 3, false),
            (json!({ "first": 0 }), 0, false),
            (json!({ "last": 0 }), 0, false),
            (json!({ "first": 5 }), 5, false),
            (json!({ "first": 6 }), 5, true),
            (json!({ "last": u64::MAX }), 5, true),
        ] {
            let (items, info) = page(9, &params);
            assert_eq!(items.len(), len, "{params}");
            assert!(info.has_next_page || info.has_previous_page, "{params}");
            assert_eq!(!read(&params).unwrap().1.is_empty(), warns, "{params}");
        }
    }
}
