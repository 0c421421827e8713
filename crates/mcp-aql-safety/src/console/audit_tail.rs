//! Reads the end of the audit log's file, so that the page shows events from before the start of the process.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use serde_json::Value;

/// The maximum number of bytes to read from the end of a file.
const MAX_TAIL_BYTES: u64 = 256 * 1024;
/// The maximum number of entries to return.
const MAX_ENTRIES: usize = 200;

/// Returns the last entries of an audit log, from newest to oldest. Lines with invalid JSON are skipped.
pub(super) async fn last_entries(path: &Path) -> io::Result<Vec<Value>> {
    let path = path.to_owned();
    let read = move || last_lines(&path, MAX_ENTRIES);
    let lines = tokio::task::spawn_blocking(read).await.map_err(io::Error::other)??;
    Ok(lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

/// Returns up to `limit` of the last complete lines of a file, from newest to oldest. A missing file has no lines.
fn last_lines(path: &Path, limit: usize) -> io::Result<Vec<String>> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        file => file?,
    };
    let length = file.metadata()?.len();
    let start = length.saturating_sub(MAX_TAIL_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(MAX_TAIL_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    // The first line may be cut off, and the last line may still be incomplete.
    let text = if start == 0 { &*text } else { text.split_once('\n').map_or("", |(_, rest)| rest) };
    let text = text.rsplit_once('\n').map_or("", |(complete, _)| complete);
    let lines = text.rsplit('\n').filter(|line| !line.is_empty());
    Ok(lines.take(limit).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_the_last_complete_lines() {
        let path = std::env::temp_dir().join(mcp_aql_core::internal::vocab::new_id("audit"));
        assert!(last_lines(&path, 3).unwrap().is_empty(), "there is no file");
        for (text, lines) in [
            ("", &[][..]),
            ("cut", &[]),
            ("a\nb\n\nc\nd\n", &["d", "c", "b"]),
            ("a\nb\ncut", &["b", "a"]),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(last_lines(&path, 3).unwrap(), lines, "{text:?}");
        }
        let long = format!("{}\n", "x".repeat(1_000)).repeat(1_000);
        std::fs::write(&path, format!("{long}last\n")).unwrap();
        let lines = last_lines(&path, 10_000).unwrap();
        assert_eq!(lines[0], "last");
        assert!(lines.len() > 200 && lines.iter().skip(1).all(|line| line.len() == 1_000));
        std::fs::remove_file(&path).unwrap();
    }
}
