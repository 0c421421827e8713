//! Filters and scores rows.

use super::super::columns::{Column, Matcher, retain_rows, row_at};
use super::super::field_info::FieldInfo;
use super::super::model::Model;
use super::super::plan::{Filter, Plan, SortBy};
use super::super::resource::Resource;
use super::super::text::{TextQuery, fold_text};

/// The prepared conditions of a plan.
pub(super) struct Conditions<'a, T: 'static> {
    /// Evaluated in order. All conditions must hold.
    filter: Vec<Box<dyn Matcher<T>>>,
    text: Option<TextMatcher<'a, T>>,
    /// If `true`, the rows arrive sorted by relevance, and their positions are their scores.
    by_place: bool,
}

/// The search terms and the fields to search.
struct TextMatcher<'a, T: 'static> {
    query: &'a TextQuery,
    columns: Vec<&'static dyn Column<T>>,
}

impl<'a, T: Resource> Conditions<'a, T> {
    pub(super) fn of(plan: &'a Plan, model: &'static Model<T>) -> Self {
        let mut filter: Vec<_> = match &plan.filter {
            Some(Filter::All(parts)) => parts.iter().map(|part| matcher(part, model)).collect(),
            Some(one) => vec![matcher(one, model)],
            None => Vec::new(),
        };
        // All conditions must hold, so cheap and selective ones run first.
        filter.sort_by_key(|matcher| std::cmp::Reverse(matcher.priority()));
        let searched =
            |(info, column): (&FieldInfo, &'static dyn Column<T>)| info.search.then_some(column);
        let text = plan.text.as_ref().map(|query| TextMatcher {
            query,
            columns: model.own_fields().filter_map(searched).collect(),
        });
        Self { filter, text, by_place: false }
    }

    /// Prepares the conditions for rows found by a search engine. The positions of the rows determine their
    /// scores.
    pub(super) fn found(plan: &'a Plan, model: &'static Model<T>) -> Self {
        let by_place = plan.sort.iter().any(|key| key.by == SortBy::Score);
        Self { text: None, by_place, ..Self::of(plan, model) }
    }

    /// Keeps the selected rows that satisfy all conditions, and records their scores. `begun` is the number
    /// of preceding rows.
    pub(super) fn apply(
        &self,
        rows: &[&T],
        begun: u32,
        selected: &mut Vec<u32>,
        scores: &mut Vec<u32>,
    ) {
        for condition in &self.filter {
            condition.retain(rows, selected);
        }
        scores.clear();
        if self.by_place {
            scores.extend(selected.iter().map(|place| u32::MAX - begun.saturating_add(*place)));
        }
        if let Some(words) = &self.text {
            selected.retain(|place| {
                let score = row_at(rows, *place).map_or(0, |row| words.score(row));
                if score > 0 {
                    scores.push(score);
                }
                score > 0
            });
        }
    }
}

impl<T> TextMatcher<'_, T> {
    fn score(&self, row: &T) -> u32 {
        let mut score = 0;
        let mut texts = String::new();
        for column in &self.columns {
            texts.clear();
            // The entries of a list are joined into one string. A phrase does not match across two entries.
            column.texts(row, &mut |text| texts.push_str(&fold_text(text)));
            score += self.query.score(&texts);
        }
        score
    }
}

/// A group of conditions.
struct GroupMatcher<T> {
    parts: Vec<Box<dyn Matcher<T>>>,
    /// If `true`, all conditions must hold; if `false`, any of them.
    all: bool,
}

impl<T> Matcher<T> for GroupMatcher<T> {
    fn matches(&self, row: &T) -> bool {
        if self.all {
            self.parts.iter().all(|part| part.matches(row))
        } else {
            self.parts.iter().any(|part| part.matches(row))
        }
    }

    fn retain(&self, rows: &[&T], selected: &mut Vec<u32>) {
        if self.all {
            self.parts.iter().for_each(|part| part.retain(rows, selected));
        } else {
            retain_rows(rows, selected, |row| self.matches(row));
        }
    }
}

/// The negation of a condition.
struct NotMatcher<T>(Box<dyn Matcher<T>>);

impl<T> Matcher<T> for NotMatcher<T> {
    fn matches(&self, row: &T) -> bool {
        !self.0.matches(row)
    }

    fn retain(&self, rows: &[&T], selected: &mut Vec<u32>) {
        retain_rows(rows, selected, |row| !self.0.matches(row));
    }
}

pub(super) fn matcher<T: Resource>(
    filter: &Filter,
    model: &'static Model<T>,
) -> Box<dyn Matcher<T>> {
    let parts = |parts: &[Filter]| parts.iter().map(|part| matcher(part, model)).collect();
    match filter {
        Filter::All(each) => Box::new(GroupMatcher { parts: parts(each), all: true }),
        Filter::Any(each) => Box::new(GroupMatcher { parts: parts(each), all: false }),
        Filter::Not(inner) => Box::new(NotMatcher(matcher(inner, model))),
        Filter::Field(place, test) => match model.at(*place) {
            Some((info, column)) => column.matcher(test, info),
            // The plan refers to an unknown field: no row matches.
            None => Box::new(GroupMatcher { parts: Vec::new(), all: false }),
        },
    }
}
