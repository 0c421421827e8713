//! The contract of every store. Each test has its own storage and can open it several times.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use mcp_aql::store::{
    Change, Expected, MAX_KEY_BYTES, MAX_NAME_BYTES, NewRecord, StateRecord, StateStore,
};
use tokio::task::JoinSet;

pub(crate) use super::executions::results_stay_within_their_budget;
use super::fixture::StoreFixture;

fn put(key: &str, expected: Expected, value: impl Into<String>) -> Change {
    Change::put("c", key, expected, NewRecord::new(value))
}

async fn get(store: &dyn StateStore, key: &str) -> Option<StateRecord> {
    store.get("c", key).await.unwrap()
}

async fn version(store: &dyn StateStore, key: &str) -> Expected {
    Expected::Version(get(store, key).await.unwrap().version)
}

fn keys(records: &[StateRecord]) -> Vec<&str> {
    records.iter().map(|record| &*record.key).collect()
}

/// Makes these writes concurrently. Returns the number of acknowledged ones.
async fn acknowledged(writes: Vec<(Arc<dyn StateStore>, Vec<Change>)>) -> usize {
    let mut tasks = JoinSet::new();
    for (store, changes) in writes {
        tasks.spawn(async move { store.write(changes).await.unwrap() });
    }
    tasks.join_all().await.into_iter().filter(|made| *made).count()
}

pub(crate) async fn all_changes_are_made_or_none(fixture: &StoreFixture) {
    let store = fixture.store();
    store.prepare().await.unwrap();
    assert!(store.write(Vec::new()).await.unwrap());
    assert!(store.write(vec![put("1", Expected::Absent, "1")]).await.unwrap());
    let first = get(&*store, "1").await.unwrap();

    // One of the two changes is rejected. The order must not matter.
    for (free, taken) in [("0", "1"), ("2", "1")] {
        let both = vec![put(free, Expected::Absent, "0"), put(taken, Expected::Absent, "0")];
        assert!(!store.write(both).await.unwrap());
        assert_eq!(get(&*store, free).await, None);
    }
    let remove = vec![
        Change::remove("c", "1", Expected::Any),
        Change::remove("c", "2", Expected::Version(1)),
    ];
    assert!(!store.write(remove).await.unwrap());
    assert_eq!(get(&*store, "1").await, Some(first));

    let twice = vec![put("3", Expected::Any, "1"), put("3", Expected::Any, "2")];
    store.write(twice).await.unwrap_err();
    assert_eq!(get(&*store, "3").await, None);

    // The same key in another collection is another record.
    let elsewhere = Change::put("d", "1", Expected::Absent, NewRecord::new("2"));
    let both = vec![elsewhere, Change::remove("c", "1", version(&*store, "1").await)];
    assert!(store.write(both).await.unwrap());
    let seen = fixture.store();
    assert_eq!(get(&*seen, "1").await, None);
    assert_eq!(seen.get("d", "1").await.unwrap().unwrap().value, "2");
}

pub(crate) async fn readers_see_no_partial_write(fixture: &StoreFixture) {
    let store = fixture.store();
    let both = |value: u32| {
        let change = |key| put(key, Expected::Any, value.to_string());
        vec![change("left"), change("right")]
    };
    store.write(both(0)).await.unwrap();
    let reader = fixture.store();
    let states = Arc::new(AtomicUsize::new(0));
    let (seen, last) = (Arc::clone(&states), u32::MAX.to_string());
    let reading = tokio::spawn(async move {
        let mut values = BTreeSet::new();
        loop {
            let records = reader.list("c", None, None, 2).await.unwrap();
            assert_eq!(records[0].value, records[1].value);
            values.insert(records[0].value.clone());
            seen.store(values.len(), Ordering::Relaxed);
            if records[0].value == last {
                return;
            }
        }
    });
    for value in 1.. {
        store.write(both(value)).await.unwrap();
        if value % 10 == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // Continue until the reader has run as well.
        if value >= 200 && (states.load(Ordering::Relaxed) > 2 || reading.is_finished()) {
            break;
        }
    }
    store.write(both(u32::MAX)).await.unwrap();
    reading.await.unwrap();
}

