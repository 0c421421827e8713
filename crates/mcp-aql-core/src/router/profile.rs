//! Endpoint modes, profiles and families.

use std::str::FromStr;

use mcp_aql_protocol::{SemanticCategory, is_public_name};

/// Selects the MCP tools that an adapter offers.
///
/// Source: endpoint-modes §3.1 (REQ-EPT-01, REQ-EPT-10, REQ-EPT-13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EndpointMode {
    /// One tool for each endpoint family.
    #[default]
    Semantic,
    /// One tool, `mcp_aql`, for all operations.
    Single,
    /// Both kinds of tools.
    All,
}

impl EndpointMode {
    /// Returns the value of `_protocol.mode` and `MCP_AQL_ENDPOINT_MODE`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Semantic => "semantic",
            Self::Single => "single",
            Self::All => "all",
        }
    }
}

impl FromStr for EndpointMode {
    type Err = String;

    /// Parses `semantic` (or its older name `crude`), `single` or `all`.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "semantic" | "crude" => Ok(Self::Semantic),
            "single" => Ok(Self::Single),
            "all" => Ok(Self::All),
            other => Err(format!(
                "endpoint mode `{other}` is not known: write `semantic`, `single` or `all`"
            )),
        }
    }
}

/// Groups an adapter's operations into endpoint families. Each family is one tool in semantic mode.
///
/// Use a custom profile if the five standard families do not fit your domain:
///
/// ```
/// use mcp_aql::{EndpointProfile, SemanticCategory as Category};
///
/// let profile = EndpointProfile::custom("library")
///     .family("discover", "Find out what there is.", [])
///     .family("query", "Look up books.", [Category::Read])
///     .family(
///         "manage",
///         "Change the stock.",
///         [Category::Create, Category::Update, Category::Delete],
///     )
///     .family("operate", "Run jobs.", [Category::Execute])
///     .introspect_in("discover");
/// assert_eq!(profile.name(), "library");
/// ```
///
/// Source: endpoint-modes §3.1, §4.4 (REQ-EPT-05, REQ-EPT-08, REQ-EPT-11).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointProfile {
    pub(crate) name: String,
    pub(crate) families: Vec<Family>,
    pub(crate) introspect_in: Option<String>,
}

/// A named group of operations. In semantic mode, it is one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Family {
    pub(crate) name: String,
    pub(crate) purpose: String,
    pub(crate) categories: Vec<SemanticCategory>,
}

impl Family {
    /// Returns the name. Introspection shows it as `endpoint`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the purpose of the family in one sentence.
    pub fn purpose(&self) -> &str {
        &self.purpose
    }

    /// Returns the categories whose operations belong to this family unless they name another one.
    pub fn categories(&self) -> &[SemanticCategory] {
        &self.categories
    }
}

impl Default for EndpointProfile {
    fn default() -> Self {
        Self::crude()
    }
}

impl EndpointProfile {
    /// Returns the standard profile, CRUDE. It has one family for each of the five categories.
    pub fn crude() -> Self {
        let purpose = |category| match category {
            SemanticCategory::Create => "Operations that add data.",
            SemanticCategory::Read => "Safe, read-only operations.",
            SemanticCategory::Update => "Modifying operations that overwrite data.",
            SemanticCategory::Delete => "Destructive operations that remove data.",
            SemanticCategory::Execute => "Operations that manage executions.",
        };
        Self {
            name: "crude".to_owned(),
            families: SemanticCategory::ALL
                .into_iter()
                .map(|category| Family {
                    name: category.crude_family().to_owned(),
                    purpose: purpose(category).to_owned(),
                    categories: vec![category],
                })
                .collect(),
            introspect_in: None,
        }
    }

    /// Creates a custom profile. Add its families with [`family`](Self::family).
    pub fn custom(name: impl Into<String>) -> Self {
        Self { name: name.into(), families: Vec::new(), introspect_in: None }
    }

