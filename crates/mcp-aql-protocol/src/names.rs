//! Names reserved by the protocol, the pattern of public names, and suggestions for unknown names.

use std::borrow::Cow;

/// Operation names reserved by the protocol (REQ-CLS-10).
pub const RESERVED_OPERATIONS: [&str; 7] = [
    "introspect",
    "execute_agent",
    "record_execution_step",
    "complete_execution",
    "abort_execution",
    "confirm_operation",
    "verify_challenge",
];

/// The members of a request. A parameter cannot have one of these names (MCP-AQL §4.1).
pub const RESERVED_PARAMETERS: [&str; 3] = ["operation", "operations", "params"];

/// Returns `true` if `name` matches `^[a-z][a-z0-9_]*$`, the pattern of operation and parameter names.
///
/// ```
/// assert!(mcp_aql_protocol::is_public_name("create_task"));
/// assert!(!mcp_aql_protocol::is_public_name("createTask"));
/// ```
///
/// Source: MCP-AQL §4.3, §8.5.2 (REQ-RQ-02, REQ-RQ-04, REQ-CLS-06).
pub const fn is_public_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let mut rest = match bytes {
        [first, rest @ ..] if first.is_ascii_lowercase() => rest,
        _ => return false,
    };
    while let [byte, tail @ ..] = rest {
        if !(byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_') {
            return false;
        }
        rest = tail;
    }
    true
}

/// Returns `true` if the string is a single OAuth scope: printable ASCII characters without spaces, quotes and
/// backslashes.
///
/// ```
/// assert!(mcp_aql_protocol::is_scope("tasks:delete"));
/// assert!(!mcp_aql_protocol::is_scope("tasks:read tasks:delete"));
/// ```
///
/// Source: RFC 6749 §3.3.
pub const fn is_scope(scope: &str) -> bool {
    let mut rest = scope.as_bytes();
    while let [first, others @ ..] = rest {
        if !matches!(first, b'!' | b'#'..=b'[' | b']'..=b'~') {
            return false;
        }
        rest = others;
    }
    !scope.is_empty()
}

/// Maximum length of an unknown name to compare with known ones, in bytes. Comparing takes quadratic time, and clients
/// choose the name.
const MAX_COMPARED_BYTES: usize = 128;

/// Returns the candidate most similar to `name`, or `None` if none is similar enough to be suggested.
///
/// ```
/// use mcp_aql_protocol::nearest_name;
///
/// assert_eq!(nearest_name("titel", ["title", "status"]), Some("title"));
/// ```
pub fn nearest_name<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    if name.len() > MAX_COMPARED_BYTES {
        return None;
    }
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(score, _)| *score >= 0.8)
        .max_by(|(left, _), (right, _)| left.total_cmp(right))
        .map(|(_, candidate)| candidate)
}

/// Groups of parameter names that different APIs use for the same purpose. The first name of a group is the one used by
/// this framework.
const SYNONYMS: [&[&str]; 11] = [
    &["first", "limit", "page_size", "per_page", "count", "max_results", "size", "top"],
    &["after", "cursor", "page_token", "next_token", "next_page", "end_cursor"],
    &["before", "start_cursor", "previous_page"],
    &["sort", "sort_by", "order", "order_by", "ordering"],
    &["filter", "filters", "where", "criteria", "conditions"],
    &["query", "q", "search", "text", "keyword", "keywords"],
    &["fields", "select", "columns", "include"],
    &["input", "changes", "patch", "update", "updates", "data", "set"],
    &["if_match", "version", "etag", "expected_version"],
    &["last"],
    &["aggregate", "aggregates", "aggregation", "aggregations", "group_by"],
];

