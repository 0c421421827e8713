//! The moments of a call at which a fault happens.

use std::time::Duration;

use super::client::Kind;
use super::points::{AFTER_ENTRIES, AFTER_WRITE, BEFORE_WRITE, BETWEEN_ENTRIES, ENTERED};
use crate::random::Random;

/// The longest time after which a fault happens at a random moment. A call takes a few milliseconds.
const MAX_RANDOM_DELAY: Duration = Duration::from_millis(20);
/// The number of random moments of each kind of call.
const RANDOM_MOMENTS: usize = 3;

/// A moment of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// The adapter has received one half of the request.
    HalfSent,
    /// The operation has begun.
    Entered,
    BetweenEntries,
    AfterEntries,
    /// Before or after a write of the store, counted from 0. Where leases are short, their renewals count too.
    BeforeWrite(usize),
    AfterWrite(usize),
    /// The client has received the answer.
    Answered,
    /// After this time.
    After(Duration),
}

impl Moment {
    /// The moments at which an operation itself waits.
    pub(super) const OF_OPERATIONS: [Self; 3] =
        [Self::Entered, Self::BetweenEntries, Self::AfterEntries];

    /// All moments of a call that can be awaited.
    pub(super) fn all(kind: Kind) -> Vec<Self> {
        // The writes of a token that is used, and of an execution that begins, advances and ends.
        let writes = match kind {
            Kind::Confirmed => 1,
            Kind::Execution => 3,
            Kind::Session | Kind::Stateless | Kind::Read => 0,
        };
        let writes = (0..writes).flat_map(|n| [Self::BeforeWrite(n), Self::AfterWrite(n)]);
        let entries: &[Self] = match kind {
            Kind::Read => &[],
            _ => &[Self::BetweenEntries, Self::AfterEntries],
        };
        let ends = [Self::HalfSent, Self::Entered, Self::Answered];
        ends.into_iter().chain(entries.iter().copied()).chain(writes).collect()
    }

    /// All moments of a call that can be awaited, and some random ones.
    pub(super) fn with_random(kind: Kind, random: &mut Random) -> Vec<Self> {
        let most = u64::try_from(MAX_RANDOM_DELAY.as_micros()).unwrap_or(u64::MAX);
        let mut all = Self::all(kind);
        for _ in 0..RANDOM_MOMENTS {
            all.push(Self::After(Duration::from_micros(random.below(most))));
        }
        all
    }

    /// The moment for a call of this kind. READs write no entries, and wait only when they have begun.
    pub(super) fn for_kind(self, kind: Kind) -> Self {
        if kind == Kind::Read { Self::Entered } else { self }
    }

    /// Whether the adapter waits at this moment, during the call.
    pub(super) const fn is_held(self) -> bool {
        !matches!(self, Self::HalfSent | Self::Answered | Self::After(_))
    }

    /// Whether the moment is one of the store, whose writes do not name their call.
    pub(super) const fn is_of_store(self) -> bool {
        matches!(self, Self::BeforeWrite(_) | Self::AfterWrite(_))
    }

    pub(super) fn point(self, id: &str) -> Option<(String, usize)> {
        let of_operation = |name: &str| Some((format!("{name} {id}"), 0));
        match self {
            Self::Entered => of_operation(ENTERED),
            Self::BetweenEntries => of_operation(BETWEEN_ENTRIES),
            Self::AfterEntries => of_operation(AFTER_ENTRIES),
            Self::BeforeWrite(number) => Some((BEFORE_WRITE.to_owned(), number)),
            Self::AfterWrite(number) => Some((AFTER_WRITE.to_owned(), number)),
            Self::HalfSent | Self::Answered | Self::After(_) => None,
        }
    }
}
