//! Finds the commit of a package's source.

use std::path::Path;
use std::process::Command;

/// The length of an abbreviated hash, in characters.
const ABBREVIATED: usize = 12;

/// The commit of a package's source.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SourceCommit {
    pub(crate) commit: String,
    /// The files that change with each commit of a checkout. Cargo runs the build script again if one of them changes.
    pub(crate) changes_with: Vec<String>,
}

/// Returns the commit from which a package was published. For a package in a checkout, returns the commit of the
/// checkout if `of_checkout` is set.
pub(crate) fn of_package(package: &Path, of_checkout: bool) -> Option<SourceCommit> {
    // A published package contains both files, unless it was packaged outside of a repository. It may be unpacked in a
    // repository to which it does not belong, so git is not asked in this case.
    if package.join("Cargo.toml.orig").exists() {
        let info = std::fs::read_to_string(package.join(".cargo_vcs_info.json")).ok()?;
        let commit = published(&info)?;
        return Some(SourceCommit { commit, changes_with: Vec::new() });
    }
    of_checkout.then(|| checked_out(package)).flatten()
}

/// Returns the hash in `.cargo_vcs_info.json`:
///
/// ```json
/// { "git": { "sha1": "b555214500112233…" }, "path_in_vcs": "crates/mcp-aql-cli" }
/// ```
fn published(info: &str) -> Option<String> {
    let (_, rest) = info.split_once("\"sha1\"")?;
    abbreviated(rest.split('"').nth(1)?)
}

/// Returns the commit of the checkout, from git.
fn checked_out(package: &Path) -> Option<SourceCommit> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(package).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    // This command fails if the package is not part of the repository.
    git(&["ls-files", "--error-unmatch", "Cargo.toml"])?;
    let place = |name| git(&["rev-parse", "--path-format=absolute", "--git-path", name]);
    let places = ["HEAD", "logs/HEAD"].into_iter().filter_map(place);
    // Cargo would run the build script in every build if one of the files did not exist.
    let changes_with = places.filter(|file| Path::new(file).exists()).collect();
    let commit = abbreviated(&git(&["rev-parse", "HEAD"])?)?;
    Some(SourceCommit { commit, changes_with })
}

fn abbreviated(hash: &str) -> Option<String> {
    let is_hash = hash.len() >= ABBREVIATED && hash.bytes().all(|each| each.is_ascii_hexdigit());
    is_hash.then(|| hash.chars().take(ABBREVIATED).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_package_names_its_commit() {
        let folder = std::env::temp_dir().join(format!("mcp-aql-commit-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        // The folder is not part of a repository.
        assert_eq!(of_package(&folder, true), None);
        std::fs::write(folder.join("Cargo.toml.orig"), "").unwrap();
        assert_eq!(of_package(&folder, true), None);
        let hash = "b555214500112233445566778899aabbccddeeff";
        for (info, commit) in [
            (
                format!(r#"{{ "git": {{ "sha1": "{hash}" }}, "path_in_vcs": "a" }}"#),
                Some("b55521450011"),
            ),
            (r#"{ "git": { "sha1": "not a hash" } }"#.to_owned(), None),
            ("{}".to_owned(), None),
        ] {
            std::fs::write(folder.join(".cargo_vcs_info.json"), info).unwrap();
            let found = of_package(&folder, false).map(|source| source.commit);
            assert_eq!(found.as_deref(), commit);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_checkout_names_its_commit_if_wanted() {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(of_package(package, false), None);
        // Sources without a repository have no commit.
        assert!(of_package(package, true).is_none_or(|source| source.commit.len() == ABBREVIATED));
    }
}
