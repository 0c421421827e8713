//! The operations of the library, with the endpoint family of each.

use std::time::Duration;

use mcp_aql::prelude::*;

use crate::error::LendingError;
use crate::model::{Book, Loan, Member, StockCheck, Subject, SubjectCount};
use crate::stock::Stock;

/// The operations of the library. They share the stock.
pub(crate) struct Library {
    stock: Stock,
}

impl Library {
    /// Creates the operations on a stock.
    pub(crate) fn new(stock: Stock) -> Self {
        Self { stock }
    }
}

#[operations]
impl Library {
    // `endpoint` puts this operation into the family `discover`. Without it, a READ would be part of `query`.

    // Word and subject are the library's own search parameters, so everything but pagination is removed from the query.

    /// Find books by a word in title or author, or by subject.
    #[operation(
        category = "READ",
        endpoint = "discover",
        example("one word, in any case", { "word": "whale" }),
        example("all books on a subject", { "subject": "science", "first": 50 }),
    )]
    fn find_books(
        &self,
        /// Part of the title or the author, in any case.
        #[param(min_length = 1, max_length = 100)]
        word: Option<String>,
        /// Return only books on this subject.
        subject: Option<Subject>,
        #[query(without(filter, sort, fields, aggregate))] page: CollectionQuery<Book>,
    ) -> Result<Page<Book>, LendingError> {
        self.stock.find(word.as_deref(), subject, &page)
    }

    /// List the subjects with the number of their books.
    #[operation(category = "READ", endpoint = "discover")]
    fn list_subjects(&self) -> Vec<SubjectCount> {
        self.stock.subjects()
    }

    // Without `endpoint`, the category determines the family: a READ is part of `query`.

    /// Get one book by its number.
    #[operation(category = "READ", example = { "book_id": 1 })]
    fn get_book(
        &self,
        /// Number in the catalogue.
        book_id: u64,
    ) -> Result<Book, LendingError> {
        self.stock.book(book_id)
    }

    /// Get one member by the number on the card.
    #[operation(category = "READ", example = { "member_id": 1 })]
    fn get_member(
        &self,
        /// Number on the card.
        member_id: u64,
    ) -> Result<Member, LendingError> {
        self.stock.member(member_id)
    }

    /// List the loans, the oldest first.
    #[operation(category = "READ", example = { "member_id": 1 })]
    fn list_loans(
        &self,
        /// Return only loans of this member.
        member_id: Option<u64>,
        /// Return only loans of this member.
        // The old name stays valid until its removal date. A call that uses it gets a warning in its reply.
        #[param(deprecated(replacement = "member_id", removal_date = "2031-05-06"))]
        borrower: Option<u64>,
        /// Also return loans that have ended.
        #[param(default = false)]
        returned: bool,
        #[query(without(filter, sort, fields, aggregate))] page: CollectionQuery<Loan>,
    ) -> Result<Page<Loan>, LendingError> {
        self.stock.loans(member_id.or(borrower), returned, &page)
    }

    /// Add a book to the catalogue.
    #[operation(category = "CREATE", example = {
        "title": "Cosmos", "author": "Carl Sagan", "subject": "science",
        "place": { "floor": 1, "shelf": "S7" },
    })]
    fn create_book(&self, book: Create<Book>) -> Book {
        self.stock.add_book(|book_id| book.into_resource(book_id))
    }

    /// Change fields of a book. Fields that `input` omits stay unchanged, `null` removes a value.
    #[operation(
        category = "UPDATE",
        example("change only one field of the place",
            { "book_id": 1, "input": { "place": { "shelf": "F4" } } }),
        example("only if the version has not changed", { "book_id": 1, "input": { "copies": 3 }, "if_match": 1 }),
    )]
    fn update_book(
        &self,
        /// Number in the catalogue.
        book_id: u64,
        input: Update<Book>,
        if_match: IfMatch<u64>,
    ) -> Result<Book, LendingError> {
        self.stock.change_book(book_id, |book, lent| {
            if_match.check(&book.version)?;
            input.merge_into(book);
            // Check rules about several fields after the merge, because no constraint on a single field can express
            // them. If this returns an error, the stock keeps the old book.
            if book.copies < lent { Err(LendingError::TooFew { lent }) } else { Ok(()) }
        })
    }

    /// Delete a book of which no copy is lent, and return it.
    #[operation(
        category = "DELETE",
        danger(
            level = "destructive",
            reasons = ["The book is removed from the catalogue"],
            confirmation_message = "Delete book {book_id}?",
        ),
        example = { "book_id": 1 },
    )]
    fn delete_book(
        &self,
        /// Number in the catalogue.
        book_id: u64,
    ) -> Result<Book, LendingError> {
        self.stock.delete_book(book_id)
    }

    // A card is only issued at the counter, so this CREATE is part of the counter's family, `operate`.

    /// Register a member.
    #[operation(category = "CREATE", endpoint = "operate", example = { "name": "Ada" })]
    fn create_member(
        &self,
        /// Name on the card.
        #[param(min_length = 1, max_length = 100)]
        name: String,
    ) -> Member {
        self.stock.add_member(name)
    }

    /// Lend a copy of a book to a member.
    #[operation(
        category = "EXECUTE",
        rationale = "hands over a copy, which the catalogue does not record; libraries say `lend` instead \
            of `execute_loan`",
        example = { "book_id": 1, "member_id": 1 },
    )]
    fn lend_book(
        &self,
        /// Number in the catalogue.
        book_id: u64,
        /// Number on the card.
        member_id: u64,
        /// Number of weeks.
        #[param(default = 4, minimum = 1, maximum = 8)]
        weeks: u32,
    ) -> Result<Loan, LendingError> {
        self.stock.lend(book_id, member_id, weeks)
    }

    /// Return a lent copy.
    #[operation(
        category = "EXECUTE",
        rationale = "the counterpart of `lend_book`; the loan stays on record",
        example = { "loan_id": 1 },
    )]
    fn return_book(
        &self,
        /// Number of the loan that ends.
        loan_id: u64,
    ) -> Result<Loan, LendingError> {
        self.stock.take_back(loan_id)
    }

    /// Walk along all shelves, count the copies and date every book.
    ///
    /// Reports progress after each book. If cancelled, it stops between two books; the remaining ones keep
    /// their date.
    #[operation(
        category = "EXECUTE",
        // The verb `check` suggests READ. Without a rationale for another category, this does not compile.
        rationale = "a stocktaking takes a while, can be cancelled, and sets the date of each book",
        example = { "pace_ms": 20 },
    )]
    async fn check_stock(
        &self,
        context: Context,
        /// Milliseconds per book.
        #[param(default = 100, maximum = 10_000)]
        pace_ms: u64,
    ) -> StockCheck {
        let books = self.stock.numbers();
        let mut seen = StockCheck { books: 0, on_shelf: 0, lent: 0 };
        for &book_id in &books {
            tokio::select! {
                // The client may cancel the call. Then return the part that is done.
                () = context.cancelled() => break,
                () = tokio::time::sleep(Duration::from_millis(pace_ms)) => {}
            }
            // The book may have been deleted in the meantime.
            let Some((on_shelf, lent)) = self.stock.check(book_id) else { continue };
            seen.books += 1;
            seen.on_shelf += on_shelf;
            seen.lent += lent;
            #[expect(clippy::cast_precision_loss, reason = "no library is that large")]
            let (done, total) = (seen.books as f64, books.len() as f64);
            context.progress(done, Some(total), format!("Checked book '{book_id}'")).await;
        }
        seen
    }
}
