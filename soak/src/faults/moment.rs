//! The moments of a call for injected failures.

use std::time::Duration;

use super::client::Kind;
use super::points::{AFTER_ENTRIES, AFTER_WRITE, BEFORE_WRITE, BETWEEN_ENTRIES, ENTERED};
use crate::random::Random;

/// Maximum delay of a random moment. A call takes a few milliseconds.
const MAX_RANDOM_DELAY: Duration = Duration::from_millis(20);
/// Number of random moments per kind of call.
const RANDOM_MOMENTS: usize = 3;

/// A moment of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// The adapter has received half of the request.
    HalfSent,
    /// The operation has started.
    Entered,
    BetweenEntries,
    AfterEntries,
    /// Before the write with this index. With short leases, their renewals are writes as well.
    BeforeWrite(usize),
    AfterWrite(usize),
    /// The client has received the response.
    Answered,
    /// After this delay, wherever the call is then.
    After(Duration),
}

impl Moment {
    /// The moments at which the operation itself waits.
    pub(super) const OF_OPERATIONS: [Self; 3] =
        [Self::Entered, Self::BetweenEntries, Self::AfterEntries];

    /// Returns all moments of a call that the suite can wait for.
    pub(super) fn all(kind: Kind) -> Vec<Self> {
        // A confirmed call writes the used token. An execution writes its start, its progress and its end.
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

    /// Returns all moments of a call, and some random ones.
    pub(super) fn with_random(kind: Kind, random: &mut Random) -> Vec<Self> {
        let most = u64::try_from(MAX_RANDOM_DELAY.as_micros()).unwrap_or(u64::MAX);
        let mut all = Self::all(kind);
        for _ in 0..RANDOM_MOMENTS {
            all.push(Self::After(Duration::from_micros(random.below(most))));
        }
        all
    }

    /// Returns the moment to use for a call of this kind. A READ writes no entries and can only wait at its start.
    pub(super) fn for_kind(self, kind: Kind) -> Self {
        if kind == Kind::Read { Self::Entered } else { self }
    }

    /// Returns `true` if the adapter waits at this moment, during the call.
    pub(super) const fn is_held(self) -> bool {
        !matches!(self, Self::HalfSent | Self::Answered | Self::After(_))
    }

    /// Returns `true` if the moment is a write of the store. Such a write does not identify its call.
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