pub(crate) async fn expectations_decide_about_writes(fixture: &StoreFixture) {
    let store = fixture.store();
    let write = async |change: Change| store.write(vec![change]).await.unwrap();
    let remove = |expected| Change::remove("c", "1", expected);

    assert!(!write(put("1", Expected::Version(1), "1")).await);
    assert!(!write(put("1", Expected::Version(u64::MAX), "1")).await);
    assert!(!write(remove(Expected::Version(1))).await);
    // The record is expected to be absent, and it is.
    assert!(write(remove(Expected::Absent)).await);
    assert!(write(remove(Expected::Any)).await);
    assert_eq!(get(&*store, "1").await, None);

    assert!(write(put("1", Expected::Any, "1")).await);
    let first = version(&*store, "1").await;
    assert!(!write(put("1", Expected::Absent, "2")).await);
    assert!(!write(remove(Expected::Absent)).await);
    assert!(write(put("1", Expected::Any, "3")).await);
    assert!(!write(put("1", first, "4")).await);
    assert!(!write(remove(first)).await);
    assert_eq!(get(&*store, "1").await.unwrap().value, "3");
    assert!(write(put("1", version(&*store, "1").await, "5")).await);
    assert_eq!(get(&*store, "1").await.unwrap().value, "5");
    assert!(write(remove(version(&*store, "1").await)).await);
    assert_eq!(get(&*store, "1").await, None);
}

pub(crate) async fn one_of_many_claims_wins(fixture: &StoreFixture) {
    let stores = [fixture.store(), fixture.store()];
    let claims = |change: &dyn Fn(usize) -> Change| {
        let claim = |number: usize| (Arc::clone(&stores[number % 2]), vec![change(number)]);
        (0..64).map(claim).collect::<Vec<_>>()
    };
    for round in 0..4 {
        let key = format!("seat {round}");
        let claimed =
            acknowledged(claims(&|number| put(&key, Expected::Absent, number.to_string()))).await;
        assert_eq!(claimed, 1);
        let there = version(&*stores[0], &key).await;
        let changed = acknowledged(claims(&|number| put(&key, there, number.to_string()))).await;
        assert_eq!(changed, 1);
        let there = version(&*stores[1], &key).await;
        let removed = acknowledged(claims(&|_| Change::remove("c", &key, there))).await;
        assert_eq!(removed, 1);
    }
    // A change can depend on a condition on another record: of two writers, each takes its seat only if the other is
    // free.
    for round in 0..32 {
        let seats = [format!("left {round}"), format!("right {round}")];
        let writes = (0..8).map(|number| {
            let (own, other) = (&seats[number % 2], &seats[(number + 1) % 2]);
            let free = Change::remove("c", other, Expected::Absent);
            let claim = put(own, Expected::Absent, number.to_string());
            (Arc::clone(&stores[number / 2 % 2]), vec![free, claim])
        });
        assert_eq!(acknowledged(writes.collect()).await, 1);
        let mut taken = 0;
        for seat in &seats {
            taken += usize::from(get(&*stores[0], seat).await.is_some());
        }
        assert_eq!(taken, 1);
    }
}

pub(crate) async fn no_count_is_lost(fixture: &StoreFixture) {
    const TASKS: usize = 16;
    const EACH: usize = 12;
    let stores = [fixture.store(), fixture.store()];
    stores[0].write(vec![put("count", Expected::Absent, "0")]).await.unwrap();
    let mut tasks = JoinSet::new();
    for number in 0..TASKS {
        let store = Arc::clone(&stores[number % 2]);
        tasks.spawn(async move {
            let mut done = 0;
            while done < EACH {
                let found = get(&*store, "count").await.unwrap();
                let next = found.value.parse::<usize>().unwrap() + 1;
                let version = Expected::Version(found.version);
                let change = put("count", version, next.to_string());
                done += usize::from(store.write(vec![change]).await.unwrap());
            }
        });
    }
    tasks.join_all().await;
    let count = get(&*stores[1], "count").await.unwrap();
    assert_eq!(count.value, (TASKS * EACH).to_string());
}

