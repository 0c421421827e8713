//! Implements the command `console`: prints sign-in links.

use std::io::Write as _;
use std::path::Path;

use mcp_aql::operator::Console;

/// Prints a sign-in link for each running guard that uses this state directory. If you pass a name, the audit log
/// attributes the operator's decisions to it.
pub(crate) fn print(state: &Path, name: Option<&str>) -> mcp_aql::Result<()> {
    let links = match name {
        Some(name) => Console::login_links_for(state, name),
        None => Console::login_links(state),
    }?;
    if links.is_empty() {
        return Err(mcp_aql::Error::other(format!(
            "no running guard uses '{}': start a client that is configured with the guard",
            state.display()
        )));
    }
    let mut output = std::io::stdout().lock();
    writeln!(output, "Each link works once, within two minutes:")?;
    for link in links {
        let since = link.started_at.format("%Y-%m-%d %H:%M:%S UTC");
        writeln!(output, "  {}   (process {}, since {since})", link.url, link.process)?;
    }
    Ok(())
}
