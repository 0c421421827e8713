//! Work on many texts, on several threads where that pays.

use std::thread::{self, Builder};

/// Below so much text, in bytes, another thread costs more than it does.
const FOR_A_THREAD: usize = 96 * 1024;
/// Others want to compute too.
const MOST_THREADS: usize = 4;

/// Does it to all texts, part by part, and gives what comes of the parts in their order.
pub(super) fn over<'a, T: Send>(
    texts: &[&'a str],
    work: &(impl Fn(&[&'a str]) -> T + Sync),
) -> Vec<T> {
    let bytes: usize = texts.iter().map(|text| text.len()).sum();
    let processors = thread::available_parallelism().map_or(1, usize::from);
    in_parts(texts, (bytes / FOR_A_THREAD).min(processors).min(MOST_THREADS), work)
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
        // A part for which the system had no thread is done here.
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
        let much = "x".repeat(FOR_A_THREAD);
        let here = thread::current().id();
        let threads = |texts: &[&str]| over(texts, &|_| thread::current().id());
        assert_eq!(threads(&["little"; 100]), [here]);
        assert_eq!(threads(&[much.as_str(); 100]).len(), processors.min(MOST_THREADS));
    }
}