pub(crate) async fn writers_in_any_order_get_through(fixture: &StoreFixture) {
    let stores = [fixture.store(), fixture.store()];
    let mut writes = Vec::new();
    for number in 0..64_usize {
        let mut changes: Vec<_> = (0..6)
            .map(|key| match number % 3 {
                0 => Change::remove("c", key.to_string(), Expected::Any),
                _ => put(&key.to_string(), Expected::Any, number.to_string()),
            })
            .collect();
        changes.rotate_left(number % 6);
        if number % 2 == 0 {
            changes.reverse();
        }
        writes.push((Arc::clone(&stores[number % 2]), changes));
    }
    assert_eq!(acknowledged(writes).await, 64);
    let left = stores[0].list("c", None, None, 9).await.unwrap();
    assert!(left.iter().all(|record| record.value == left[0].value), "{left:?}");
}

pub(crate) async fn versions_are_unique(fixture: &StoreFixture) {
    let stores = [fixture.store(), fixture.store()];
    let mut seen = BTreeSet::new();
    let mut previous = Expected::Absent;
    for round in 0..6 {
        let store = &stores[round % 2];
        assert!(store.write(vec![put("1", previous, "0")]).await.unwrap());
        let first = get(&**store, "1").await.unwrap().version;
        assert!(store.write(vec![put("1", Expected::Version(first), "1")]).await.unwrap());
        let second = get(&**store, "1").await.unwrap().version;
        for version in [first, second] {
            assert!(seen.insert(version), "{version} was given before: {seen:?}");
        }
        if round % 2 == 1 {
            previous = Expected::Version(second);
            continue;
        }
        previous = Expected::Absent;
        assert!(store.write(vec![Change::remove("c", "1", Expected::Any)]).await.unwrap());
        // A failed write in between must not affect versions.
        assert!(!store.write(vec![put("1", Expected::Version(second), "2")]).await.unwrap());
        for old in &seen {
            let change = put("1", Expected::Version(*old), "3");
            assert!(!store.write(vec![change]).await.unwrap());
        }
    }
}

pub(crate) async fn groups_are_listed_in_pages(fixture: &StoreFixture) {
    let store = fixture.store();
    let record =
        |group: Option<&str>| NewRecord { group: group.map(str::to_owned), ..NewRecord::new("0") };
    for number in 0..30 {
        let group = [Some("x"), Some("y"), None][number % 3];
        let key = format!("{number:02}");
        let change = Change::put("c", key, Expected::Absent, record(group));
        assert!(store.write(vec![change]).await.unwrap());
    }
    let elsewhere = Change::put("d", "00", Expected::Absent, record(Some("x")));
    store.write(vec![elsewhere]).await.unwrap();

    let mut walked: Vec<StateRecord> = Vec::new();
    loop {
        let after = walked.last().map(|record| record.key.clone());
        let page = store.list("c", Some("x"), after.as_deref(), 3).await.unwrap();
        assert!(page.iter().all(|record| record.group.as_deref() == Some("x")));
        let ends = page.len() < 3;
        walked.extend(page);
        if ends {
            break;
        }
    }
    assert_eq!(keys(&walked), ["00", "03", "06", "09", "12", "15", "18", "21", "24", "27"]);

    let all = store.list("c", None, None, usize::MAX).await.unwrap();
    assert_eq!(all.len(), 30);
    assert!(all.is_sorted_by_key(|record| record.key.clone()));
    assert_eq!(keys(&store.list("c", None, Some("27"), 9).await.unwrap()), ["28", "29"]);
    // The position may be a key that does not exist, and the result may be empty.
    assert_eq!(keys(&store.list("c", None, Some("27x"), 1).await.unwrap()), ["28"]);
    assert!(store.list("c", None, None, 0).await.unwrap().is_empty());
    assert!(store.list("c", Some("z"), None, 9).await.unwrap().is_empty());
    assert!(store.list("c", Some(""), None, 9).await.unwrap().is_empty());
    assert!(store.list("e", None, None, 9).await.unwrap().is_empty());

    // An update may move a record to another group.
    for (key, group) in [("00", Some("y")), ("03", None), ("02", Some("x"))] {
        let change = Change::put("c", key, Expected::Any, record(group));
        assert!(store.write(vec![change]).await.unwrap());
    }
    assert_eq!(keys(&store.list("c", Some("x"), None, 2).await.unwrap()), ["02", "06"]);
    assert_eq!(keys(&store.list("c", Some("y"), None, 2).await.unwrap()), ["00", "01"]);
}

