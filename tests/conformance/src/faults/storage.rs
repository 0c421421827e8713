//! Mistakes in stored data: items wrongly kept, lost or changed. An adapter with one must not reach a high level.

use serde_json::Value;

use super::{Fault, Tamper, arguments_of, calls};

/// The highest level that a run may grant to an adapter with this mistake.
pub const HIGHEST_LEVELS: &[(&str, u8)] = &[
    ("never-deletes", 0),
    ("deletes-everything", 0),
    ("deletes-everything-and-errors-are-texts", 0),
    ("drops-a-field", 0),
    ("texts-trimmed", 0),
    ("tags-sorted-and-distinct", 0),
    ("list-returns-half", 1),
    ("list-returns-the-newest-half", 1),
    ("filter-ignored-altogether", 1),
];

/// Returns `true` if a filter only has fields of beds, so the garden would accept it.
fn is_known(filter: &Value) -> bool {
    filter.as_object().is_some_and(|filter| !filter.contains_key("conformance_probe"))
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "never-deletes",
        check: "deletes.removed",
        neighbours: &["deletes.not_found", "deletes.twice"],
        tamper: Tamper::Garden(|options| options.remove = |_, _| {}),
    },
    Fault {
        name: "deletes-everything",
        check: "deletes.only_named",
        neighbours: &["deletes.reads_change_nothing"],
        tamper: Tamper::Garden(|options| options.remove = |beds, _| beds.clear()),
    },
    Fault {
        // The next call had to succeed. Its unreadable error must not hide that.
        name: "deletes-everything-and-errors-are-texts",
        check: "deletes.only_named",
        neighbours: &["deletes.reads_change_nothing", "errors.form", "wire.is_error"],
        tamper: Tamper::Both(
            |options| options.remove = |beds, _| beds.clear(),
            |_, body| {
                // Keep other errors: the token that confirms a deletion is in one.
                if let Some(error) =
                    body.get_mut("error").filter(|it| it["code"] == "NOT_FOUND_RESOURCE")
                {
                    *error = error["message"].take();
                }
            },
        ),
    },
    Fault {
        name: "drops-a-field",
        check: "creates.read_back",
        neighbours: &["creates.values_kept"],
        tamper: Tamper::Garden(|options| options.store = |bed| bed.note = None),
    },
    Fault {
        name: "texts-trimmed",
        check: "creates.values_kept",
        neighbours: &[],
        tamper: Tamper::Garden(|options| {
            options.store = |bed| bed.name = bed.name.trim().to_owned();
        }),
    },
    Fault {
        name: "tags-sorted-and-distinct",
        check: "creates.values_kept",
        neighbours: &["creates.read_back"],
        tamper: Tamper::Garden(|options| {
            options.store = |bed| {
                bed.tags.sort();
                bed.tags.dedup();
            };
        }),
    },
    Fault {
        name: "list-returns-half",
        check: "creates.listed",
        neighbours: &["deletes.removed"],
        tamper: Tamper::Garden(|options| {
            options.list = |beds| beds.truncate(beds.len().div_ceil(2));
        }),
    },
    Fault {
        name: "list-returns-the-newest-half",
        check: "creates.listed",
        neighbours: &["deletes.removed"],
        tamper: Tamper::Garden(|options| {
            options.list = |beds| drop(beds.drain(..beds.len() / 2));
        }),
    },
    Fault {
        name: "filter-ignored-altogether",
        check: "collections.filter_applied",
        neighbours: &[
            "aggregates.filtered",
            "collections.combined_controls",
            "collections.filter_keys",
            "collections.filter_operators",
        ],
        tamper: Tamper::Request(|message| {
            let Some(arguments) = arguments_of(message) else { return };
            let is_list = calls(arguments, "list_beds") || calls(arguments, "search_beds");
            if let Some(Value::Object(params)) = arguments.get_mut("params").filter(|_| is_list)
                && params.get("filter").is_some_and(is_known)
            {
                params.remove("filter");
            }
        }),
    },
];
