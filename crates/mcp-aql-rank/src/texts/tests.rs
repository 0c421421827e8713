//! Properties of every ranking.

use proptest::prelude::*;

use super::*;

/// Returns a result of a server with a single call.
fn of<'a>(server: usize, position: usize, content: &'a str) -> Candidate<'a> {
    Candidate { server, call: 0, position, content }
}

fn servers<'a>(texts: &[&'a str]) -> Vec<Candidate<'a>> {
    texts.iter().enumerate().map(|(server, content)| of(server, 0, content)).collect()
}

/// Returns the hits without the indices that depend on the order of arrival.
fn told(candidates: &[Candidate<'_>], ranked: &Ranked) -> String {
    let name = |place: &usize| {
        let it = &candidates[*place];
        (it.server, it.call, it.position, it.content)
    };
    let hits = ranked.hits.iter().map(|hit| {
        let also: Vec<_> = hit.also.iter().map(name).collect();
        format!("{:?} {} {also:?}", name(&hit.candidate), hit.score)
    });
    format!("{} {:?}", ranked.distinct, hits.collect::<Vec<_>>())
}

/// Generates strings that share words, are duplicates of each other, and have characters of all
/// scripts.
fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        8 => prop::sample::select(vec![
            "ferry", "Ferries", "booking", "refund", "getRefund", "the", "of", "HTTPServer", "snake_case",
            "cancelled", "cancel", "数据库", "予約する", "größe", "ёлка", "\n", "---", "**",
        ]).prop_map(str::to_owned),
        1 => "\\PC{1,12}",
        1 => "(?s:.{1,4})",
    ];
    prop::collection::vec(word, 0..60).prop_map(|words| words.join(" "))
}

/// Generates results of three servers with two calls each. Some strings occur twice.
fn results() -> impl Strategy<Value = Vec<(usize, usize, usize, String)>> {
    (
        prop::collection::vec(text(), 1..6),
        prop::collection::vec((0..3_usize, 0..2_usize, any::<prop::sample::Index>()), 0..24),
    )
        .prop_map(|(texts, places)| {
            let places = places.into_iter().enumerate();
            places
                .map(|(at, (server, call, text))| (server, call, at, text.get(&texts).clone()))
                .collect()
        })
}

fn options() -> impl Strategy<Value = RankOptions> {
    let weights = prop::collection::vec(prop_oneof![0.0..4.0, any::<f64>()], 0..4);
    let mmr = prop::option::of(prop_oneof![4 => 0.0..1.0, 1 => any::<f64>()]);
    (0..40_usize, weights, prop::option::of(0..5_usize), mmr).prop_map(
        |(max_results, weights, max_per_server, mmr)| RankOptions {
            max_results,
            weights,
            max_per_server,
            mmr,
        },
    )
}

proptest! {
    #[test]
    fn arbitrary_results_are_ranked(
        query in prop_oneof![text(), any::<String>()],
        results in results(),
        options in options(),
    ) {
        let candidates: Vec<_> = results
            .iter()
            .map(|(server, call, position, content)| {
                Candidate { server: *server, call: *call, position: *position, content }
            })
            .collect();
        let ranked = rank(&query, &candidates, &options);
        prop_assert!(ranked.hits.len() <= options.max_results);
        prop_assert!(ranked.distinct <= candidates.len());
        let mut seen = vec![0; candidates.len()];
        for hit in &ranked.hits {
            prop_assert!((0.0..1.0).contains(&hit.score), "{}", hit.score);
            for place in hit.also.iter().chain([&hit.candidate]) {
                seen[*place] += 1;
            }
        }
        prop_assert!(seen.iter().all(|times| *times <= 1), "no candidate comes twice: {seen:?}");
        if options.mmr.is_none() {
            prop_assert!(ranked.hits.is_sorted_by(|one, other| one.score >= other.score));
        }
        if let Some(most) = options.max_per_server {
            for server in 0..3 {
                let hits = ranked.hits.iter().filter(|hit| candidates[hit.candidate].server == server);
                prop_assert!(hits.count() <= most);
            }
        }
        if options.max_per_server.is_none() && options.max_results >= candidates.len() {
            let terms = Terms::of(&query);
            let pool = Pool::read(&terms, &candidates, &options);
            let is_told = |document: &&document::Document<'_>| seen[document.candidate] == 1;
            let (told, others): (Vec<_>, Vec<_>) = pool.documents.iter().partition(is_told);
            let has_word = |document: &&document::Document<'_>| !pool.matches(document).is_empty();
            prop_assert!(others.is_empty() || told.iter().any(has_word));
            prop_assert!(!others.iter().any(has_word), "what has a word of the query is told");
            prop_assert!(others.iter().all(|document| document.position >= 3));
            prop_assert!(!others.is_empty() || ranked.hits.len() == ranked.distinct);
        }
        // REQ-AGR-11
        let mut turned = candidates.clone();
        turned.reverse();
        prop_assert_eq!(told(&candidates, &ranked), told(&turned, &rank(&query, &turned, &options)));
    }
}

