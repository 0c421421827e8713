//! Builds the answer to a query: ranks the results, removes duplicates, applies the size limits and
//! counts.

use std::time::Duration;

use tokio::time::Instant;

use super::fan_out::{FoundItem, Outcome, ServerItems};
use super::{Inner, Query, QueryError, ValidQuery};
use crate::answer::{Answer, Hit, Metadata, ServerOutcome};
use crate::rank::{Candidate, RankOptions, Ranked, rank};
use crate::upstream::Failure;

/// Minimum size of a shortened result in bytes. A shorter one is left out instead.
const MIN_RESULT_BYTES: usize = 200;
/// Number of bytes that mark a result as shortened.
const TRUNCATED_BYTES: usize = ",\"truncated\":true".len();

/// An item and the index of its server.
struct SourcedItem {
    server: usize,
    found: FoundItem,
}

/// Counts over the outcomes of all servers.
#[derive(Default)]
struct Tally {
    /// The outcome of each server, with the server's index.
    servers: Vec<(usize, ServerOutcome)>,
    sources: Vec<SourcedItem>,
    queried: usize,
    succeeded: usize,
    bytes_raw: usize,
    /// The names of the queried servers.
    attempted: Vec<String>,
    /// The failures of queried servers.
    errors: Vec<String>,
    /// The failures of servers that do not count as queried.
    unqueried_errors: Vec<String>,
}

impl Tally {
    /// Counts the outcome of one server. A server without a search tool does not count as queried,
    /// unless the query names it.
    fn add(&mut self, name: &str, outcome: Outcome, is_named: bool) {
        let mut summary = ServerOutcome {
            name: name.to_owned(),
            status: ServerOutcome::OK.to_owned(),
            latency_ms: millis(outcome.latency),
            results_raw: 0,
            results: 0,
            left_out: 0,
            failed: Vec::new(),
        };
        let was_queried = is_named || !matches!(outcome.given, Err(Failure::NoQueryTool));
        if was_queried {
            self.queried += 1;
            self.attempted.push(name.to_owned());
        }
        let server = outcome.server;
        match outcome.given {
            Ok(ServerItems { items, left_out, bytes, failed }) => {
                summary.failed = failed;
                self.succeeded += 1;
                self.bytes_raw += bytes;
                (summary.results_raw, summary.left_out) = (items.len(), left_out);
                self.sources.extend(items.into_iter().map(|found| SourcedItem { server, found }));
            }
            Err(failure) => {
                summary.status = failure.to_string();
                let errors =
                    if was_queried { &mut self.errors } else { &mut self.unqueried_errors };
                errors.push(format!("{name}: {failure}"));
            }
        }
        self.servers.push((server, summary));
    }

    /// Returns an error if no server was queried or none answered.
    fn check(&mut self) -> Result<(), QueryError> {
        if self.queried == 0 {
            let mut errors = std::mem::take(&mut self.unqueried_errors);
            if errors.is_empty() {
                errors.push("no server is enabled".to_owned());
            }
            return Err(QueryError::NoServer { errors });
        }
        if self.succeeded == 0 {
            let attempted = std::mem::take(&mut self.attempted);
            let errors = std::mem::take(&mut self.errors);
            return Err(QueryError::AllFailed { attempted, errors });
        }
        Ok(())
    }

    /// Counts each server's results in the answer. Returns the number of servers with at least one.
    fn count_results(&mut self, results: &[Hit]) -> usize {
        let mut contributing = 0;
        for (_, server) in &mut self.servers {
            server.results = results.iter().filter(|hit| hit.server == server.name).count();
            contributing += usize::from(server.results > 0);
        }
        contributing
    }
}

impl Inner {
    pub(super) async fn answer(
        &self,
        query: &Query,
        asked: ValidQuery,
        outcomes: Vec<Outcome>,
        begun: Instant,
    ) -> Result<Answer, QueryError> {
        let is_named = !query.servers.is_empty();
        let mut tally = Tally::default();
        for outcome in outcomes {
            let Some(entry) = self.servers.get(outcome.server) else { continue };
            tally.add(&entry.name, outcome, is_named);
        }
        tally.check()?;
        let sources = std::mem::take(&mut tally.sources);
        let total_results_raw = sources.len();
        let most = if query.whole { usize::MAX } else { asked.most };
        let (sources, ranked) = self.ranked(asked.words, most, sources).await?;
        let hits = self.hits(&sources, &ranked);
        let found = hits.len();
        let room = if query.whole {
            usize::MAX
        } else {
            self.config.settings.max_output_bytes.saturating_sub(metadata_bytes(&tally.servers))
        };
        let results = fit_hits(hits, room);
        let warnings = omission_warning(found - results.len()).into_iter().collect();
        let contributing = tally.count_results(&results);
        let metadata = Metadata {
            servers_queried: tally.queried,
            servers_succeeded: tally.succeeded,
            total_results_raw,
            total_results_dedup: ranked.distinct,
            results_returned: results.len(),
            processing_time_ms: millis(begun.elapsed()),
            server_diversity: part(contributing, tally.queried),
            bytes_raw: tally.bytes_raw,
            bytes_returned: results.iter().map(|hit| hit.content.len()).sum(),
            servers: tally.servers.into_iter().map(|(_, server)| server).collect(),
            warnings,
        };
        Ok(Answer { results, metadata })
    }

