//! Checks of text encoding: invalid text is rejected, and valid text is stored unchanged.

mod binary;
mod invalid;
mod scripts;

use super::{Body, Check, later, of_level_1 as check, of_level_2, should};
use crate::adapter::{Operation, Parameter};
use crate::run::Run;
use crate::shape::Shape;

pub(super) const CHECKS: &[Check] = &[
    should(check(
        "encoding.nul",
        "U+0000 in text is rejected with VALIDATION_INVALID_ENCODING",
        &["REQ-ENC-02"],
        Body::Reads(later!(invalid::nul)),
    )),
    check(
        "encoding.invalid_utf8",
        "Invalid UTF-8 is rejected",
        &["REQ-ENC-01"],
        Body::Alone(later!(invalid::invalid_utf8)),
    ),
    check(
        "encoding.lone_surrogate",
        "A lone surrogate is rejected",
        &["REQ-ENC-01"],
        Body::Alone(later!(invalid::lone_surrogate)),
    ),
    check(
        "encoding.unicode",
        "Text of every script is accepted",
        &["REQ-ENC-01"],
        Body::Reads(later!(scripts::unicode)),
    ),
    of_level_2(
        "encoding.round_trip",
        "Text of every script is returned unchanged",
        &["REQ-ENC-01", "REQ-CNF-13"],
        Body::Changes(later!(scripts::round_trip)),
    ),
    check(
        "encoding.binary",
        "Bytes in results are padded base64 with a MIME type",
        &["REQ-ENC-06"],
        Body::Every(binary::binary),
    ),
];

/// Whether a parameter accepts any text.
pub(super) fn is_free(run: &Run, parameter: &Parameter) -> bool {
    ["enum", "pattern", "format"].iter().all(|member| parameter.member(member).is_none())
        && parameter.kind == "string"
        && Shape::of(&run.adapter, parameter).words().is_none()
}

/// The free-text parameters of operations that change nothing.
fn free_texts(run: &Run) -> impl Iterator<Item = (&Operation, &Parameter)> {
    let parameters = |operation| {
        let operation: &Operation = operation;
        operation.parameters.iter().map(move |parameter| (operation, parameter))
    };
    run.adapter.reads().flat_map(parameters).filter(|(_, parameter)| is_free(run, parameter))
}
