use super::super::column::{Column, Matcher, retain_rows, row_at};
use super::super::model::{FieldInfo, Model};
use super::super::plan::{Filter, Plan, SortBy};
use super::super::resource::Resource;
use super::super::text::{TextQuery, fold};

/// What rows must satisfy, ready to run.
pub(super) struct Conditions<'a, T: 'static> {
    /// One after the other.
    filter: Vec<Box<dyn Matcher<T>>>,
    text: Option<Words<'a, T>>,
    /// Rows come the best first.
    by_place: bool,
}

/// Words, and the fields they may stand in.
struct Words<'a, T: 'static> {
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
        // All must hold, so their order is free.
        filter.sort_by_key(|matcher| std::cmp::Reverse(matcher.haste()));
        let searched =
            |(info, column): (&FieldInfo, &'static dyn Column<T>)| info.search.then_some(column);
        let text = plan.text.as_ref().map(|query| Words {
            query,
            columns: model.own_fields().filter_map(searched).collect(),
        });
        Self { filter, text, by_place: false }
    }

    /// For rows that were found already: how well they answer, their places tell.
    pub(super) fn found(plan: &'a Plan, model: &'static Model<T>) -> Self {
        let by_place = plan.sort.iter().any(|key| key.by == SortBy::Score);
        Self { text: None, by_place, ..Self::of(plan, model) }
    }

    /// Leaves of the selected rows those that satisfy everything, and notes how well. `begun` rows came
    /// before these.
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

impl<T> Words<'_, T> {
    fn score(&self, row: &T) -> u32 {
        let mut score = 0;
        let mut texts = String::new();
        for column in &self.columns {
            texts.clear();
            // The entries of a list are one text: a phrase does not run over a space of its own.
            column.texts(row, &mut |text| texts.push_str(&fold(text)));
            score += self.query.score(&texts);
        }
        score
    }
}

/// A condition that never holds, or always.
struct Fixed(bool);

impl<T> Matcher<T> for Fixed {
    fn matches(&self, _: &T) -> bool {
        self.0
    }

    fn retain(&self, _: &[&T], selected: &mut Vec<u32>) {
        if !self.0 {
            selected.clear();
        }
    }
}

/// Several conditions.
struct Group<T> {
    parts: Vec<Box<dyn Matcher<T>>>,
    /// All must hold, or one.
    all: bool,
}

impl<T> Matcher<T> for Group<T> {
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

/// The opposite of a condition.
struct Opposite<T>(Box<dyn Matcher<T>>);

impl<T> Matcher<T> for Opposite<T> {
    fn matches(&self, row: &T) -> bool {
        !self.0.matches(row)
    }

    fn retain(&self, rows: &[&T], selected: &mut Vec<u32>) {
        retain_rows(rows, selected, |row| !self.0.matches(row));
    }
}

fn matcher<T: Resource>(filter: &Filter, model: &'static Model<T>) -> Box<dyn Matcher<T>> {
    let parts = |parts: &[Filter]| parts.iter().map(|part| matcher(part, model)).collect();
    match filter {
        Filter::All(each) => Box::new(Group { parts: parts(each), all: true }),
        Filter::Any(each) => Box::new(Group { parts: parts(each), all: false }),
        Filter::Not(inner) => Box::new(Opposite(matcher(inner, model))),
        Filter::Field(place, test) => match model.at(*place) {
            Some((info, column)) => column.matcher(test, info),
            None => Box::new(Fixed(false)),
        },
    }
}
