use serde::Serialize;

/// What an operation does to stored state. Every operation has exactly one.
///
/// ```
/// use mcp_aql::SemanticCategory;
///
/// assert_eq!(SemanticCategory::Read.as_str(), "READ");
/// assert!(SemanticCategory::Read.permissions().read_only);
/// ```
///
/// Source: MCP-AQL §6.1, §8.1 (REQ-EPT-02, REQ-CLS-01).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SemanticCategory {
    /// Adds data; removes and overwrites nothing.
    Create,
    /// Reads; changes nothing and is safe to repeat.
    Read,
    /// Overwrites data that exists.
    Update,
    /// Removes data.
    Delete,
    /// Starts, stops or steers something at run time; may have outside effects.
    Execute,
}

impl SemanticCategory {
    /// All five, in the protocol's order.
    pub const ALL: [Self; 5] =
        [Self::Create, Self::Read, Self::Update, Self::Delete, Self::Execute];

    /// The name on the wire: `CREATE`, `READ`, `UPDATE`, `DELETE` or `EXECUTE`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Read => "READ",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Execute => "EXECUTE",
        }
    }

    /// The family of the CRUDE profile that takes this category: `create`, `read`, …
    pub const fn crude_family(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Read => "read",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Execute => "execute",
        }
    }

    /// The permission flags of the category (REQ-EPT-06).
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

impl Serialize for SemanticCategory {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Whether an operation only reads, and whether it removes or overwrites (REQ-INT-12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct EndpointPermissions {
    /// Reads only.
    #[serde(rename = "readOnly")]
    pub read_only: bool,
    /// May remove or overwrite data.
    pub destructive: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

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
