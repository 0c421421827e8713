//! Distributes work over several threads if that is faster.

use std::thread::{self, Builder};

/// Number of bytes that justify another thread.
const BYTES_PER_THREAD: usize = 96 * 1024;
/// Maximum number of threads, so that other work has processors left.
const MAX_THREADS: usize = 4;

/// Splits the input into parts, runs `work` on each part, and returns the results in order.
pub(super) fn over<'a, T: Send>(
    texts: &[&'a str],
    work: &(impl Fn(&[&'a str]) -> T + Sync),
) -> Vec<T> {
    let bytes: usize = texts.iter().map(|text| text.len()).sum();
    let processors = thread::available_parallelism().map_or(1, usize::from);
    in_parts(texts, (bytes / BYTES_PER_THREAD).min(processors).min(MAX_THREADS), work)
}

fn in_parts<'a, T: Send>(
    texts: &[&'a str],
    parts: usize,
    work: &(impl Fn(&[&'a str]) -> T + Sync),
) -> Vec<T> {
    let mut parts = texts.chunks(texts.len().div_ceil(parts.max(1)).max(1));
    let Some(first) = parts.next() else { return Vec::new() };
    thread::scope(|scope| {
        let others: Vec<_> = parts
            .map(|part| (part, Builder::new().spawn_scoped(scope, move || work(part)).ok()))
            .collect();
        let mut done = vec![work(first)];
        // Parts without a thread of their own run on the current one.
        done.extend(others.into_iter().map(|(part, thread)| {
            thread.and_then(|thread| thread.join().ok()).unwrap_or_else(|| work(part))
        }));
        done
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_in_their_order() {
        let texts: Vec<String> = (0..23).map(|number| number.to_string()).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        for parts in [0, 1, 2, 4, 23, 100] {
            let done = in_parts(&texts, parts, &|part| part.to_vec());
            assert_eq!(done.concat(), texts, "{parts}");
            assert!(done.len() <= parts.max(1), "{parts}");
        }
        assert!(in_parts(&[], 4, &|part| part.len()).is_empty());
    }

    #[test]
    fn much_text_goes_to_several_threads() {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let much = "x".repeat(BYTES_PER_THREAD);
        let here = thread::current().id();
        let threads = |texts: &[&str]| over(texts, &|_| thread::current().id());
        assert_eq!(threads(&["little"; 100]), [here]);
        assert_eq!(threads(&[much.as_str(); 100]).len(), processors.min(MAX_THREADS));
    }
}