pub(crate) async fn keys_are_ordered_by_their_bytes(fixture: &StoreFixture) {
    let store = fixture.store();
    let mut names = [
        "",
        "\0",
        "\0\0",
        "\0\u{1}",
        "\u{1}",
        "\u{1}\0",
        "\u{2}",
        " ",
        "%",
        "-",
        "A",
        "B",
        "Z",
        "_",
        "a",
        "aa",
        "a\0",
        "a\u{1}",
        "a a",
        "b",
        "z",
        "ä",
        "Ä",
        "é",
        "e\u{301}",
        "ß",
        "\u{fffd}",
        "\u{ffff}",
        "😀",
        "\u{10ffff}",
        "'",
        "\"",
        "\\",
        "\\0",
        "$1",
        "?",
        "1",
        "10",
        "9",
    ];
    let changes = names.iter().map(|name| put(name, Expected::Absent, "0")).collect();
    assert!(store.write(changes).await.unwrap());
    names.sort_unstable();
    let all = store.list("c", None, None, 99).await.unwrap();
    assert_eq!(keys(&all), names);
    for (place, name) in names.iter().enumerate() {
        let behind = store.list("c", None, Some(name), 99).await.unwrap();
        assert_eq!(keys(&behind), names[place + 1..], "behind {name:?}");
        assert_eq!(get(&*store, name).await.unwrap().key, *name);
    }
}

pub(crate) async fn any_text_is_kept(fixture: &StoreFixture) {
    let store = fixture.store();
    let expires_at = DateTime::from_timestamp_micros(1_900_000_000_123_456).unwrap();
    let texts = [
        String::new(),
        "\0".to_owned(),
        "\u{1}\u{1}\u{1}\u{2}\0".to_owned(),
        "'); DROP TABLE record; --".to_owned(),
        r#"{"a": "\u0000 \ud83d\ude00", "b": 1e400}"#.to_owned(),
        "😀".repeat(60),
        "ä\u{301}\u{202e}\u{feff}".to_owned(),
    ];
    for text in &texts {
        let record = NewRecord::new(text).group(text).expires_at(expires_at);
        let change = Change::put(text, text, Expected::Absent, record);
        assert!(store.write(vec![change]).await.unwrap(), "{text:?}");
        let found = fixture.store().get(text, text).await.unwrap().unwrap();
        assert_eq!((&found.key, &found.value), (text, text));
        assert_eq!((found.group.as_ref(), found.expires_at), (Some(text), Some(expires_at)));
        let listed = store.list(text, Some(text), None, 9).await.unwrap();
        assert_eq!(listed, [found]);
    }
    // Use a mebibyte that cannot be compressed, and names of the maximum length.
    let mut noise = 1_u64;
    let value: String = std::iter::repeat_with(|| {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b' ' + u8::try_from(noise >> 58).unwrap())
    })
    .take(1 << 20)
    .collect();
    for unit in ["k", "\0"] {
        let (key, name) = (unit.repeat(MAX_KEY_BYTES), unit.repeat(MAX_NAME_BYTES));
        let record = NewRecord::new(&value).group(&name);
        assert!(
            store.write(vec![Change::put(&name, &key, Expected::Absent, record)]).await.unwrap()
        );
        let listed = store.list(&name, Some(&name), None, 9).await.unwrap();
        assert_eq!(listed.len(), 1);
        assert!(listed[0].value == value && listed[0].key == key);
    }
    for at in [DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC] {
        let record = NewRecord::new("0").expires_at(at);
        store.write(vec![Change::put("c", "at", Expected::Any, record)]).await.unwrap();
        let found = get(&*store, "at").await.unwrap().expires_at.unwrap();
        assert_eq!(found.timestamp_micros(), at.timestamp_micros());
    }
}

pub(crate) async fn names_that_are_too_long_are_refused(fixture: &StoreFixture) {
    let store = fixture.store();
    let (key, name) = ("k".repeat(MAX_KEY_BYTES + 1), "n".repeat(MAX_NAME_BYTES + 1));
    let record = || NewRecord::new("0");
    for change in [
        Change::put("c", &key, Expected::Any, record()),
        Change::put(&name, "k", Expected::Any, record()),
        Change::put("c", "k", Expected::Any, record().group(&name)),
        Change::remove("c", &key, Expected::Any),
    ] {
        let error = store.write(vec![put("0", Expected::Any, "0"), change]).await.unwrap_err();
        assert!(error.to_string().contains("bytes: at most"), "{error}");
    }
    assert_eq!(get(&*store, "0").await, None);
    // Reading such names is no error. The records just do not exist.
    assert_eq!(store.get(&name, &key).await.unwrap(), None);
    assert!(store.list(&name, Some(&name), Some(&key), 9).await.unwrap().is_empty());
}