#[test]
fn the_order_of_arrival_never_matters() {
    // REQ-AGR-11
    let words =
        ["ferry", "harbour", "booking", "refund", "cancelled", "seat", "captain", "weather"];
    let mut state = 7_u64;
    let mut random = move |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut texts: Vec<String> = (0..30)
        .map(|_| (0..40).map(|_| words[random(words.len())]).collect::<Vec<_>>().join(" "))
        .collect();
    // Duplicates, partial duplicates, and results with equal scores.
    for at in 0..10 {
        texts.push(texts[at].to_uppercase());
        texts.push(format!("{} and that is all", texts[at]));
        texts.push(words[at % words.len()].to_owned());
    }
    let mut candidates: Vec<_> =
        texts.iter().enumerate().map(|(at, text)| of(at % 10, at / 10, text)).collect();
    let varied = RankOptions::default().mmr(0.7).max_per_server(4);
    for (options, orders) in [(RankOptions::default(), 1_000), (varied, 200)] {
        let first = told(&candidates, &rank("refund of a cancelled ferry", &candidates, &options));
        for _ in 0..orders {
            for at in (1..candidates.len()).rev() {
                candidates.swap(at, random(at + 1));
            }
            let again = rank("refund of a cancelled ferry", &candidates, &options);
            assert_eq!(told(&candidates, &again), first);
        }
    }
}

#[test]
fn the_relevant_text_ranks_first_in_any_language() {
    let texts = [
        "How to configure the connection pool of the database, and what happens when it is full.",
        "Опишите настройку пула соединений с базой данных.",
        "如何配置数据库连接池，以及连接池已满时会发生什么。",
        "データベースの接続プールを設定する方法を説明します。",
        "데이터베이스 연결 풀을 설정하는 방법을 설명합니다.",
        "วิธีตั้งค่าการเชื่อมต่อฐานข้อมูล",
        "كيفية إعداد تجمع الاتصالات بقاعدة البيانات",
        "डेटाबेस कनेक्शन पूल को कैसे कॉन्फ़िगर करें",
        "So stellt man die Größe des Verbindungspools ein.",
        "Πώς ρυθμίζεται η ομάδα συνδέσεων της βάσης δεδομένων.",
        "Cấu hình nhóm kết nối cơ sở dữ liệu như thế nào.",
        "כיצד להגדיר את מאגר החיבורים של מסד הנתונים",
    ];
    let candidates = servers(&texts);
    for (query, expected) in [
        ("database connection pools", 0),
        ("НАСТРОЙКУ соединений", 1),
        ("数据库连接池", 2),
        ("接続プール", 3),
        ("연결 풀", 4),
        ("ฐานข้อมูล", 5),
        ("قاعدة البيانات", 6),
        ("कनेक्शन पूल", 7),
        ("grösse verbindungspools", 8),
        ("ΟΜΑΔΑ ΣΥΝΔΕΣΕΩΝ", 9),
        ("cau hinh co so du lieu", 10),
        ("מסד הנתונים", 11),
    ] {
        let ranked = rank(query, &candidates, &RankOptions::default());
        let [first, second, ..] = ranked.hits.as_slice() else { panic!("{query}") };
        assert_eq!(first.candidate, expected, "{query}");
        assert!(first.score > second.score, "{query}: {} {}", first.score, second.score);
    }
}

