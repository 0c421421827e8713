//! Everyday words for the same thing, in questions and in the names and descriptions of operations.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use crate::text::Stemmer;

/// Verbs that most names of operations begin with, and the words that people use instead.
const COMMON_VERBS: &[&str] = &[
    "create add new make insert register generate build compose open enter record put",
    "get read show fetch retrieve view lookup load display obtain check",
    "list browse enumerate overview all",
    "search find query lookup look seek discover locate",
    "update change modify edit set adjust correct alter revise replace raise lower increase decrease postpone extend rename move put now",
    "delete remove cancel drop erase clear discard rid throw",
    "execute run start perform launch invoke trigger",
    "send post publish deliver submit share",
    "write save store export append persist output",
];

/// Further verbs. Some nouns are among them because people write `the summary` for `summarize`.
const VERBS: &[&str] = &[
    "rename move relocate transfer",
    "stop end terminate kill halt abort",
    "calculate compute evaluate solve count",
    "convert transform translate turn",
    "merge combine join concatenate unite",
    "split divide separate cut",
    "compare contrast difference diff versus",
    "analyze analysis examine inspect investigate assess evaluate",
    "validate verify check test",
    "download fetch pull",
    "upload push",
    "draw plot paint render visualize",
    "recommend suggest advise recommendation suggestion",
    "plan schedule arrange organize",
    "remind notify alert",
    "approve accept confirm",
    "reject decline refuse deny",
    "assign delegate allocate",
    "connect link attach",
    "enable activate",
    "disable deactivate",
    "restore recover undo revert",
    "summarize summary digest abstract",
    "book reserve booking reservation",
    "buy purchase order",
    "visit navigate browse goto open",
    "choose pick select",
    "copy duplicate clone",
];

/// Nouns and adjectives of computing and business.
const NOUNS: &[&str] = &[
    "picture image photo photograph png jpg jpeg",
    "document doc file text",
    "word docx doc",
    "excel xlsx xls spreadsheet worksheet workbook sheet",
    "powerpoint pptx ppt presentation slide slides deck",
    "markdown md",
    "folder directory",
    "website page url web site webpage link internet html",
    "browser web",
    "price money cost fee quote",
    "customer client",
    "user person people member account",
    "employee staff worker",
    "mail email message",
    "error failure bug issue",
    "task todo ticket reminder",
    "meeting appointment event",
    "trend trending hot popular top",
    "rank ranking top best chart",
    "news headline headlines",
    "stock share equity ticker",
    "finance financial economic economy business",
    "crypto cryptocurrency bitcoin btc coin ethereum",
    "paper article publication preprint study literature research",
    "repository repo git",
    "place location address",
    "coordinate coordinates geocode latitude longitude",
    "route direction directions path way navigation",
    "train railway rail",
    "time clock today now",
    "date day",
    "random chance",
    "disease illness condition",
    "area region district neighborhood",
    "invoice bill",
    "payment pay",
    "contract agreement",
    "note memo",
    "chat conversation message",
    "calendar schedule",
    "job vacancy position",
    "car vehicle",
    "house home property apartment",
    "school university education",
    "phone telephone mobile",
    "log journal",
    "cpu processor",
    "supplier vendor",
    "stock inventory",
    "salary wage pay",
    "holiday vacation leave absence",
    "delivery shipment parcel package",
    "discount coupon voucher",
    "team group",
    "role permission access",
    "deadline due",
    "label tag category",
    "backup snapshot",
    "release version deployment",
    "server host machine",
    "medicine drug medication",
    "doctor physician",
    "restaurant cafe",
    "subscription plan",
    "hotel accommodation",
    "security vulnerability",
    "size length bytes",
    "review rating opinion",
    "flight plane airline",
    "dish recipe meal food cook cooking",
    "weather forecast temperature",
    "currency exchange money",
    "chart graph diagram plot",
    "flowchart diagram",
    "audio sound music song",
    "video movie film clip",
    "comment remark reply",
    "story post",
    "package library dependency",
    "dataset data",
    "table grid",
    "info information details detail",
    "history historical past",
    "shop shopping store product goods",
    "company firm corporation business",
    "database db sql",
    "password secret credential",
    "number figure statistic statistics",
    "wikipedia wiki",
];

/// The verbs that produce something that can be written to a file.
const PRODUCING_VERBS: &str =
    "create export generate make output produce put report save store write";

/// The tables by stems.
struct Synonyms {
    alternatives: HashMap<String, Vec<String>>,
    common_verbs: HashSet<String>,
    verbs: HashSet<String>,
    producing_verbs: HashSet<String>,
}

static SYNONYMS: LazyLock<Synonyms> = LazyLock::new(|| {
    let stemmer = Stemmer::english();
    let stems =
        |row: &str| -> Vec<String> { row.split(' ').map(|word| stemmer.stem(word)).collect() };
    let set =
        |rows: &[&str]| -> HashSet<String> { rows.iter().flat_map(|row| stems(row)).collect() };
    let mut alternatives: HashMap<String, Vec<String>> = HashMap::new();
    for row in COMMON_VERBS.iter().chain(VERBS).chain(NOUNS) {
        let row = stems(row);
        for stem in &row {
            let others = alternatives.entry(stem.clone()).or_default();
            for other in &row {
                if other != stem && !others.contains(other) {
                    others.push(other.clone());
                }
            }
        }
    }
    let common_verbs = set(COMMON_VERBS);
    let verbs = common_verbs.iter().cloned().chain(set(VERBS)).collect();
    Synonyms { alternatives, common_verbs, verbs, producing_verbs: set(&[PRODUCING_VERBS]) }
});

/// Returns the stems of words that mean about the same as the word with a stem.
pub(super) fn synonyms(stem: &str) -> &'static [String] {
    SYNONYMS.alternatives.get(stem).map_or(&[], Vec::as_slice)
}

/// Returns whether a stem is that of a verb that most names begin with.
pub(super) fn is_common_verb(stem: &str) -> bool {
    SYNONYMS.common_verbs.contains(stem)
}

/// Returns whether a stem is that of a verb with synonyms.
pub(super) fn is_verb(stem: &str) -> bool {
    SYNONYMS.verbs.contains(stem)
}

/// Returns whether a stem is that of a verb that produces the content of a file.
pub(super) fn is_producing_verb(stem: &str) -> bool {
    SYNONYMS.producing_verbs.contains(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synonyms_are_mutual_and_each_row_is_one_word_each() {
        let stemmer = Stemmer::english();
        for (one, other) in [
            ("create", "register"),
            ("delete", "cancelled"),
            ("fetch", "reads"),
            ("photos", "image"),
            ("folder", "directories"),
            ("customer", "clients"),
        ] {
            let (one, other) = (stemmer.stem(one), stemmer.stem(other));
            assert!(synonyms(&one).contains(&other), "{one} {other}");
            assert!(synonyms(&other).contains(&one), "{other} {one}");
        }
        for row in COMMON_VERBS.iter().chain(VERBS).chain(NOUNS) {
            let words: Vec<_> = row.split(' ').collect();
            assert!(words.len() > 1 && words.iter().all(|word| !word.is_empty()), "{row}");
        }
        let delete = stemmer.stem("delete");
        assert!(synonyms("ferry").is_empty() && !synonyms(&delete).contains(&delete));
        assert!(is_producing_verb(&stemmer.stem("saved")) && !is_producing_verb("read"));
        assert!(is_verb("merg") && !is_common_verb("merg") && is_common_verb("creat"));
    }
}
