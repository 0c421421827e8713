//! The command `docs`: writes the reference pages of the adapter.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use mcp_aql_core::internal::config::{SettingPath, open_regular};
use mcp_aql_core::{Adapter, Error, Result};

use super::Exit;
use crate::docs;

/// The output format of the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[non_exhaustive]
pub enum DocsFormat {
    /// For a code host: reference.md
    #[value(alias = "md")]
    Markdown,
    /// A page for browsers that loads nothing else: index.html
    Html,
}

impl DocsFormat {
    /// Returns the default file name. It is not README.md, so that `--out .` never overwrites the README of a project.
    const fn file(self) -> &'static str {
        match self {
            Self::Markdown => "reference.md",
            Self::Html => "index.html",
        }
    }

    fn render(self, adapter: &Adapter) -> String {
        match self {
            Self::Markdown => docs::markdown(adapter),
            Self::Html => docs::html(adapter),
        }
    }
}

/// Writes the adapter's reference into a directory, or prints it on standard output.
pub(super) fn run(
    adapter: &Adapter,
    format: DocsFormat,
    out: Option<&Path>,
    json: bool,
) -> Result<Exit> {
    if json {
        return Err(Error::Usage(
            "`docs` writes Markdown or HTML: for JSON use `introspect`".to_owned(),
        ));
    }
    let text = format.render(adapter);
    let Some(out) = out else {
        std::io::stdout().write_all(text.as_bytes())?;
        return Ok(Exit::Success);
    };
    let refused = |path: &Path, error: std::io::Error| {
        Error::other(format!("cannot write '{}': {error}", path.display()))
    };
    if out.exists() && !out.is_dir() {
        let out = out.display();
        return Err(Error::Usage(format!("`--out {out}` is a file: name a directory")));
    }
    let file = out.join(format.file());
    // The directory may belong to a project with symbolic links in it. They are rejected before the directory is
    // created, so that nothing is created through a link.
    let path = SettingPath::new(Path::new(""), &*file)
        .without_links()
        .map_err(|error| refused(&file, error))?;
    std::fs::create_dir_all(out).map_err(|error| refused(out, error))?;
    open_regular(&path, OpenOptions::new().write(true).create(true).truncate(true))
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| refused(&file, error))?;
    writeln!(std::io::stdout(), "{}", file.display())?;
    Ok(Exit::Success)
}
