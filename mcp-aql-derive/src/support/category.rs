//! The five semantic categories, and the verbs that belong to one of them.

use super::names;

/// What an operation does to stored state (MCP-AQL §8.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Category {
    Create,
    Read,
    Update,
    Delete,
    Execute,
}

impl Category {
    pub(crate) const ALL: [Self; 5] =
        [Self::Create, Self::Read, Self::Update, Self::Delete, Self::Execute];

    /// The name on the wire.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Read => "READ",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Execute => "EXECUTE",
        }
    }

    /// The variant of the runtime's `SemanticCategory`.
    pub(crate) const fn variant(self) -> &'static str {
        match self {
            Self::Create => "Create",
            Self::Read => "Read",
            Self::Update => "Update",
            Self::Delete => "Delete",
            Self::Execute => "Execute",
        }
    }

    /// The category of this name, or what to write instead.
    pub(crate) fn from_name(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|category| category.as_str() == name).ok_or_else(|| {
            let hint = names::suggestion(&name.to_ascii_uppercase(), Self::ALL.map(Self::as_str));
            format!("unknown category `{name}`: {hint}")
        })
    }

    /// The category that the first word of an operation's name announces (MCP-AQL §8.5.1).
    pub(crate) fn of_verb(operation: &str) -> Option<(&str, Self)> {
        let verb = operation.split('_').next()?;
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_exact_and_near_misses_are_named() {
        assert_eq!(Category::from_name("READ"), Ok(Category::Read));
        for (name, hint) in [
            ("read", "unknown category `read`: did you mean `READ`?"),
            ("REED", "unknown category `REED`: did you mean `READ`?"),
            ("", "unknown category ``: write `CREATE`, `READ`, `UPDATE`, `DELETE` or `EXECUTE`"),
        ] {
            assert_eq!(Category::from_name(name), Err(hint.to_owned()));
        }
    }

    #[test]
    fn verbs_announce_a_category() {
        assert_eq!(Category::of_verb("list_tasks"), Some(("list", Category::Read)));
        assert_eq!(Category::of_verb("settle_account"), None);
    }
}
