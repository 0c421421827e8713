//! The five semantic categories and the permission flags of each.

/// The effect of an operation on stored state. Every operation has exactly one category.
///
/// ```
/// use mcp_aql_protocol::SemanticCategory;
///
/// assert_eq!(SemanticCategory::Read.as_str(), "READ");
/// assert!(SemanticCategory::Read.permissions().read_only);
/// ```
///
/// Source: MCP-AQL §6.1, §8.1 (REQ-EPT-02, REQ-CLS-01).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SemanticCategory {
    /// Adds data. Removes and overwrites nothing.
    Create,
    /// Reads data. Changes nothing and is safe to repeat.
    Read,
    /// Overwrites existing data.
    Update,
    /// Removes data.
    Delete,
    /// Starts, stops or controls something at run time. May have effects outside of the adapter.
    Execute,
}

impl SemanticCategory {
    /// All categories, in the protocol's order.
    pub const ALL: [Self; 5] =
        [Self::Create, Self::Read, Self::Update, Self::Delete, Self::Execute];

    /// Returns the name in requests and replies: `CREATE`, `READ`, `UPDATE`, `DELETE` or `EXECUTE`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Read => "READ",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Execute => "EXECUTE",
        }
    }

    /// Parses the name of a category. Names are case-sensitive.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|category| category.as_str() == name)
    }

    /// Returns the first word of an operation's name and the category implied by this verb. Returns `None` if the
    /// protocol does not list the verb (§8.5.1, REQ-CLS-07).
    ///
    /// ```
    /// use mcp_aql_protocol::SemanticCategory;
    ///
    /// assert_eq!(SemanticCategory::of_verb("list_tasks"), Some(("list", SemanticCategory::Read)));
    /// assert_eq!(SemanticCategory::of_verb("settle_account"), None);
    /// ```
    pub fn of_verb(operation: &str) -> Option<(&str, Self)> {
        let mut words = operation.split('_');
        let verb = words.next()?;
        // "Check in" and "check out" change state: `check_in_guest` does not read a guest.
        if verb == "check" && matches!(words.next(), Some("in" | "out")) {
            return None;
        }
        let category = match verb {
            "get" | "list" | "search" | "find" | "count" | "check" | "query" | "fetch" | "show" => {
                Self::Read
            }
            "create" | "add" | "insert" | "register" | "import" => Self::Create,
            "update" | "edit" | "modify" | "rename" | "set" | "patch" => Self::Update,
            "delete" | "remove" | "purge" | "drop" | "clear" | "destroy" => Self::Delete,
            "execute" | "run" | "start" | "stop" | "cancel" | "send" | "trigger" => Self::Execute,
            _ => return None,
        };
        Some((verb, category))
    }

    /// Suggests a category for an operation: the one implied by its verb, or EXECUTE for common business commands such
    /// as `approve` or `refund`. All other names suggest READ.
    pub fn suggested_for(operation: &str) -> Self {
        if let Some((_, category)) = Self::of_verb(operation) {
            return category;
        }
        let verb = operation.split('_').next().unwrap_or_default();
        if COMMANDS.contains(&verb) { Self::Execute } else { Self::Read }
    }

    /// Returns the family of the CRUDE profile that contains this category: `create`, `read`, …
    pub const fn crude_family(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Read => "read",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Execute => "execute",
        }
    }

    /// Returns the permission flags of the category (REQ-EPT-06).
    pub const fn permissions(self) -> EndpointPermissions {
        match self {
            Self::Create => EndpointPermissions { read_only: false, destructive: false },
            Self::Read => EndpointPermissions { read_only: true, destructive: false },
            Self::Update | Self::Delete | Self::Execute => {
                EndpointPermissions { read_only: false, destructive: true }
            }
        }
    }
}

/// Verbs of commands that do more than change stored fields. They suggest a category but do not imply one, because some
/// mean an UPDATE or a CREATE in other domains.
const COMMANDS: [&str; 24] = [
    "accept",
    "approve",
    "authorize",
    "capture",
    "charge",
    "check",
    "confirm",
    "decline",
    "dispatch",
    "exchange",
    "fulfill",
    "pay",
    "publish",
    "refund",
    "reject",
    "release",
    "reopen",
    "return",
    "revoke",
    "settle",
    "ship",
    "submit",
    "transfer",
    "withdraw",
];

#[cfg(feature = "serde")]
impl serde::Serialize for SemanticCategory {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The permission flags of a category: read-only, destructive, or neither (REQ-INT-12).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct EndpointPermissions {
    /// If `true`, the operation only reads.
    #[cfg_attr(feature = "serde", serde(rename = "readOnly"))]
    pub read_only: bool,
    /// If `true`, the operation may remove or overwrite data.
    pub destructive: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_exact() {
        assert_eq!(SemanticCategory::from_name("READ"), Some(SemanticCategory::Read));
        assert_eq!(SemanticCategory::from_name("read"), None);
    }

    #[test]
    fn verbs_announce_a_category() {
        // REQ-CLS-07
        assert_eq!(SemanticCategory::of_verb("list_tasks"), Some(("list", SemanticCategory::Read)));
        assert_eq!(SemanticCategory::of_verb("settle_account"), None);
        assert_eq!(SemanticCategory::of_verb("check_in_guest"), None);
        assert_eq!(
            SemanticCategory::of_verb("check_guest"),
            Some(("check", SemanticCategory::Read))
        );
    }

    #[test]
    fn commands_of_a_business_are_execute() {
        // REQ-CLS-02, REQ-CLS-04, REQ-CLS-09
        for command in ["cancel_order", "send_invoice"].iter().copied().chain(COMMANDS) {
            let name = format!("{command}_in_order");
            let announced = SemanticCategory::of_verb(&name).map(|(_, category)| category);
            let execute = SemanticCategory::Execute;
            assert!(announced.is_none_or(|category| category == execute), "{name}");
            assert_eq!(SemanticCategory::suggested_for(&name), execute, "{name}");
        }
        assert_eq!(SemanticCategory::suggested_for("order_totals"), SemanticCategory::Read);
    }

    #[test]
    fn permissions_follow_the_category() {
        // REQ-EPT-06
        for (category, read_only, destructive) in [
            (SemanticCategory::Create, false, false),
            (SemanticCategory::Read, true, false),
            (SemanticCategory::Update, false, true),
            (SemanticCategory::Delete, false, true),
            (SemanticCategory::Execute, false, true),
        ] {
            let expected = EndpointPermissions { read_only, destructive };
            assert_eq!(category.permissions(), expected, "{}", category.as_str());
        }
    }
}
