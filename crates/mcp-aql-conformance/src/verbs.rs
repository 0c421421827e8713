//! Classifies the verbs in names of operations. They show if an operation only reads.

use std::collections::BTreeSet;

/// Verbs of operations that change data.
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
/// Verbs of operations that read data.
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
/// Further verbs of operations that read data. They are separate because other names begin with them, too, such as
/// `filter_keys`.
const ALSO_READING: [&str; 16] = [
    "aggregate",
    "browse",
    "check",
    "compare",
    "diff",
    "estimate",
    "explain",
    "filter",
    "inspect",
    "lookup",
    "peek",
    "select",
    "suggest",
    "summarize",
    "validate",
    "view",
];

/// Returns `true` if the first word of a name is a verb of an operation.
pub(crate) fn starts_with_verb(name: &str) -> bool {
    /// Verbs that neither change nor read data.
    const OTHERS: [&str; 7] = ["abort", "complete", "execute", "link", "record", "retry", "verify"];
    let verb = name.split('_').next().unwrap_or_default();
    CHANGING.contains(&verb) || READING.contains(&verb) || OTHERS.contains(&verb)
}

/// Splits a name in snake case, camel case or kebab case into words in lower case.
///
/// ```text
/// confirm-all_Items2  →  confirm, all, items2
/// ```
pub(crate) fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut follows_lower = false;
    for letter in name.chars() {
        let starts_word = letter.is_uppercase() && follows_lower;
        if !letter.is_alphanumeric() || starts_word {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        follows_lower = letter.is_lowercase() || letter.is_numeric();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns `true` if a name begins with a verb that reads. `more` contains further such verbs from the configuration.
pub(crate) fn is_reading(name: &str, more: &BTreeSet<String>) -> bool {
    let words = words_of(name);
    let mut words = words.iter().map(String::as_str);
    let verb = words.next().unwrap_or_default();
    if !READING.contains(&verb) && !ALSO_READING.contains(&verb) && !more.contains(verb) {
        return false;
    }
    let rest: Vec<_> = words.collect();
    // `check_out` borrows something. In `get_or_create` and `find_and_remove`, another verb follows.
    let is_phrasal = verb == "check" && matches!(rest.first(), Some(&("in" | "out" | "off")));
    !is_phrasal && !rest.iter().any(|word| matches!(*word, "and" | "or" | "then"))
}

/// Words in names of parameters that remove a safeguard or extend a call to more data.
const WIDENING: [&str; 30] = [
    "all",
    "bypass",
    "cascade",
    "cascading",
    "clear",
    "confirm",
    "confirmed",
    "dangerously",
    "delete",
    "destroy",
    "drop",
    "erase",
    "force",
    "forced",
    "hard",
    "ignore",
    "install",
    "overwrite",
    "override",
    "permanent",
    "permanently",
    "purge",
    "recursive",
    "recursively",
    "remove",
    "reset",
    "skip",
    "truncate",
    "unsafe",
    "wipe",
];

/// Returns `true` if the name of a parameter suggests that its value removes a safeguard or extends a call to more
/// data. Examples are `force`, `confirm_deletion` and `skip_backup`.
pub(crate) fn widens_effect(parameter: &str) -> bool {
    words_of(parameter).iter().any(|word| WIDENING.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_names_of_reading_operations() {
        let more = BTreeSet::from(["render".to_owned()]);
        for name in [
            "delete_task",
            "bulk_delete",
            "open_report",
            "openReport",
            "purge-cache",
            "export_tasks",
            "publish",
            "get_or_create_tag",
            "getOrCreateTag",
            "find_and_remove",
            "check_out_book",
            "getaway",
            "",
            "_",
        ] {
            assert!(!is_reading(name, &more), "{name}");
        }
        for name in [
            "get_task",
            "getTask",
            "get-task",
            "GetTask",
            "list_updates",
            "get_last_update",
            "count_deleted",
            "search",
            "validate_address",
            "render_page",
        ] {
            assert!(is_reading(name, &more), "{name}");
        }
    }

    #[test]
    fn splits_names_into_words() {
        assert_eq!(words_of("getHTTPHeaders"), ["get", "httpheaders"]);
        assert_eq!(words_of("confirm-all_Items2"), ["confirm", "all", "items2"]);
    }

    #[test]
    fn recognizes_parameters_that_widen_an_effect() {
        for name in ["force", "overwrite", "confirm_deletion", "deleteAll", "skip_backup", "all"] {
            assert!(widens_effect(name), "{name}");
        }
        for name in ["dry_run", "confirmation_token", "deleted", "done", "include_items"] {
            assert!(!widens_effect(name), "{name}");
        }
    }
}