/// Returns the parameter that the caller probably meant by an unknown name.
///
/// The most similar name is preferred. If no name is similar enough, the result is the only parameter that other APIs
/// call by the unknown name, or for `id` the only identifier.
///
/// ```
/// use mcp_aql_protocol::probable_parameter;
///
/// let valid = ["task_id", "first", "filter"];
/// assert_eq!(probable_parameter("filtr", valid), Some("filter"));
/// assert_eq!(probable_parameter("pageSize", valid), Some("first"));
/// assert_eq!(probable_parameter("id", valid), Some("task_id"));
/// ```
pub fn probable_parameter<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    if name.len() > MAX_COMPARED_BYTES {
        return None;
    }
    let is_snake = |each: u8| each.is_ascii_lowercase() || each.is_ascii_digit() || each == b'_';
    let snake = match name.bytes().all(is_snake) {
        true => Cow::Borrowed(name),
        false => Cow::Owned(snake_case(name)),
    };
    let same = candidates.clone().into_iter().find(|candidate| *candidate == snake);
    let group = SYNONYMS.iter().find(|group| group.contains(&&*snake));
    // The name of another control, for example `filter` where only `after` exists, is not a misspelling.
    let is_control = group.and_then(|group| group.first()).is_some_and(|first| *first == snake);
    let nearest = || {
        let near = nearest_name(name, candidates.clone()).filter(|_| !is_control)?;
        (!is_other_identifier(name, near, candidates.clone())).then_some(near)
    };
    if let Some(near) = same.or_else(nearest) {
        return Some(near);
    }
    let name = snake;
    let is_meant = |candidate: &&str| match &*name {
        "id" => candidate.ends_with("_id"),
        _ => group.is_some_and(|group| group.contains(candidate)),
    };
    let only = |is_meant: &dyn Fn(&&str) -> bool| {
        let mut meant = candidates.clone().into_iter().filter(is_meant);
        meant.next().filter(|_| meant.next().is_none())
    };
    // Two swapped letters make a short name too dissimilar for `nearest_name`, for example `izp` for `zip`.
    let is_one_typo = |candidate: &&str| {
        candidate.len() >= MIN_TYPO_BYTES
            && candidate.len().abs_diff(name.len()) <= 1
            && strsim::osa_distance(&name, candidate) == 1
    };
    only(&is_meant).or_else(|| only(&is_one_typo))
}

/// Returns `true` if the unknown name may stand for a different identifier than the most similar one. For example,
/// `to_id` is as close to `task_id` as to `target_id`.
fn is_other_identifier<'a>(
    name: &str,
    near: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> bool {
    let is_identifier = |name: &&str| name.ends_with("_id");
    is_identifier(&name)
        && strsim::osa_distance(name, near) > MAX_TYPOS
        && candidates.into_iter().filter(is_identifier).nth(1).is_some()
}

/// Maximum number of typing errors in a name.
const MAX_TYPOS: usize = 2;

/// Minimum length of a name to look for typing errors in, in bytes.
const MIN_TYPO_BYTES: usize = 3;

/// Groups of verbs with the same meaning in operation names.
const VERBS: [&[&str]; 7] = [
    &["create", "add", "new", "insert", "make"],
    &["get", "read", "show", "fetch", "view", "retrieve"],
    &["list", "all", "browse", "index"],
    &["search", "find", "query", "lookup"],
    &["update", "modify", "edit", "change", "patch", "set"],
    &["delete", "remove", "drop", "destroy", "erase"],
    &["execute", "run", "start", "launch"],
];

/// Returns the operation that the caller probably meant by an unknown name.
///
/// The first choice is the only operation on the same object whose verb has the same meaning. The second is the most
/// similar operation with the same words. Typing errors are allowed, and either name may omit words of the other.
///
/// ```
/// use mcp_aql_protocol::probable_operation;
///
/// let known = ["create_order", "modify_order", "list_orders", "export_orders"];
/// assert_eq!(probable_operation("update_order", known), Some("modify_order"));
/// assert_eq!(probable_operation("list_order", known), Some("list_orders"));
/// assert_eq!(probable_operation("orders.list", known), Some("list_orders"));
/// assert_eq!(probable_operation("export", known), Some("export_orders"));
/// assert_eq!(probable_operation("complete_order", known), None);
/// ```
pub fn probable_operation<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    if name.len() > MAX_COMPARED_BYTES {
        return None;
    }
    let name = snake_case(name);
    let sent = words(&name);
    let has = |one: &str, match_all: &dyn Fn(&[&str]) -> bool| match_all(&words(one));
    let only = |match_all: &dyn Fn(&[&str]) -> bool| {
        let mut found = known.clone().into_iter().filter(|one| has(one, match_all));
        found.next().filter(|_| found.next().is_none())
    };
    let nearest = |match_all: &dyn Fn(&[&str]) -> bool| {
        let found = known.clone().into_iter().filter(|one| has(one, match_all));
        found.max_by(|left, right| {
            let similarity = |one: &str| strsim::jaro_winkler(&name, one);
            similarity(left).total_cmp(&similarity(right))
        })
    };
    let all_in = |these: &[&str], those: &[&str]| {
        these.iter().all(|word| those.iter().any(|other| is_same_word(word, other)))
    };
    only(&|words| is_same_command(&sent, words))
        .or_else(|| nearest(&|words| !words.is_empty() && all_in(words, &sent)))
        .or_else(|| only(&|words| !sent.is_empty() && all_in(&sent, words)))
}