#[test]
fn a_weak_answer_scores_low() {
    let texts = ["The ferry leaves at noon from the old pier.", "Cats sleep most of the day."];
    let score = |query| rank(query, &servers(&texts), &RankOptions::default()).hits[0].score;
    let (good, weak, none) =
        (score("ferry pier noon"), score("ferry to Mars tomorrow"), score("quarks"));
    assert!(good > 2.0 * weak && weak > 0.0, "{good} {weak}");
    assert!(weak > 2.0 * none && none > 0.0, "{weak} {none}");
    let nothing = RankOptions::default().weights(vec![0.0; 2]);
    let hits = rank("quarks", &servers(&texts), &nothing).hits;
    assert!(
        hits.iter().all(|hit| hit.score.to_bits() == 0),
        "-0.0 is written with its sign: {hits:?}"
    );
}

#[test]
fn only_the_first_results_without_a_query_word_are_returned() {
    let mut texts = vec!["a car is red", "a car", "of cars and other things"];
    let first = texts.len();
    let other: Vec<String> = (0..40).map(|number| format!("commit {number}, by hand")).collect();
    texts.extend(["automobile coverage plans compared in full", "policies for automobiles"]);
    texts.extend(other.iter().map(String::as_str));
    let candidates: Vec<_> = texts
        .iter()
        .enumerate()
        .map(|(at, text)| {
            let (server, position) = if at < first { (0, at) } else { (1, at - first) };
            of(server, position, text)
        })
        .collect();
    let hits = |query, options: RankOptions| -> Vec<usize> {
        rank(query, &candidates, &options).hits.iter().map(|hit| hit.candidate).collect()
    };
    // The first three, after the results with query words.
    assert_eq!(hits("car insurance", RankOptions::default()), [1, 0, 2, 3, 4, 5]);
    // Weights apply to these results too.
    let weighty = RankOptions::default().weights(vec![1.0, 100.0]);
    assert_eq!(hits("car insurance", weighty), [3, 4, 5, 1, 0, 2]);
    // If no result has a query word, only the servers' orders count.
    let all = hits("quarks", RankOptions::default());
    assert_eq!((all.len(), &all[..4]), (30, &[0, 3, 1, 4][..]));
}

#[test]
fn a_single_result_is_scored_by_its_text() {
    let text = "ferry refund policy in one paragraph";
    let other = "ferry refund policy in one sentence";
    let candidates = [
        of(0, 0, text),
        of(1, 0, other),
        of(1, 1, "the ferry leaves"),
        of(1, 2, "lunch"),
        of(2, 0, "ferry of one port"),
        of(2, 1, "ferry refund policy in one letter"),
    ];
    let ranked = rank("ferry refund policy", &candidates, &RankOptions::default());
    let score = |candidate| {
        ranked.hits.iter().find(|hit| hit.candidate == candidate).map(|hit| hit.score).unwrap()
    };
    let (alone, ordered, disordered) = (score(0), score(1), score(5));
    assert!(alone > 0.9 * ordered && ordered > alone, "{alone} {ordered}");
    assert!(disordered < alone, "{disordered} {alone}");
}

#[test]
fn weights_change_the_odds() {
    let texts = ["a ferry at night, and much more than that", "ferry ferry"];
    let first = |weights: &[f64]| {
        let options = RankOptions::default().weights(weights.to_vec());
        rank("ferry", &servers(&texts), &options).hits[0].candidate
    };
    assert_eq!(first(&[]), 1);
    assert_eq!(first(&[8.0]), 0);
    assert_eq!(first(&[1.0, 0.0]), 0);
    assert_eq!(first(&[f64::NAN, f64::INFINITY]), 1);
    let most = RankOptions::default().weights(vec![f64::MAX; 2]);
    assert!(rank("ferry", &servers(&texts), &most).hits.iter().all(|hit| hit.score < 1.0));
}

#[test]
fn diversity_can_be_requested() {
    let texts = [
        "refund a booking: the refund of a booking is paid back within seven days to the card",
        "refund a booking: the refund of the booking is paid back after seven days to that card, mostly",
        "booking a seat for a dog on the upper deck in summer",
    ];
    let candidates: Vec<_> =
        texts.iter().enumerate().map(|(at, text)| of(at / 2, at, text)).collect();
    let order = |options: RankOptions| -> Vec<usize> {
        rank("refund booking", &candidates, &options).hits.iter().map(|hit| hit.candidate).collect()
    };
    assert_eq!(order(RankOptions::default()), [0, 1, 2]);
    assert_eq!(order(RankOptions::default().mmr(0.3)), [0, 2, 1]);
    assert_eq!(order(RankOptions::default().mmr(1.0)), [0, 1, 2]);
    assert_eq!(order(RankOptions::default().max_per_server(1)), [0, 2]);
    assert_eq!(order(RankOptions::default().max_results(1)), [0]);
}

