//! The requirements of the protocol: their sections in the specification, and their ranks.

use std::fmt;

/// The version of the protocol that the checks cover.
pub const SPEC_VERSION: &str = "1.0.0-draft";

/// Table of all requirements. Each line has the id, the rank, the file in the protocol's repository, the sections, and
/// the anchor of the first section.
const TABLE: &str = include_str!("requirements.tsv");

/// Base URL of the files in the protocol's repository.
const REPOSITORY: &str = "https://github.com/MCPAQL/spec/blob/main/";

/// The rank of a document of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rank {
    /// The document binds adapters: the specification itself, or a schema included in it.
    Normative,
    /// The document explains or recommends. Normative documents take precedence.
    Informative,
}

impl Rank {
    /// Returns the rank in lower case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Normative => "normative",
            Self::Informative => "informative",
        }
    }
}

/// The source of a requirement in the specification. Call [`requirement`] to look one up.
///
/// ```
/// let source = mcp_aql_conformance::requirement("REQ-RSP-01").unwrap();
/// assert_eq!(source.to_string(), "v1.0.0-draft §5.1, normative");
/// assert!(source.url().ends_with("/docs/versions/v1.0.0-draft.md#51-discriminated-union"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequirementSource {
    /// Id of the requirement.
    pub id: &'static str,
    /// Rank of the document.
    pub rank: Rank,
    /// Path of the file in the protocol's repository.
    pub file: &'static str,
    /// Sections of the file, such as `5.1, 5.3`. Empty for the whole file.
    pub section: &'static str,
    anchor: &'static str,
}

impl RequirementSource {
    fn parse(line: &'static str) -> Option<Self> {
        let mut parts = line.split('\t');
        let id = parts.next()?;
        let rank = match parts.next()? {
            "normative" => Rank::Normative,
            _ => Rank::Informative,
        };
        let (file, section, anchor) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Self { id, rank, file, section, anchor })
    }

    /// Returns the file and its sections, for example `v1.0.0-draft §5.1`.
    pub fn place(&self) -> String {
        let name = self.file.rsplit('/').next().unwrap_or(self.file);
        let name = name.strip_suffix(".md").unwrap_or(name);
        match self.section {
            "" => name.to_owned(),
            section => format!("{name} §{section}"),
        }
    }

    /// Returns the URL of the section.
    pub fn url(&self) -> String {
        match self.anchor {
            "" => format!("{REPOSITORY}{}", self.file),
            anchor => format!("{REPOSITORY}{}#{anchor}", self.file),
        }
    }
}

impl fmt::Display for RequirementSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}, {}", self.place(), self.rank.as_str())
    }
}

/// Returns the source of a requirement, or `None` if the id is unknown.
pub fn requirement(id: &str) -> Option<RequirementSource> {
    requirements().find(|source| source.id == id)
}

/// Returns the sources of all requirements.
///
/// ```
/// let ids: Vec<_> = mcp_aql_conformance::requirements().map(|source| source.id).collect();
/// assert!(ids.contains(&"REQ-RSP-01"));
/// ```
pub fn requirements() -> impl Iterator<Item = RequirementSource> {
    TABLE.lines().filter_map(RequirementSource::parse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirement_of_each_check_has_a_source() {
        for check in crate::checks() {
            for id in check.requirements {
                assert!(requirement(id).is_some(), "{}: {id} has no source", check.id);
            }
        }
        assert_eq!(requirement("REQ-NONE"), None);
    }

    #[test]
    fn every_line_of_the_table_is_complete() {
        assert_eq!(requirements().count(), TABLE.lines().count());
        for line in TABLE.lines() {
            assert_eq!(line.split('\t').count(), 5, "{line}");
        }
        let specification = "docs/versions/v1.0.0-draft.md";
        assert!(
            requirements()
                .filter(|it| it.file == specification)
                .all(|it| it.rank == Rank::Normative && !it.anchor.is_empty())
        );
    }
}