    /// Adds a family with its name, its purpose and the categories of its operations. The name should be a verb.
    ///
    /// An operation with `endpoint = "…"` may belong to another family.
    #[must_use]
    pub fn family(
        mut self,
        name: impl Into<String>,
        purpose: impl Into<String>,
        categories: impl IntoIterator<Item = SemanticCategory>,
    ) -> Self {
        self.families.push(Family {
            name: name.into(),
            purpose: purpose.into(),
            categories: categories.into_iter().collect(),
        });
        self
    }

    /// Sets the family of `introspect`. Defaults to the first family with READ operations.
    #[must_use]
    pub fn introspect_in(mut self, family: impl Into<String>) -> Self {
        self.introspect_in = Some(family.into());
        self
    }

    /// Returns the profile's name. It is also a value of `MCP_AQL_ENDPOINT_PROFILE`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the families in the order of the tools.
    pub fn families(&self) -> &[Family] {
        &self.families
    }

    /// Returns `true` for the standard profile.
    pub fn is_crude(&self) -> bool {
        self.name == "crude"
    }

    /// Returns the index of an operation's family.
    pub(crate) fn family_of(
        &self,
        category: SemanticCategory,
        endpoint: Option<&str>,
    ) -> Result<usize, String> {
        let named = endpoint.filter(|_| !self.is_crude());
        let found = match named {
            Some(name) => self.families.iter().position(|family| family.name == name),
            None => self.families.iter().position(|family| family.categories.contains(&category)),
        };
        found.ok_or_else(|| match named {
            Some(name) => {
                let known: Vec<_> = self.families.iter().map(Family::name).collect();
                format!(
                    "endpoint family `{name}` is not in profile `{}`: write one of {}",
                    self.name,
                    known.join(", ")
                )
            }
            None => format!(
                "profile `{}` has no family for {} operations: add one, or write `endpoint = \"…\"`",
                self.name,
                category.as_str()
            ),
        })
    }

    /// Returns the index of the family of `introspect`.
    pub(crate) fn introspect_family(&self) -> Result<usize, String> {
        match &self.introspect_in {
            Some(_) if self.is_crude() => self.family_of(SemanticCategory::Read, None),
            Some(name) => self.family_of(SemanticCategory::Read, Some(name)),
            None => self.family_of(SemanticCategory::Read, None),
        }
    }

    /// Returns the problems of the profile itself.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if !is_public_name(&self.name) {
            problems.push(format!("profile name `{}` is not snake_case", self.name));
        }
        if self.families.is_empty() {
            problems.push(format!("profile `{}` has no family: add one with `family`", self.name));
        }
        for (index, family) in self.families.iter().enumerate() {
            if !is_public_name(&family.name) {
                problems.push(format!("endpoint family `{}` is not snake_case", family.name));
            }
            if self.families.iter().take(index).any(|other| other.name == family.name) {
                problems.push(format!("endpoint family `{}` occurs twice", family.name));
            }
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_have_names_and_an_alias() {
        // REQ-EPT-10
        for (text, mode) in [
            ("semantic", Ok(EndpointMode::Semantic)),
            ("crude", Ok(EndpointMode::Semantic)),
            ("single", Ok(EndpointMode::Single)),
            ("all", Ok(EndpointMode::All)),
        ] {
            assert_eq!(text.parse::<EndpointMode>(), mode);
        }
        assert!("Single".parse::<EndpointMode>().is_err());
    }

    #[test]
    fn crude_has_a_family_for_each_category() {
        // REQ-EPT-05, REQ-EPT-02
        let profile = EndpointProfile::crude();
        for category in SemanticCategory::ALL {
            let family = profile.family_of(category, Some("ignored")).unwrap();
            assert_eq!(profile.families[family].name, category.crude_family());
        }
    }

    #[test]
    fn faults_of_a_profile_are_listed() {
        // REQ-EPT-08
        let profile = EndpointProfile::custom("My profile")
            .family("a", "", [])
            .family("a", "", [SemanticCategory::Read])
            .family("B", "", []);
        assert_eq!(profile.problems().len(), 3);
        assert!(profile.family_of(SemanticCategory::Create, None).is_err());
        assert!(
            profile.family_of(SemanticCategory::Create, Some("z")).unwrap_err().contains("a, a, B")
        );
    }
}
