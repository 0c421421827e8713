//! Encodes a step of a walk for a cursor.

use super::element::{EdgeDirection, ElementRef};
use super::walk::Step;
use crate::cursor;
use crate::value::Scalar;

/// Encodes the position after this step.
pub(super) fn pack(step: &Step) -> Vec<u8> {
    let text = |text: &String| Scalar::from(text.clone());
    cursor::pack(&[
        Scalar::Int(i128::try_from(step.depth).unwrap_or(i128::MAX)),
        text(&step.near.element_type),
        text(&step.near.element_name),
        Scalar::Bool(step.side == EdgeDirection::Outgoing),
        text(&step.relationship),
        text(&step.far.element_type),
        text(&step.far.element_name),
    ])
}

/// Decodes a step encoded by [`pack`].
pub(super) fn unpack(bytes: &[u8]) -> Option<Step> {
    let values: [Scalar; 7] = cursor::unpack(bytes)?.try_into().ok()?;
    let [depth, near_type, near_name, outgoing, relationship, far_type, far_name] = values;
    let (Scalar::Int(depth), Scalar::Bool(outgoing)) = (depth, outgoing) else { return None };
    let text = |value| match value {
        Scalar::Text(text) => Some(text.into_owned()),
        _ => None,
    };
    Some(Step {
        depth: usize::try_from(depth).ok()?,
        near: ElementRef { element_type: text(near_type)?, element_name: text(near_name)? },
        side: if outgoing { EdgeDirection::Outgoing } else { EdgeDirection::Incoming },
        relationship: text(relationship)?,
        far: ElementRef { element_type: text(far_type)?, element_name: text(far_name)? },
    })
}
