//! Tests the SQLite store with old layouts, damaged files, locks and logs.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_aql::store::{Change, Expected, NewRecord, SqliteState, StateStore, StoreError};
use rusqlite::Connection;

use super::fixture::file;

fn put(key: &str) -> Vec<Change> {
    vec![Change::put("c", key, Expected::Any, NewRecord::new("0"))]
}

/// The first layout, with one expired record and two valid ones.
const FIRST_LAYOUT: &str = "
    CREATE TABLE mcp_aql_layout (number bigint NOT NULL);
    CREATE TABLE record (collection text NOT NULL, key text NOT NULL, value text NOT NULL,
        version bigint NOT NULL, group_key text, expires_at bigint, PRIMARY KEY (collection, key));
    CREATE TABLE record_version (number bigint NOT NULL);
    INSERT INTO mcp_aql_layout VALUES (1);
    INSERT INTO record_version VALUES (41);
    INSERT INTO record VALUES ('c', 'a', '{}', 7, 'g', NULL), ('c', 'b', '[]', 41, NULL, 5),
        ('c', 'ä', '0', 12, 'g', 1900000000000000);";

fn indexes(file: &Path) -> Vec<String> {
    let connection = Connection::open(file).unwrap();
    let sql =
        "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name";
    let mut statement = connection.prepare(sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[tokio::test]
async fn a_file_of_the_first_layout_becomes_one_of_today() {
    let (_folder, file) = file();
    Connection::open(&file).unwrap().execute_batch(FIRST_LAYOUT).unwrap();
    assert!(indexes(&file).is_empty());
    let store = SqliteState::open(&file);
    store.prepare().await.unwrap();
    assert_eq!(indexes(&file), ["record_by_expiry", "record_by_group"]);
    let listed = store.list("c", Some("g"), None, 9).await.unwrap();
    let listed: Vec<_> = listed.iter().map(|it| (&*it.key, &*it.value, it.version)).collect();
    assert_eq!(listed, [("a", "{}", 7), ("ä", "0", 12)]);
    // New versions continue after the old ones.
    assert!(store.write(put("new")).await.unwrap());
    assert_eq!(store.get("c", "new").await.unwrap().unwrap().version, 42);
    assert_eq!(store.purge(chrono::Utc::now()).await.unwrap(), 1);
    drop(store);
    SqliteState::open(&file).prepare().await.unwrap();
}

#[tokio::test]
async fn a_file_of_a_later_layout_is_refused() {
    let (_folder, file) = file();
    let store = SqliteState::open(&file);
    store.write(put("a")).await.unwrap();
    for strange in ["3", "-1", "'2nd'", "NULL"] {
        let sql = format!(
            "DROP TABLE mcp_aql_layout; CREATE TABLE mcp_aql_layout (number);
             INSERT INTO mcp_aql_layout VALUES ({strange})"
        );
        Connection::open(&file).unwrap().execute_batch(&sql).unwrap();
        let error = SqliteState::open(&file).prepare().await.unwrap_err();
        assert!(matches!(error, StoreError::Unreadable(_)), "{error:?}");
        if strange == "3" {
            let told = error.to_string();
            assert!(
                told.contains("has layout 3, but this program supports layouts up to 2"),
                "{told}"
            );
            assert!(told.contains("update this program, or use another database"), "{told}");
            assert!(told.contains(file.to_str().unwrap()), "{told}");
        }
    }
}

#[tokio::test]
async fn foreign_files_stay_unchanged() {
    let (folder, theirs) = file();
    let connection = Connection::open(&theirs).unwrap();
    connection.execute_batch("CREATE TABLE record (x); INSERT INTO record VALUES (1)").unwrap();
    drop(connection);
    let text = folder.path().join("text.db");
    std::fs::write(&text, "no database at all, and long enough to be sure of it".repeat(20))
        .unwrap();
    for (file, told) in
        [(&theirs, "belongs to another program"), (&text, "is not an SQLite database")]
    {
        let before = std::fs::read(file).unwrap();
        let store = SqliteState::open(file);
        for _ in 0..2 {
            let error = store.write(put("a")).await.unwrap_err();
            assert!(matches!(error, StoreError::Unreadable(_)), "{error:?}");
            assert!(error.to_string().contains(told), "{error}");
        }
        assert_eq!(std::fs::read(file).unwrap(), before);
    }
    for path in [folder.path(), Path::new(""), Path::new("/dev/null/state.db")] {
        let error = SqliteState::open(path).prepare().await.unwrap_err();
        assert!(matches!(error, StoreError::Failed(_)), "{error:?}");
    }
}

#[tokio::test]
async fn a_damaged_file_causes_errors_only() {
    let (folder, file) = file();
    let store = SqliteState::open(&file);
    for number in 0..60 {
        let record = NewRecord::new("x".repeat(3_000));
        let change = Change::put("c", number.to_string(), Expected::Any, record);
        store.write(vec![change]).await.unwrap();
    }
    drop(store);
    closed(folder.path()).await;
    let sound = std::fs::read(&file).unwrap();
    let mut failed = 0;
    // Overwrite each page in turn, partly or completely.
    for page in 0..sound.len() / 4096 {
        for length in [40, 4096] {
            let mut damaged = sound.clone();
            damaged[page * 4096..][..length].fill(0xa5);
            let file = folder.path().join(format!("{page}-{length}.db"));
            std::fs::write(&file, damaged).unwrap();
            let store = SqliteState::open(file);
            let results = [
                store.list("c", None, None, usize::MAX).await.map(|_| ()),
                store.get("c", "7").await.map(|_| ()),
                store.write(put("new")).await.map(|_| ()),
                store.purge(chrono::Utc::now()).await.map(|_| ()),
            ];
            failed += usize::from(results.iter().any(Result::is_err));
        }
    }
    assert!(failed > 10, "{failed}");
    // An open store works again after the file was restored.
    let store = SqliteState::open(&file);
    std::fs::write(&file, "not a database".repeat(50)).unwrap();
    store.get("c", "7").await.unwrap_err();
    std::fs::write(&file, sound).unwrap();
    assert_eq!(store.list("c", None, None, 99).await.unwrap().len(), 60);
}

#[tokio::test]
async fn a_damaged_row_hides_no_other() {
    let (_folder, file) = file();
    let store = SqliteState::open(&file);
    for key in ["1", "2", "3", "4"] {
        store.write(put(key)).await.unwrap();
    }
    let damage = "UPDATE record SET value = x'00ff' WHERE key = '1';
        UPDATE record SET version = -7 WHERE key = '2';
        UPDATE record SET expires_at = 'tomorrow' WHERE key = '3'";
    Connection::open(&file).unwrap().execute_batch(damage).unwrap();
    let listed = store.list("c", None, None, 9).await.unwrap();
    let listed: Vec<_> = listed.iter().map(|it| (&*it.key, &*it.value)).collect();
    assert_eq!(listed, [("1", ""), ("2", ""), ("3", ""), ("4", "0")]);
    for key in ["1", "2", "3"] {
        let error = store.get("c", key).await.unwrap_err();
        assert!(matches!(error, StoreError::Unreadable(_)), "{error:?}");
    }
}

/// Waits until the last connection is closed. It removes the write-ahead log.
async fn closed(folder: &Path) {
    let start = Instant::now();
    while std::fs::read_dir(folder).unwrap().count() > 1 {
        assert!(start.elapsed().as_secs() < 60, "the threads go on");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn a_dropped_store_closes_its_file() {
    for _ in 0..20 {
        let (folder, file) = file();
        let store = SqliteState::open(&file);
        store.write(put("a")).await.unwrap();
        store.get("c", "a").await.unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
        drop(store);
        closed(folder.path()).await;
    }
}

#[cfg(unix)]
#[tokio::test]
async fn the_file_is_made_late_and_for_the_user_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let (folder, _) = file();
    let file = folder.path().join("a/b/state.db");
    let store = SqliteState::open(&file);
    assert!(!folder.path().join("a").exists());
    assert_eq!(store.path(), file);
    store.prepare().await.unwrap();
    store.write(put("a")).await.unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.path().join("a")), 0o700);
    assert_eq!(mode(&folder.path().join("a/b")), 0o700);
    let beside = std::fs::read_dir(file.parent().unwrap()).unwrap();
    let modes: Vec<_> = beside.map(|entry| mode(&entry.unwrap().path())).collect();
    assert_eq!(modes, [0o600; 3], "with the files of the write-ahead log");
}

/// This test uses one thread, so that a blocking call would block everything.
#[tokio::test]
async fn the_runtime_goes_on_while_the_file_is_busy() {
    let (_folder, file) = file();
    let store = Arc::new(SqliteState::open(&file));
    store.write(put("a")).await.unwrap();
    let other = Connection::open(&file).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let writing = tokio::spawn({
        let store = Arc::clone(&store);
        async move { store.write(put("b")).await }
    });
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(5)).await;
        // Readers do not wait for the writer.
        assert!(store.get("c", "a").await.unwrap().is_some());
        assert_eq!(store.get("c", "b").await.unwrap(), None);
    }
    assert!(!writing.is_finished());
    other.execute_batch("COMMIT").unwrap();
    assert!(writing.await.unwrap().unwrap());
    assert!(store.get("c", "b").await.unwrap().is_some());
}