pub(crate) async fn what_has_expired_is_forgotten(fixture: &StoreFixture) {
    // REQ-TOK-13
    let store = fixture.store();
    let now = DateTime::from_timestamp_micros(1_900_000_000_000_000).unwrap();
    let at =
        |nanoseconds| NewRecord::new("0").expires_at(now + TimeDelta::nanoseconds(nanoseconds));
    // Use more records than a purge deletes at once.
    for hundred in 0..25 {
        let changes = (0..100).map(|number| {
            let key = format!("{}", hundred * 100 + number);
            Change::put("old", key, Expected::Absent, at(-1_000_000))
        });
        assert!(store.write(changes.collect()).await.unwrap());
    }
    let kept =
        [("just", at(-1_000)), ("now", at(0)), ("hair", at(999)), ("never", NewRecord::new("0"))];
    let kept = kept.map(|(key, record)| Change::put("c", key, Expected::Absent, record));
    assert!(store.write(kept.to_vec()).await.unwrap());
    assert_eq!(get(&*store, "hair").await.unwrap().expires_at, Some(now));
    // An expired record exists until it is purged.
    assert!(store.get("old", "7").await.unwrap().is_some());

    assert_eq!(store.purge(now + TimeDelta::nanoseconds(500)).await.unwrap(), 2_501);
    assert!(store.list("old", None, None, 1).await.unwrap().is_empty());
    assert_eq!(keys(&store.list("c", None, None, 9).await.unwrap()), ["hair", "never", "now"]);
    assert_eq!(store.purge(now).await.unwrap(), 0);
    assert_eq!(store.purge(DateTime::<Utc>::MAX_UTC).await.unwrap(), 2);
    assert_eq!(keys(&store.list("c", None, None, 9).await.unwrap()), ["never"]);
}

pub(crate) async fn renewed_records_outlive_a_purge(fixture: &StoreFixture) {
    let now = Utc::now();
    let records = |at: DateTime<Utc>| -> Vec<Change> {
        let record = || NewRecord::new("0").expires_at(at);
        (0..50).map(|key| Change::put("c", key.to_string(), Expected::Any, record())).collect()
    };
    let stores = [fixture.store(), fixture.store()];
    stores[0].write(records(now + TimeDelta::hours(1))).await.unwrap();
    let purging = tokio::spawn({
        let store = Arc::clone(&stores[1]);
        async move {
            let mut purged = 0;
            for _ in 0..60 {
                purged += store.purge(now).await.unwrap();
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            purged
        }
    });
    // A purge may run between the expiry of the records and their renewal by another write.
    for _ in 0..20 {
        stores[0].write(records(now - TimeDelta::hours(1))).await.unwrap();
        stores[0].write(records(now + TimeDelta::hours(1))).await.unwrap();
        let there = stores[0].list("c", None, None, 99).await.unwrap();
        assert_eq!(there.len(), 50, "a renewed record was purged");
    }
    purging.await.unwrap();
}

pub(crate) async fn dropped_writes_are_complete_or_absent(fixture: &StoreFixture) {
    let store = fixture.store();
    store.prepare().await.unwrap();
    for number in 0..40_u64 {
        let changes = vec![
            put(&format!("{number} left"), Expected::Absent, "1"),
            put(&format!("{number} right"), Expected::Absent, "1"),
        ];
        let limit = Duration::from_micros(number * 50);
        let _ = tokio::time::timeout(limit, store.write(changes)).await;
    }
    // Later callers must get working connections.
    assert!(store.write(vec![put("next", Expected::Absent, "1")]).await.unwrap());
    tokio::time::sleep(Duration::from_millis(50)).await;
    let all = store.list("c", None, None, 99).await.unwrap();
    let halves = all.iter().filter_map(|record| record.key.split_once(' '));
    let mut sides = std::collections::BTreeMap::<_, usize>::new();
    for (number, _) in halves {
        *sides.entry(number).or_default() += 1;
    }
    assert!(sides.values().all(|count| *count == 2), "{sides:?}");
}
