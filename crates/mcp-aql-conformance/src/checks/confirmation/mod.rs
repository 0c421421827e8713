//! Checks of confirmation requests and confirmation tokens.

mod pending_call;
mod requests;
mod tokens;

use super::{Check, checks};

pub(super) use self::pending_call::{ask, none, params};

pub(super) const CHECKS: &[Check] = checks![
    Must 2 "confirmation.issued" => Changes(requests::issued), ["REQ-TOK-06"],
        "A confirmation request states operation, danger level, token and expiry";
    Must 2 "confirmation.token_form" => Changes(requests::token_form), ["REQ-TOK-01"],
        "Tokens have the prefix, the characters and the length of the protocol";
    Must 2 "confirmation.fresh" => Changes(requests::fresh), ["REQ-TOK-02"],
        "Tokens cannot be guessed from each other";
    Must 2 "confirmation.expiry" => Changes(requests::expiry), ["REQ-TOK-08"],
        "Tokens expire within the protocol's limit";
    Must 2 "confirmation.nothing_before" => Changes(tokens::nothing_before),
        ["REQ-GATE-01", "REQ-DNG-03"],
        "An operation does not run before it is confirmed";
    Must 2 "confirmation.accepted" => Changes(tokens::accepted), ["REQ-TOK-07"],
        "A token confirms the call that it was issued for";
    Should 2 "confirmation.single_use" => Changes(tokens::single_use), ["REQ-TOK-10", "REQ-TOK-07"],
        "A token is valid for one call";
    Must 2 "confirmation.other_params" => Changes(tokens::other_params),
        ["REQ-TOK-03", "REQ-TOK-07"],
        "A token is not valid for the same operation with other parameters";
    Must 2 "confirmation.other_operation" => Changes(tokens::other_operation),
        ["REQ-TOK-03", "REQ-TOK-07"],
        "A token is not valid for another operation";
    Must 2 "confirmation.unknown_token" => Changes(tokens::unknown_token),
        ["REQ-TOK-07", "REQ-TOK-14"],
        "Unknown and malformed tokens are rejected";
    Should 2 "confirmation.same_error" => Changes(tokens::alike), ["REQ-TOK-15"],
        "Unknown and malformed tokens get the same error";
    Should 2 "confirmation.misplaced" => Changes(tokens::misplaced), ["REQ-RQ-03", "REQ-ERR-05"],
        "A misplaced token is accepted, or the reply states where it belongs";
    Must 2 "confirmation.codes" => Every(tokens::words), ["REQ-TOK-07", "REQ-ERR-02"],
        "Token failures have the codes of the protocol";
    Should 2 "confirmation.not_needed" => Every(requests::not_needed), ["REQ-DNG-02"],
        "READ operations do not require confirmation";
];