    /// Ranks on a blocking thread, so that replies to other clients are not delayed.
    async fn ranked(
        &self,
        words: String,
        most: usize,
        sources: Vec<SourcedItem>,
    ) -> Result<(Vec<SourcedItem>, Ranked), QueryError> {
        let settings = &self.config.settings;
        let weights = self.servers.iter().map(|entry| entry.weight).collect();
        let mut options = RankOptions::default().max_results(most).weights(weights);
        options.max_per_server = settings.max_per_server;
        options.mmr = settings.mmr;
        let ranking = tokio::task::spawn_blocking(move || {
            let candidates: Vec<_> = sources.iter().map(SourcedItem::candidate).collect();
            let ranked = rank(&words, &candidates, &options);
            drop(candidates);
            (sources, ranked)
        });
        ranking.await.map_err(|error| {
            tracing::error!(%error, "ranking failed");
            QueryError::Internal
        })
    }

    fn hits(&self, sources: &[SourcedItem], ranked: &Ranked) -> Vec<Hit> {
        let name = |server: usize| self.servers.get(server).map(|entry| entry.name.clone());
        let hits = ranked.hits.iter().filter_map(|hit| {
            let SourcedItem { server, found } = sources.get(hit.candidate)?;
            let copies = hit.also.iter().filter_map(|copy| sources.get(*copy));
            let mut also: Vec<_> =
                copies.map(|source| source.server).filter(|it| it != server).collect();
            also.sort_unstable();
            also.dedup();
            // The ranks are assigned later, once it is known which results fit.
            Some(Hit {
                content: found.item.content.clone(),
                server: name(*server)?,
                relevance_score: hit.score,
                rank: 0,
                timestamp: found.at,
                tool: found.tool.to_string(),
                uri: found.item.uri.clone(),
                truncated: found.item.truncated,
                also_from: also.into_iter().filter_map(name).collect(),
            })
        });
        hits.collect()
    }
}

impl SourcedItem {
    fn candidate(&self) -> Candidate<'_> {
        Candidate {
            server: self.server,
            call: self.found.call,
            position: self.found.position,
            content: &self.found.item.content,
        }
    }
}

/// Returns an upper bound for the size of an answer without its results.
fn metadata_bytes(servers: &[(usize, ServerOutcome)]) -> usize {
    const FRAME: usize = 640;
    const SERVER: usize = 160;
    const REASON: usize = 40;
    let each = |told: &ServerOutcome| SERVER + json_length(&told.name) + REASON * told.failed.len();
    servers.iter().map(|(_, told)| each(told)).sum::<usize>() + FRAME
}

/// Selects the best results that fit into `most` bytes of JSON and assigns their ranks.
///
/// A result that does not fit is shortened if enough of it remains. Otherwise it is left out, and
/// later ones may still fit.
fn fit_hits(hits: Vec<Hit>, most: usize) -> Vec<Hit> {
    let mut left = most;
    let mut taken = Vec::with_capacity(hits.len());
    for mut hit in hits {
        if hit_bytes(&hit) > left {
            if taken.is_empty() && hit_overhead(&hit) + MIN_RESULT_BYTES > left {
                // One result without these fields is better than none.
                hit.uri = None;
                hit.also_from = Vec::new();
            }
            let room = left.saturating_sub(hit_overhead(&hit));
            if room < MIN_RESULT_BYTES && !taken.is_empty() {
                continue;
            }
            hit.truncated |= shorten(&mut hit.content, room.max(MIN_RESULT_BYTES));
        }
        left = left.saturating_sub(hit_bytes(&hit));
        taken.push(hit);
    }
    for (hit, rank) in taken.iter_mut().zip(1..) {
        hit.rank = rank;
    }
    taken
}

/// Returns a warning about results that did not fit.
fn omission_warning(count: usize) -> Option<String> {
    let results = if count == 1 { "result" } else { "results" };
    (count > 0).then(|| format!("{count} {results} more did not fit into maxOutputBytes"))
}

/// Returns the JSON size of a shortened result, not counting its content.
fn hit_overhead(hit: &Hit) -> usize {
    hit_bytes(hit) - json_length(&hit.content) + TRUNCATED_BYTES
}

/// Returns the size of a result as JSON with its separator. The rank counts as three digits.
fn hit_bytes(hit: &Hit) -> usize {
    serde_json::to_string(hit).map_or(usize::MAX / 2, |json| json.len() + 1 + "99".len())
}

/// Returns the length of a string inside a JSON string, in bytes.
pub(crate) fn json_length(text: &str) -> usize {
    text.chars().map(json_char).sum()
}

/// Returns the length of a character inside a JSON string, as serde_json writes it.
fn json_char(each: char) -> usize {
    match each {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        each if each < ' ' => 6,
        each => each.len_utf8(),
    }
}

/// Shortens a string to at most `most` bytes as JSON. Returns `true` if it was longer.
pub(crate) fn shorten(text: &mut String, most: usize) -> bool {
    let mut length = 0;
    let end = text.char_indices().find_map(|(place, each)| {
        length += json_char(each);
        (length > most).then_some(place)
    });
    if let Some(end) = end {
        text.truncate(end);
    }
    end.is_some()
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "the number of servers is small")]
fn part(some: usize, all: usize) -> f64 {
    if all == 0 { 0.0 } else { some as f64 / all as f64 }
}