/// Splits a snake_case name into words and removes the plural `s`, for example `list_orders` → `["list", "order"]`.
fn words(name: &str) -> Vec<&str> {
    let words = name.split('_').filter(|word| !word.is_empty());
    words.map(|word| word.strip_suffix('s').filter(|one| one.len() > 1).unwrap_or(word)).collect()
}

/// Returns `true` if the verbs have the same meaning and all other words are equal.
fn is_same_command(left: &[&str], right: &[&str]) -> bool {
    match (left, right) {
        ([left, rest @ ..], [right, other @ ..]) => {
            purpose(left).is_some() && purpose(left) == purpose(right) && rest == other
        }
        _ => false,
    }
}

/// Returns the index of the synonym group that contains `verb`.
fn purpose(verb: &str) -> Option<usize> {
    VERBS.iter().position(|verbs| verbs.contains(&verb))
}

/// Returns `true` if the words are equal except for typing errors.
fn is_same_word(left: &str, right: &str) -> bool {
    let errors = left.len().max(right.len()) / MIN_TYPO_BYTES;
    // Verbs are short, so a different verb looks like a typing error: `set` is not a misspelling of `get`.
    let are_verbs = purpose(left).is_some() && purpose(right).is_some();
    left == right || !are_verbs && strsim::osa_distance(left, right) <= errors.min(MAX_TYPOS)
}

/// Returns the operation that searches the objects listed by `name`: the only one with a verb of searching and the same
/// object.
///
/// ```
/// use mcp_aql_protocol::search_operation;
///
/// let known = ["list_orders", "search_orders", "search_items"];
/// assert_eq!(search_operation("list_orders", known), Some("search_orders"));
/// assert_eq!(search_operation("get_order", known), None);
/// ```
pub fn search_operation<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    let (verb, object) = name.split_once('_')?;
    let is_verb_of = |verb: &str, of: &str| {
        VERBS.iter().any(|verbs| verbs.contains(&of) && verbs.contains(&verb))
    };
    if !is_verb_of(verb, "list") {
        return None;
    }
    let mut found = known.into_iter().filter(|one| {
        one.split_once('_').is_some_and(|(verb, other)| {
            is_verb_of(verb, "search")
                && other.trim_end_matches('s') == object.trim_end_matches('s')
        })
    });
    found.next().filter(|_| found.next().is_none())
}

/// Returns `true` if other APIs use this name for the full-text search string.
///
/// ```
/// assert!(mcp_aql_protocol::is_text_name("q"));
/// assert!(!mcp_aql_protocol::is_text_name("title"));
/// ```
pub fn is_text_name(name: &str) -> bool {
    SYNONYMS.iter().any(|group| group.contains(&"query") && group.contains(&name))
}

/// Splits a name written as a path, such as `place.floor` or `priority__gt`, into its parts. Returns `None` for all
/// other names.
///
/// ```
/// use mcp_aql_protocol::path_parts;
///
/// assert_eq!(path_parts("place.floor"), Some(vec!["place", "floor"]));
/// assert_eq!(path_parts("priority__gt"), Some(vec!["priority", "gt"]));
/// assert_eq!(path_parts("due_date"), None);
/// ```
pub fn path_parts(name: &str) -> Option<Vec<&str>> {
    let parts: Vec<_> = name.split('.').flat_map(|part| part.split("__")).collect();
    let is_path = parts.len() > 1 && parts.iter().all(|part| !part.is_empty());
    is_path.then_some(parts)
}

