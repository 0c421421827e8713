//! Checks of confirmation requests and confirmation tokens.

mod pending_call;
mod requests;
mod tokens;

use super::{Check, checks};

pub(super) use self::pending_call::{ask, none, params};

pub(super) const CHECKS: &[Check] = checks![
    Must 2 "confirmation.issued" => Changes(requests::issued), ["REQ-TOK-06"],
        "A confirmation request states operation, danger level, token and expiry",
        fix: "state the operation, its danger level, the token and its expiry";
    Must 2 "confirmation.token_form" => Changes(requests::token_form), ["REQ-TOK-01"],
        "Tokens have the prefix, the characters and the length of the protocol",
        expected: "a token of `conf_` and 1 to 64 letters, digits, `_` or `-`, with 8 to 80 characters in all",
        fix: "use the token format of the protocol: clients check it before they send tokens";
    Must 2 "confirmation.fresh" => Changes(requests::fresh), ["REQ-TOK-02"],
        "Tokens cannot be guessed from each other",
        expected: "tokens with 128 random bits or more each, no two of them alike",
        fix: "generate tokens with the system's random generator, not from counters, times or hashes of known values";
    Must 2 "confirmation.expiry" => Changes(requests::expiry), ["REQ-TOK-08"],
        "Tokens expire within the protocol's limit",
        fix: "let tokens expire after 5 minutes (2 for forbidden operations), and after at most 15 (5)";
    Must 2 "confirmation.nothing_before" => Changes(tokens::nothing_before),
        ["REQ-GATE-01", "REQ-DNG-03"],
        "An operation does not run before it is confirmed",
        fix: "request confirmation before the operation runs";
    Must 2 "confirmation.accepted" => Changes(tokens::accepted), ["REQ-TOK-07"],
        "A token confirms the call that it was issued for",
        expected: "a success, because it is the same call with its token in `params._confirmation`",
        fix: "accept the token for the parameters that it was issued for, compared without `_confirmation`";
    Should 2 "confirmation.single_use" => Changes(tokens::single_use), ["REQ-TOK-10", "REQ-TOK-07"],
        "A token is valid for one call",
        expected: "a failure TOKEN_ALREADY_USED: the token was used before",
        fix: "mark a token as used before the operation runs, and check that mark first";
    Must 2 "confirmation.other_params" => Changes(tokens::other_params),
        ["REQ-TOK-03", "REQ-TOK-07"],
        "A token is not valid for the same operation with other parameters",
        fix: "bind a token to the parameters that identify the affected data, and compare them when it is used";
    Must 2 "confirmation.other_operation" => Changes(tokens::other_operation),
        ["REQ-TOK-03", "REQ-TOK-07"],
        "A token is not valid for another operation",
        fix: "bind a token to its operation";
    Must 2 "confirmation.unknown_token" => Changes(tokens::unknown_token),
        ["REQ-TOK-07", "REQ-TOK-14"],
        "Unknown and malformed tokens are rejected",
        expected: "a failure TOKEN_INVALID and no change, because this token was never issued",
        fix: "accept only issued tokens, unchanged";
    Should 2 "confirmation.same_error" => Changes(tokens::alike), ["REQ-TOK-15"],
        "Unknown and malformed tokens get the same error",
        fix: "return the same error for unknown and malformed tokens: a difference reveals the form of valid ones";
    Should 2 "confirmation.misplaced" => Changes(tokens::misplaced), ["REQ-RQ-03", "REQ-ERR-05"],
        "A misplaced token is accepted, or the reply states where it belongs",
        fix: "accept `_confirmation` in `params` and next to `operation`, or state in the failure where it belongs";
    Must 2 "confirmation.codes" => Every(tokens::words), ["REQ-TOK-07", "REQ-ERR-02"],
        "Token failures have the codes of the protocol",
        fix: "use the protocol's codes for token failures";
    Should 2 "confirmation.not_needed" => Every(requests::not_needed), ["REQ-DNG-02"],
        "READ operations do not require confirmation",
        expected: "a reply without confirmation, because READ operations are safe",
        fix: "require confirmation for changes, not for READ operations";
];
