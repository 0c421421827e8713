//! Checks of character encoding: invalid strings are rejected, and valid ones are stored unchanged.

mod binary;
mod invalid;
mod scripts;

use super::{Check, checks};
use crate::adapter::{Operation, Parameter};
use crate::run::Run;
use crate::shape::Shape;

pub(super) const CHECKS: &[Check] = checks![
    Should 1 "encoding.nul" => Reads(invalid::nul), ["REQ-ENC-02"],
        "U+0000 in text is rejected with VALIDATION_INVALID_ENCODING";
    Must 1 "encoding.invalid_utf8" => Alone(invalid::invalid_utf8), ["REQ-ENC-01"],
        "Invalid UTF-8 is rejected";
    Must 1 "encoding.lone_surrogate" => Alone(invalid::lone_surrogate), ["REQ-ENC-01"],
        "A lone surrogate is rejected";
    Must 1 "encoding.unicode" => Reads(scripts::unicode), ["REQ-ENC-01"],
        "Text of every script is accepted";
    Must 2 "encoding.round_trip" => Changes(scripts::round_trip), ["REQ-ENC-01", "REQ-CNF-13"],
        "Text of every script is returned unchanged";
    Must 1 "encoding.binary" => Every(binary::binary), ["REQ-ENC-06"],
        "Bytes in results are padded base64 with a MIME type";
];

/// Returns `true` if a parameter accepts any string.
pub(super) fn is_free(run: &Run, parameter: &Parameter) -> bool {
    parameter.kind == "string" && Shape::of(&run.adapter, parameter).is_free_text()
}

/// Returns the free-form string parameters of operations that change nothing.
fn free_texts(run: &Run) -> impl Iterator<Item = (&Operation, &Parameter)> {
    let parameters = |operation| {
        let operation: &Operation = operation;
        operation.parameters.iter().map(move |parameter| (operation, parameter))
    };
    run.adapter.reads().flat_map(parameters).filter(|(_, parameter)| is_free(run, parameter))
}