#[tokio::test]
async fn a_file_that_stays_busy_is_reported() {
    let (_folder, file) = file();
    let busy_timeout = Duration::from_millis(300);
    let store = SqliteState::open(&file).busy_timeout(busy_timeout);
    store.write(put("a")).await.unwrap();
    let other = Connection::open(&file).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let start = Instant::now();
    let error = store.write(put("b")).await.unwrap_err();
    assert!(error.to_string().contains("locked"), "{error}");
    let waited = start.elapsed();
    assert!(waited >= busy_timeout, "{waited:?}");
    other.execute_batch("COMMIT").unwrap();
    assert!(store.write(put("b")).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_may_begin_at_once() {
    for old in [false, true] {
        let (_folder, file) = file();
        if old {
            Connection::open(&file).unwrap().execute_batch(FIRST_LAYOUT).unwrap();
        }
        let stores = (0..16).map(|_| SqliteState::open(&file));
        let mut tasks = tokio::task::JoinSet::new();
        for (number, store) in stores.enumerate() {
            tasks.spawn(async move {
                store.prepare().await.unwrap();
                assert!(store.write(put(&format!("new {number}"))).await.unwrap());
            });
        }
        tasks.join_all().await;
        let store = SqliteState::open(&file);
        let there = store.list("c", None, Some("new"), 99).await.unwrap();
        assert_eq!(there.iter().filter(|record| record.key.starts_with("new")).count(), 16);
        assert_eq!(indexes(&file).len(), 2);
    }
}

/// A file system of 1 MiB in memory. If you drop it, it is unmounted.
#[cfg(target_os = "linux")]
struct SmallFileSystem(tempfile::TempDir);

#[cfg(target_os = "linux")]
impl SmallFileSystem {
    /// Mounts the file system. Without root rights, prints that the test is skipped and returns `None`.
    fn mount() -> Option<Self> {
        let folder = tempfile::TempDir::new().unwrap();
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(folder.path());
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        if !mounted {
            eprintln!("skipped: mounting a file system needs root");
            return None;
        }
        Some(Self(folder))
    }
}

#[cfg(target_os = "linux")]
impl Drop for SmallFileSystem {
    fn drop(&mut self) {
        // Unmount lazily, because the threads of the store close the file a little later.
        let _ = std::process::Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_file_system_is_usable_again_once_there_is_room() {
    let Some(system) = SmallFileSystem::mount() else { return };
    let store = SqliteState::open(system.0.path().join("state.db"));
    let change = |number: usize| {
        let record = NewRecord::new("x".repeat(2_000));
        vec![Change::put("c", format!("{}", number % 40), Expected::Any, record)]
    };
    // The records need 100 KB, so changes of them can never fill the file system.
    for number in 0..1_000 {
        assert!(store.write(change(number)).await.unwrap());
    }
    // Another program fills it.
    let others = system.0.path().join("others");
    let _ = std::fs::write(&others, vec![0; 1 << 20]);
    let mut number = 0;
    let error = loop {
        number += 1;
        let large = NewRecord::new("x".repeat(20_000));
        let large = Change::put("c", format!("large-{number}"), Expected::Any, large);
        if let Err(error) = store.write(vec![large]).await {
            break error;
        }
    };
    assert!(error.to_string().contains("free space on its file system"), "{error}");
    assert!(store.get("c", "0").await.unwrap().is_some());
    std::fs::remove_file(&others).unwrap();
    for number in 0..1_000 {
        assert!(store.write(change(number)).await.unwrap());
    }
    for kept in 1..number {
        assert!(store.get("c", &format!("large-{kept}")).await.unwrap().is_some());
    }
}
