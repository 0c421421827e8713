//! Generates seeded random values.

use fastrand::Rng;
use serde_json::{Value, json};

/// The words of titles, descriptions and tags. Some begin alike, and some differ only in case or accents, because the
/// rules of searches depend on that.
pub(crate) const WORDS: [&str; 12] = [
    "report",
    "Report",
    "reports",
    "invoice",
    "plan",
    "planning",
    "red",
    "red-green",
    "a",
    "x1",
    "null",
    "garden",
];

/// Returns a random generator for one test, and the seed to print on failure.
pub(crate) fn generator(test: &str) -> (Rng, u64) {
    let seed: u64 =
        std::env::var("MODEL_SEED").map_or(20_261_123, |seed| seed.parse().expect("a number"));
    // Mix the name in, so that each test draws other values.
    let own = test.bytes().fold(seed, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    (Rng::with_seed(own), seed)
}

/// Returns one of the elements.
pub(crate) fn one<'a, T>(random: &mut Rng, all: &'a [T]) -> &'a T {
    &all[random.usize(..all.len())]
}

/// Returns `true` with a probability of `percent`.
pub(crate) fn chance(random: &mut Rng, percent: u8) -> bool {
    random.u8(..100) < percent
}

/// Returns one to three words.
pub(crate) fn text(random: &mut Rng) -> String {
    let count = random.usize(1..=3);
    let words: Vec<_> = (0..count).map(|_| *one(random, &WORDS)).collect();
    words.join(" ")
}

/// Returns a day from a small range, so that equal days occur.
pub(crate) fn day(random: &mut Rng) -> String {
    format!("20{}-0{}-1{}", random.u8(19..33), random.u8(5..7), random.u8(..3))
}

/// Returns JSON of any type, at most `depth` levels deep.
pub(crate) fn json(random: &mut Rng, depth: usize) -> Value {
    let forms = if depth == 0 { 5 } else { 7 };
    match random.usize(..forms) {
        0 => Value::Null,
        1 => json!(random.bool()),
        2 => json!(random.i64(-5..5)),
        3 => json!(f64::from(random.i32(-8..8)) / 4.0),
        4 => json!(text(random)),
        5 => (0..random.usize(..3)).map(|_| json(random, depth - 1)).collect(),
        _ => object(random, depth - 1),
    }
}

/// Returns a JSON object with few possible names, so that two objects often share some.
pub(crate) fn object(random: &mut Rng, depth: usize) -> Value {
    let count = random.usize(..4);
    let member = |_| ((*one(random, &["a", "b", "c", "d"])).to_owned(), json(random, depth));
    Value::Object((0..count).map(member).collect())
}
