//! Checks of confirmation requests and confirmation tokens.

mod pending_call;
mod requests;
mod tokens;

use super::{Body, Check, later, of_level_2 as check, should};

pub(super) use self::pending_call::{ask, none, params};

pub(super) const CHECKS: &[Check] = &[
    check(
        "confirmation.issued",
        "A confirmation request states operation, danger level, token and expiry",
        &["REQ-TOK-06"],
        Body::Changes(later!(requests::issued)),
    ),
    check(
        "confirmation.token_form",
        "Tokens have the prefix, the characters and the length of the protocol",
        &["REQ-TOK-01"],
        Body::Changes(later!(requests::token_form)),
    ),
    check(
        "confirmation.fresh",
        "Tokens cannot be guessed from each other",
        &["REQ-TOK-02"],
        Body::Changes(later!(requests::fresh)),
    ),
    check(
        "confirmation.expiry",
        "Tokens expire within the protocol's limit",
        &["REQ-TOK-08"],
        Body::Changes(later!(requests::expiry)),
    ),
    check(
        "confirmation.nothing_before",
        "An operation does not run before it is confirmed",
        &["REQ-GATE-01", "REQ-DNG-03"],
        Body::Changes(later!(tokens::nothing_before)),
    ),
    check(
        "confirmation.accepted",
        "A token confirms the call that it was issued for",
        &["REQ-TOK-07"],
        Body::Changes(later!(tokens::accepted)),
    ),
    should(check(
        "confirmation.single_use",
        "A token is valid for one call",
        &["REQ-TOK-10", "REQ-TOK-07"],
        Body::Changes(later!(tokens::single_use)),
    )),
    check(
        "confirmation.other_params",
        "A token is not valid for the same operation with other parameters",
        &["REQ-TOK-03", "REQ-TOK-07"],
        Body::Changes(later!(tokens::other_params)),
    ),
    check(
        "confirmation.other_operation",
        "A token is not valid for another operation",
        &["REQ-TOK-03", "REQ-TOK-07"],
        Body::Changes(later!(tokens::other_operation)),
    ),
    check(
        "confirmation.unknown_token",
        "Unknown and malformed tokens are rejected",
        &["REQ-TOK-07", "REQ-TOK-14"],
        Body::Changes(later!(tokens::unknown_token)),
    ),
    should(check(
        "confirmation.same_error",
        "Unknown and malformed tokens get the same error",
        &["REQ-TOK-15"],
        Body::Changes(later!(tokens::alike)),
    )),
    should(check(
        "confirmation.misplaced",
        "A misplaced token is accepted, or the reply states its place",
        &["REQ-RQ-03", "REQ-ERR-05"],
        Body::Changes(later!(tokens::misplaced)),
    )),
    check(
        "confirmation.codes",
        "Token failures have the codes of the protocol",
        &["REQ-TOK-07", "REQ-ERR-02"],
        Body::Every(tokens::words),
    ),
    should(check(
        "confirmation.not_needed",
        "READ operations do not require confirmation",
        &["REQ-DNG-02"],
        Body::Every(requests::not_needed),
    )),
];
