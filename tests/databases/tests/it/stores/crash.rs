//! Tests stores with killed processes, full disks and read-only files.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use mcp_aql::store::{SqliteState, StateStore};
use rusqlite::Connection;

use super::fixture::file;

/// Number of processes to kill. You can override it with the variable `KILLS`.
const KILLS: u64 = 20;
/// Number of processes that write to the same file at once.
const WRITERS: usize = 3;

const PROGRAM: &str = env!("CARGO_BIN_EXE_store_writer");

/// A xorshift random number generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn start(file: &Path, name: &str) -> Child {
    Command::new(PROGRAM)
        .args([file.as_os_str(), name.as_ref()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Counts the acknowledged writes in the output of a process.
fn acknowledged_count(child: &mut Child) -> u64 {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut acknowledged_count = 0;
    for line in lines {
        // The last line may be incomplete.
        if line.unwrap() == acknowledged_count.to_string() {
            acknowledged_count += 1;
        }
    }
    acknowledged_count
}

/// Kills a writer after some time. Returns the number of acknowledged writes.
fn write_until_killed(file: &Path, name: &str, after: Duration) -> u64 {
    let mut child = start(file, name);
    let text = thread::scope(|scope| {
        let output = child.stdout.take().unwrap();
        let reading = scope.spawn(move || {
            let mut text = String::new();
            BufReader::new(output).read_to_string(&mut text).unwrap();
            text
        });
        thread::sleep(after);
        child.kill().unwrap();
        reading.join().unwrap()
    });
    child.wait().unwrap();
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!(errors, "");
    // Ignore an incomplete last line.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let lines: Vec<_> = whole.lines().collect();
    for (number, line) in lines.iter().enumerate() {
        assert_eq!(*line, number.to_string());
    }
    lines.len().try_into().unwrap()
}

/// Checks the integrity of the file. For each name, all acknowledged records must be present, without gaps.
async fn check(file: &Path, acknowledged: &[(String, u64)]) {
    let store = SqliteState::open(file);
    for (name, count) in acknowledged {
        let records = store.list("records", Some(name), None, usize::MAX).await.unwrap();
        let there = u64::try_from(records.len()).unwrap();
        assert!(there >= *count, "{name}: {} of {count} are lost", count - there);
        // One more write may have succeeded without being acknowledged.
        assert!(there <= count + 1, "{name}: {there} of {count}");
        for (number, record) in records.iter().enumerate() {
            assert_eq!(record.key, format!("{name} {number:06}"));
            assert_eq!(record.value.len(), 200 + number % 7 * 300);
        }
        let latest = store.get("latest", name).await.unwrap().map(|record| record.value);
        assert_eq!(latest, there.checked_sub(1).map(|latest| latest.to_string()), "half a write");
    }
    let connection = Connection::open(file).unwrap();
    let sound: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
}

#[tokio::test]
async fn acknowledged_writes_survive_every_kill() {
    let wanted = std::env::var("KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let (mut kills, mut writes, mut checks) = (0_u64, 0_u64, 0);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    // If writes are slow, processes must live longer to succeed at all.
    let mut longer = 1;
    while kills < wanted || (writes < kills && longer < 100) {
        // Start with a new file, so that processes are also killed while they create one.
        let (_folder, file) = file();
        let mut acknowledged = Vec::new();
        for round in 0..6 {
            thread::scope(|scope| {
                let writers: Vec<_> = (0..WRITERS)
                    .map(|writer| {
                        let name = format!("{round}-{writer}");
                        // Kill some processes before they have opened the file.
                        let limit = if random.below(4) == 0 { 15_000 } else { 150_000 };
                        let after = Duration::from_micros(random.below(limit * longer));
                        let file = &file;
                        scope.spawn(move || {
                            let count = write_until_killed(file, &name, after);
                            (name, count)
                        })
                    })
                    .collect();
                for writer in writers {
                    acknowledged.push(writer.join().unwrap());
                }
            });
            kills += WRITERS as u64;
            // In the other rounds, skip the check, so that the next writer must recover the file.
            if round % 2 == 1 {
                check(&file, &acknowledged).await;
                checks += 1;
            }
        }
        check(&file, &acknowledged).await;
        checks += 1;
        writes += acknowledged.iter().map(|(_, count)| count).sum::<u64>();
        if writes < kills {
            longer *= 2;
        }
    }
    eprintln!("{kills} kills, {writes} acknowledged writes, {checks} checks of the file, 0 lost");
    assert!(writes >= kills, "too little was written to lose any of it");
}

#[cfg(unix)]
#[tokio::test]
async fn a_full_disk_is_reported_and_loses_no_acknowledged_write() {
    let (_folder, file) = file();
    // Limit the size of files. This has the same effect. Without the trap, SIGXFSZ would terminate the process.
    let limited = r#"trap "" XFSZ; ulimit -f 2000; exec "$0" "$1" full"#;
    let mut child = Command::new("sh")
        .args(["-c", limited, PROGRAM])
        .arg(&file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let count = acknowledged_count(&mut child);
    assert!(!child.wait().unwrap().success());
    let mut error = String::new();
    child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
    assert!(error.starts_with("the store failed: "), "{error}");
    assert!(error.contains("state.db: "), "{error}");
    assert!(count > 20, "{count}");
    check(&file, &[("full".to_owned(), count)]).await;
}

/// The user may read the file, but not write to it. Root may do both, so the writer then runs as another user.
#[cfg(unix)]
#[tokio::test]
async fn a_read_only_file_is_reported() {
    use std::os::unix::fs::PermissionsExt as _;
    let (folder, file) = file();
    SqliteState::open(&file).prepare().await.unwrap();
    let program = folder.path().join("store_writer");
    std::fs::copy(PROGRAM, &program).unwrap();
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(&file, 0o444);
    mode(&program, 0o755);
    mode(folder.path(), 0o755);
    let root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    let mut command = if root { Command::new("setpriv") } else { Command::new(&program) };
    if root {
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(&program);
    }
    let output = command.arg(&file).arg("reader").output().unwrap();
    assert!(!output.status.success());
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.starts_with("the store failed: "), "{error}");
    assert!(error.contains("state.db: Permission denied"), "{error}");
    assert!(output.stdout.is_empty());
}
