//! Stores the library's data in memory, behind one lock.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{Days, Utc};
use mcp_aql::prelude::*;

use crate::error::LendingError;
use crate::model::{Book, Loan, Member, Place, Subject, SubjectCount};

/// Maximum number of books that a member may borrow at the same time.
const MAX_LOANS: usize = 3;

/// Books, members and loans. They are lost when the process exits.
pub(crate) struct Stock(Mutex<Records>);

#[derive(Default)]
struct Records {
    books: BTreeMap<u64, Book>,
    members: BTreeMap<u64, Member>,
    loans: BTreeMap<u64, Loan>,
    last_book: u64,
    last_member: u64,
    last_loan: u64,
}

impl Stock {
    /// Creates a stock that already has some books, so that your first calls return results.
    pub(crate) fn with_some_books() -> Self {
        let stock = Self(Mutex::default());
        for (title, author, subject, shelf, copies) in [
            ("Moby-Dick; or, The Whale", "Herman Melville", Subject::Fiction, "F3", 2),
            ("Frankenstein", "Mary Shelley", Subject::Fiction, "F9", 1),
            ("The Histories", "Herodotus", Subject::History, "H1", 1),
            ("On the Origin of Species", "Charles Darwin", Subject::Science, "S2", 1),
        ] {
            let place =
                Place { floor: 0, shelf: shelf.to_owned(), hint: Some("by the stairs".to_owned()) };
            let (title, author) = (title.to_owned(), author.to_owned());
            stock.add_book(|book_id| Book {
                book_id,
                title,
                author,
                subject,
                place,
                copies,
                checked_at: None,
                version: 1,
            });
        }
        for name in ["Ada", "Charles"] {
            stock.add_member(name.to_owned());
        }
        stock
    }

    // The lock may be poisoned by a panic. Using the records is still safe, because no method leaves a partial change.
    fn open(&self) -> MutexGuard<'_, Records> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the books that contain `word` and have this subject. `None` matches every book.
    pub(crate) fn find(
        &self,
        word: Option<&str>,
        subject: Option<Subject>,
        page: &CollectionQuery<Book>,
    ) -> Result<Page<Book>, LendingError> {
        let word = word.unwrap_or_default().to_lowercase();
        let records = self.open();
        let found = records.books.values().filter(|book| {
            subject.is_none_or(|subject| book.subject == subject)
                && [&book.title, &book.author].iter().any(|it| it.to_lowercase().contains(&word))
        });
        Ok(page.run(found)?)
    }

    /// Returns every subject in the catalog with its number of books.
    pub(crate) fn subjects(&self) -> Vec<SubjectCount> {
        let mut counts = BTreeMap::new();
        for book in self.open().books.values() {
            *counts.entry(book.subject).or_default() += 1;
        }
        counts.into_iter().map(|(subject, books)| SubjectCount { subject, books }).collect()
    }

    /// Returns one book, or [`LendingError::NoBook`].
    pub(crate) fn book(&self, book_id: u64) -> Result<Book, LendingError> {
        self.open().book(book_id).cloned()
    }

    /// Returns one member, or [`LendingError::NoMember`].
    pub(crate) fn member(&self, member_id: u64) -> Result<Member, LendingError> {
        let found = self.open().members.get(&member_id).cloned();
        found.ok_or(LendingError::NoMember { member_id })
    }

    /// Returns the loans of one member, or of all members. Ended loans are included if `returned` is `true`.
    pub(crate) fn loans(
        &self,
        member_id: Option<u64>,
        returned: bool,
        page: &CollectionQuery<Loan>,
    ) -> Result<Page<Loan>, LendingError> {
        let records = self.open();
        let found = records.loans.values().filter(|loan| {
            (returned || loan.returned_at.is_none())
                && member_id.is_none_or(|member_id| loan.member_id == member_id)
        });
        Ok(page.run(found)?)
    }

    /// Adds a book under the next free number, and passes this number to `book`.
    pub(crate) fn add_book(&self, book: impl FnOnce(u64) -> Book) -> Book {
        let mut records = self.open();
        records.last_book += 1;
        let book = book(records.last_book);
        records.books.insert(book.book_id, book.clone());
        book
    }