const LONG: &str = "The night job refunds every booking on a cancelled sailing. It opens one \
    transaction for each booking, asks the bank, writes what the bank has said, and closes the \
    transaction whatever the answer was. A refusal is kept with its reason and tried again on the \
    next night, three times at most; then the ticket desk gets a task with the name of the guest \
    and the amount that is owed, and calls the bank by telephone in the morning.";

#[test]
fn copies_are_joined_and_similar_texts_are_not() {
    let changed = LONG.replace("one transaction", "a transaction").replace("three times", "twice");
    let half: String = LONG.split_inclusive(' ').take(40).collect();
    let record = |number: usize, place: &str| {
        format!(
            "name: sailing {number}\nstate: planned\nport: {place}\nship: Aurora\ncaptain: Lind\nseats: 300\n\
                 deck: upper, lower\nclass: fast\nfood: yes\ndogs: yes\nbicycles: no\ncars: no\nnotes: none\nseason: summer"
        )
    };
    let (one, other) = (record(1, "north"), record(2, "south"));
    let apart = |one, other| [of(0, 0, one), of(1, 0, other)];
    for (shows, candidates, distinct) in [
        ("the same", apart(LONG, LONG), 1),
        ("case, spaces and markdown", apart(LONG, &format!("**{}**", LONG.to_uppercase())), 1),
        ("a few words", apart(LONG, &changed), 1),
        ("the first half", apart(LONG, &half), 1),
        ("short texts that differ in a word", apart("the ferry is late", "the ferry is full"), 2),
        ("signs make the difference in short texts", apart("C# in depth", "C++ in depth"), 2),
        ("and are all there is", apart("🎉", "🚢"), 2),
        ("emphasis does not", apart("**C#** in depth", "C# in `depth`"), 1),
        ("lines of two files", apart("src/a.rs:12: use std::io;", "src/b.rs:3: use std::io;"), 2),
        ("numbers", apart("version 1.5 is out", "version 15 is out"), 2),
        ("records of one call", [of(0, 0, &one), of(0, 1, &other)], 2),
        ("nothing is like nothing", apart("", " \n"), 1),
    ] {
        let ranked = rank("refund", &candidates, &RankOptions::default());
        assert_eq!(ranked.distinct, distinct, "{shows}");
        assert_eq!(ranked.hits.len(), distinct, "{shows}");
        let told: usize = ranked.hits.iter().map(|hit| 1 + hit.also.len()).sum();
        assert_eq!(told, 2, "{shows}");
    }
}

#[test]
fn the_copy_with_the_higher_weight_represents_the_group() {
    let candidates = [of(0, 9, LONG), of(1, 0, LONG), of(2, 0, LONG)];
    let first = |weights: &[f64]| {
        let options = RankOptions::default().weights(weights.to_vec());
        let hit = rank("refund", &candidates, &options).hits.remove(0);
        (hit.candidate, hit.also)
    };
    assert_eq!(first(&[]), (1, vec![0, 2]), "the better place");
    assert_eq!(first(&[2.0]), (0, vec![1, 2]), "the heavier server");
}

#[test]
fn long_queries_and_texts_are_ranked() {
    let query: String = (0..80_000).map(|number| format!("w{number} ")).collect();
    let text = format!("{} needle", "w5 hay ".repeat(100_000));
    let ranked = rank(&query, &servers(&[&text, "w70 w71"]), &RankOptions::default());
    assert_eq!(ranked.distinct, 2);
    assert!(rank("needle", &servers(&[&text]), &RankOptions::default()).hits[0].score > 0.0);
}

