//! Verbs in names of operations, which show whether an operation may change data.

/// Verbs that names of READ operations do not begin with. An operation with such a name is never called as
/// a READ operation.
const CHANGING: [&str; 86] = [
    "accept",
    "add",
    "alter",
    "append",
    "apply",
    "approve",
    "archive",
    "assign",
    "ban",
    "block",
    "buy",
    "cancel",
    "change",
    "charge",
    "clear",
    "close",
    "commit",
    "confirm",
    "create",
    "delete",
    "deploy",
    "dequeue",
    "destroy",
    "disable",
    "discard",
    "drop",
    "edit",
    "enable",
    "erase",
    "execute",
    "flush",
    "grant",
    "import",
    "insert",
    "install",
    "invalidate",
    "invite",
    "kill",
    "lock",
    "make",
    "merge",
    "modify",
    "move",
    "new",
    "order",
    "patch",
    "pay",
    "pop",
    "post",
    "publish",
    "purge",
    "push",
    "put",
    "refund",
    "register",
    "reject",
    "remove",
    "rename",
    "replace",
    "reset",
    "restart",
    "restore",
    "revoke",
    "rotate",
    "run",
    "save",
    "send",
    "set",
    "shutdown",
    "start",
    "stop",
    "store",
    "submit",
    "sync",
    "terminate",
    "toggle",
    "transfer",
    "trigger",
    "truncate",
    "uninstall",
    "update",
    "upload",
    "upsert",
    "wipe",
    "withdraw",
    "write",
];
/// Verbs that count at any place in a name: `bulk_delete`.
const DESTRUCTIVE: [&str; 14] = [
    "cancel",
    "create",
    "delete",
    "destroy",
    "discard",
    "drop",
    "erase",
    "overwrite",
    "purge",
    "remove",
    "reset",
    "truncate",
    "update",
    "wipe",
];
/// Verbs after which other verbs are nouns: `get_last_update`.
const READING: [&str; 12] = [
    "count",
    "describe",
    "fetch",
    "find",
    "get",
    "introspect",
    "list",
    "preview",
    "query",
    "read",
    "search",
    "show",
];

/// Whether the first word of a name is a verb that operations begin with.
pub(crate) fn starts_with_verb(name: &str) -> bool {
    /// Verbs that neither change nor read data.
    const OTHERS: [&str; 7] = ["abort", "complete", "execute", "link", "record", "retry", "verify"];
    let verb = name.split('_').next().unwrap_or_default();
    CHANGING.contains(&verb) || READING.contains(&verb) || OTHERS.contains(&verb)
}

/// Whether a name suggests a change or a removal.
pub(crate) fn sounds_changing(name: &str) -> bool {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default();
    if CHANGING.contains(&first) {
        return true;
    }
    // In `get_or_create` and `find_and_remove`, another verb follows.
    let mut is_verb = !READING.contains(&first);
    words.any(|word| {
        let is_harsh = is_verb && DESTRUCTIVE.contains(&word);
        is_verb |= matches!(word, "and" | "or" | "then");
        is_harsh
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_names_of_changing_operations() {
        for name in [
            "delete_task",
            "bulk_delete",
            "force_delete_all",
            "batch_update",
            "edit_page",
            "post_comment",
            "publish",
            "get_or_create_tag",
            "find_and_remove",
        ] {
            assert!(sounds_changing(name), "{name}");
        }
        for name in [
            "get_task",
            "list_updates",
            "get_last_update",
            "count_deleted",
            "search",
            "summarize",
            "validate_address",
        ] {
            assert!(!sounds_changing(name), "{name}");
        }
    }
}