    /// Applies `change` to a book. If it returns an error, the book stays as it was.
    ///
    /// `change` also receives the number of lent copies, because the lending rules need it.
    pub(crate) fn change_book(
        &self,
        book_id: u64,
        change: impl FnOnce(&mut Book, u32) -> Result<(), LendingError>,
    ) -> Result<Book, LendingError> {
        let mut records = self.open();
        let mut book = records.book(book_id)?.clone();
        change(&mut book, records.lent(book_id))?;
        book.version += 1;
        records.books.insert(book_id, book.clone());
        Ok(book)
    }

    /// Removes a book. Returns an error while copies of it are lent.
    pub(crate) fn delete_book(&self, book_id: u64) -> Result<Book, LendingError> {
        let mut records = self.open();
        match records.lent(book_id) {
            0 => records.books.remove(&book_id).ok_or(LendingError::NoBook { book_id }),
            lent => Err(LendingError::StillLent { lent }),
        }
    }

    /// Registers a member under the next free number.
    pub(crate) fn add_member(&self, name: String) -> Member {
        let mut records = self.open();
        records.last_member += 1;
        let member = Member { member_id: records.last_member, name };
        records.members.insert(member.member_id, member.clone());
        member
    }

    /// Lends a copy of a book, if the lending rules allow it.
    pub(crate) fn lend(
        &self,
        book_id: u64,
        member_id: u64,
        weeks: u32,
    ) -> Result<Loan, LendingError> {
        let mut records = self.open();
        records.may_borrow(book_id, member_id)?;
        records.last_loan += 1;
        let due_date = Utc::now().date_naive() + Days::new(u64::from(weeks) * 7);
        let loan_id = records.last_loan;
        let loan = Loan { loan_id, book_id, member_id, due_date, returned_at: None };
        records.loans.insert(loan_id, loan.clone());
        Ok(loan)
    }

    /// Ends a loan. A loan that already ended is reported as missing.
    pub(crate) fn take_back(&self, loan_id: u64) -> Result<Loan, LendingError> {
        let mut records = self.open();
        let open = records.loans.get_mut(&loan_id).filter(|loan| loan.returned_at.is_none());
        let loan = open.ok_or(LendingError::NoLoan { loan_id })?;
        loan.returned_at = Some(Utc::now());
        Ok(loan.clone())
    }

    /// Returns the numbers of all books.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.open().books.keys().copied().collect()
    }

    /// Records a stocktaking of a book now. Returns how many copies are on the shelf and how many are lent.
    pub(crate) fn check(&self, book_id: u64) -> Option<(u32, u32)> {
        let mut records = self.open();
        let lent = records.lent(book_id);
        let book = records.books.get_mut(&book_id)?;
        book.checked_at = Some(Utc::now());
        book.version += 1;
        Some((book.copies.saturating_sub(lent), lent))
    }
}

impl Records {
    fn book(&self, book_id: u64) -> Result<&Book, LendingError> {
        self.books.get(&book_id).ok_or(LendingError::NoBook { book_id })
    }

    /// Returns the error of the first lending rule that this loan would violate.
    fn may_borrow(&self, book_id: u64, member_id: u64) -> Result<(), LendingError> {
        let copies = self.book(book_id)?.copies;
        if !self.members.contains_key(&member_id) {
            return Err(LendingError::NoMember { member_id });
        }
        let has: Vec<_> = self.open_loans().filter(|loan| loan.member_id == member_id).collect();
        if let Some(loan) = has.iter().find(|loan| loan.book_id == book_id) {
            return Err(LendingError::HasIt { member_id, loan_id: loan.loan_id });
        }
        if has.len() >= MAX_LOANS {
            return Err(LendingError::TooMany { limit: MAX_LOANS });
        }
        if self.lent(book_id) >= copies {
            return Err(LendingError::AllLent { copies });
        }
        Ok(())
    }

    fn open_loans(&self) -> impl Iterator<Item = &Loan> {
        self.loans.values().filter(|loan| loan.returned_at.is_none())
    }

    fn lent(&self, book_id: u64) -> u32 {
        self.open_loans().filter(|loan| loan.book_id == book_id).map(|_| 1).sum()
    }
}