/// Results of other servers, some of them long, that only resemble duplicates.
#[test]
fn similar_texts_are_not_joined() {
    let endpoint = |what: &str| {
        format!(
            "Call this endpoint to {what} a booking of the ferry line. It takes the number of the booking \
             and the key of the client in the header, answers with the booking as JSON, and with 404 where \
             there is no such booking or the key may not see it."
        )
    };
    let report = |city: &str, number: &str| {
        format!(
            "二〇二六年第三季度{city}分公司的渡轮航线共运送旅客{number}万人次，比去年同期有明显增长，\
             夜间航班因天气原因取消的情况较少，退款均已办理完毕。"
        )
    };
    let sailing = |number: u32, state: &str| {
        format!("{LONG} This was written down for sailing {number} {state} and {LONG}")
    };
    for (shows, one, other) in [
        (
            "signs that stand for words",
            "the job refunds the ferry line on the main host and has ended with status ✅ today"
                .into(),
            "the job refunds the ferry line on the main host and has ended with status ❌ today"
                .into(),
        ),
        (
            "operators",
            "if the balance of the account is a > b then refund the ticket to the card at once"
                .into(),
            "if the balance of the account is a < b then refund the ticket to the card at once"
                .into(),
        ),
        (
            "a minus",
            "account 17 of the ferry line has a balance today of -100 euro and no more than this"
                .into(),
            "account 17 of the ferry line has a balance today of 100 euro and no more than this"
                .into(),
        ),
        ("a sign in a long text", format!("{LONG} done ✅ today"), format!("{LONG} done ❌ today")),
        ("languages", format!("{LONG} C++ it is"), format!("{LONG} C# it is")),
        ("a number in a long text", sailing(17, "north"), sailing(18, "north")),
        ("with another word beside it", sailing(17, "north"), sailing(18, "south")),
        ("pages of a manual", endpoint("refund"), endpoint("cancel")),
        ("pages about nothing that is asked", endpoint("print"), endpoint("mail")),
        ("reports in Chinese", report("北京", "三十"), report("上海", "九十")),
        ("that differ in a name", report("北京", "三十"), report("上海", "三十")),
        ("a negation", endpoint("see"), endpoint("see").replace("It takes", "It never takes")),
    ] as [(&str, String, String); 12]
    {
        for query in ["refund", "ferry line"] {
            let candidates = [of(0, 0, &one), of(1, 0, &other)];
            let distinct = rank(query, &candidates, &RankOptions::default()).distinct;
            assert_eq!(distinct, 2, "{shows}, {query}");
        }
    }
}

#[test]
fn results_of_one_call_are_joined_only_if_identical() {
    let changed = LONG.replace("one transaction", "a transaction");
    let again = format!("- {LONG}");
    for (shows, candidates, distinct) in [
        ("the same", [of(0, 0, LONG), of(0, 1, &LONG.to_uppercase())], 1),
        ("a few words", [of(0, 0, LONG), of(0, 1, &changed)], 2),
        ("a sign", [of(0, 0, LONG), of(0, 1, &again)], 2),
        ("a sign, of two servers", [of(0, 0, LONG), of(1, 0, &again)], 1),
    ] {
        let ranked = rank("refund", &candidates, &RankOptions::default());
        assert_eq!(ranked.distinct, distinct, "{shows}");
    }
    // A third result similar to both does not merge two results of one call.
    let more = LONG.replace("three times", "twice");
    let candidates = [of(0, 0, LONG), of(1, 0, &changed), of(1, 1, &more)];
    assert_eq!(rank("refund", &candidates, &RankOptions::default()).distinct, 2);
    // A result with both parts represents them.
    let words: Vec<&str> = LONG.split(' ').collect();
    let (first, second) = words.split_at(words.len() / 2);
    let (first, second) = (first.join(" "), second.join(" "));
    let candidates = [of(0, 0, LONG), of(1, 0, &first), of(1, 1, &second)];
    let ranked = rank("refund", &candidates, &RankOptions::default().weights(vec![4.0]));
    assert_eq!(ranked.distinct, 1);
}

#[test]
fn a_server_below_its_limit_represents_a_copy() {
    let texts: Vec<String> =
        (0..3).map(|number| format!("cats {number} sleep on the mat")).collect();
    let candidates =
        [of(0, 0, &texts[0]), of(0, 1, &texts[1]), of(1, 5, &texts[1]), of(1, 6, &texts[2])];
    for options in [RankOptions::default(), RankOptions::default().mmr(1.0)] {
        let hits = rank("cats sleep", &candidates, &options.max_per_server(1)).hits;
        let hits: Vec<_> = hits.into_iter().map(|hit| (hit.candidate, hit.also)).collect();
        assert_eq!(hits, [(0, vec![]), (2, vec![1])]);
    }
}