/// Converts a name to snake_case.
///
/// ```
/// use mcp_aql_protocol::snake_case;
///
/// assert_eq!(snake_case("TaskBoard"), "task_board");
/// assert_eq!(snake_case("page-size"), "page_size");
/// ```
pub fn snake_case(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 4);
    let mut before: Option<char> = None;
    let mut letters = name.chars().peekable();
    while let Some(each) = letters.next() {
        if each.is_ascii_uppercase() {
            let new_word = before.is_some_and(|before| {
                before.is_ascii_lowercase()
                    || before.is_ascii_digit()
                    || (before.is_ascii_uppercase()
                        && letters.peek().is_some_and(char::is_ascii_lowercase))
            });
            if new_word {
                text.push('_');
            }
            text.push(each.to_ascii_lowercase());
        } else if each.is_ascii_alphanumeric() {
            text.push(each);
        } else if !text.ends_with('_') && !text.is_empty() {
            text.push('_');
        }
        before = Some(each);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_names_are_snake_case() {
        // REQ-RQ-04, REQ-CLS-06
        for (name, expected) in [
            ("task", true),
            ("task_2", true),
            ("", false),
            ("_meta", false),
            ("2tasks", false),
            ("Task", false),
            ("task-id", false),
            ("tâche", false),
        ] {
            assert_eq!(is_public_name(name), expected, "{name}");
        }
    }

    #[test]
    fn names_change_their_case() {
        for (pascal, snake) in [
            ("Task", "task"),
            ("TaskBoard", "task_board"),
            ("HTTPServer", "http_server"),
            ("Page_for_Task", "page_for_task"),
            ("V2Task", "v2_task"),
        ] {
            assert_eq!(snake_case(pascal), snake);
        }
    }

    #[test]
    fn names_of_other_apis_mean_the_only_parameter_of_that_kind() {
        // REQ-UNK-03
        let list = ["filter", "sort", "fields", "first", "after", "last", "before"];
        for (name, expected) in [
            ("limit", Some("first")),
            ("per-page", Some("first")),
            ("orderBy", Some("sort")),
            ("order", Some("sort")),
            ("where", Some("filter")),
            ("cursor", Some("after")),
            ("select", Some("fields")),
            ("id", None),
            ("q", None),
            ("colour", None),
        ] {
            assert_eq!(probable_parameter(name, list), expected, "{name}");
        }
        assert_eq!(probable_parameter("id", ["task_id", "title"]), Some("task_id"));
        assert_eq!(probable_parameter("id", ["task_id", "target_id"]), None);
        assert_eq!(probable_parameter("data", ["task_id", "input"]), Some("input"));
        assert_eq!(probable_parameter("limit", ["first", "page_size"]), None);
        assert_eq!(probable_parameter("filter", ["after", "first"]), None, "another control");
        assert_eq!(probable_parameter("to_id", ["task_id", "target_id"]), None);
        assert_eq!(probable_parameter("tsak_id", ["task_id", "target_id"]), Some("task_id"));
        assert_eq!(probable_parameter("izp", ["zip", "city"]), Some("zip"));
        assert_eq!(probable_parameter("xd", ["id"]), None);
        assert_eq!(probable_parameter(&"x".repeat(100), list), None);
    }

    #[test]
    fn a_verb_of_the_same_purpose_means_the_only_operation_on_the_object() {
        // REQ-ERR-10
        let known = ["create_order", "modify_order", "get_order", "list_orders", "remove_item"];
        for (name, expected) in [
            ("update_order", Some("modify_order")),
            ("add_order", Some("create_order")),
            ("fetch_order", Some("get_order")),
            ("delete_item", Some("remove_item")),
            ("browse_orders", Some("list_orders")),
            ("modify_the_order", Some("modify_order")),
            ("crate_orders", Some("create_order")),
            ("gt_order", Some("get_order")),
            ("set_item", None),
            ("orders.list", Some("list_orders")),
            ("ModifyOrder", Some("modify_order")),
            ("modify", Some("modify_order")),
            ("order", None),
            ("complete_order", None),
            ("remove_order", None),
            ("ping", None),
            ("", None),
        ] {
            assert_eq!(probable_operation(name, known), expected, "{name}");
        }
        let twice = ["edit_order", "modify_order"];
        assert_eq!(probable_operation("edit_orders", twice), Some("edit_order"), "the nearest");
    }

    #[test]
    fn the_groups_of_synonyms_have_no_name_in_common() {
        for mut names in [SYNONYMS.concat(), VERBS.concat()] {
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count);
        }
    }

    #[test]
    fn the_nearest_name_is_suggested_only_when_near() {
        let names = ["title", "status", "priority"];
        assert_eq!(nearest_name("titel", names), Some("title"));
        assert_eq!(nearest_name("prio", names), Some("priority"));
        assert_eq!(nearest_name("colour", names), None);
        assert_eq!(nearest_name(&"title".repeat(100), names), None);
    }
}
