//! Types that contain another type, one for each position where a type can occur.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::samples::Samples;

/// A struct with the type in its fields.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Field<T> {
    /// The value.
    value: T,
    /// The optional value.
    optional: Option<T>,
    /// The values.
    list: Vec<T>,
}

impl<T: Samples> Samples for Field<T> {
    fn samples() -> Vec<Self> {
        let list = |value| Self { value, optional: T::samples().pop(), list: T::samples() };
        let plain = |value| Self { value, optional: None, list: Vec::new() };
        T::samples().into_iter().map(plain).chain(T::samples().into_iter().map(list)).collect()
    }
}

/// The variant's name is the only member.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) enum External<T> {
    Nothing,
    One(T),
    Two(T, bool),
    Named {
        /// The value.
        inner: T,
    },
}

impl<T: Samples> Samples for External<T> {
    fn samples() -> Vec<Self> {
        let all = T::samples().into_iter().zip(T::samples()).zip(T::samples());
        let each = all.flat_map(|((one, two), inner)| {
            [Self::One(one), Self::Two(two, true), Self::Named { inner }]
        });
        std::iter::once(Self::Nothing).chain(each).collect()
    }
}

/// The tag is a member of its own, and so is the content.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "tag_of_two", content = "content")]
pub(crate) enum Adjacent<T> {
    Nothing,
    One(T),
    Two(T, bool),
    Named {
        /// The value.
        inner: T,
    },
}

impl<T: Samples> Samples for Adjacent<T> {
    fn samples() -> Vec<Self> {
        External::samples()
            .into_iter()
            .map(|external| match external {
                External::Nothing => Self::Nothing,
                External::One(value) => Self::One(value),
                External::Two(value, flag) => Self::Two(value, flag),
                External::Named { inner } => Self::Named { inner },
            })
            .collect()
    }
}

/// The tag is beside the members.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "tag")]
pub(crate) enum Internal<T> {
    Nothing,
    Named {
        /// The value.
        inner: T,
    },
    Optional {
        /// The optional value.
        inner: Option<T>,
    },
}

impl<T: Samples> Samples for Internal<T> {
    fn samples() -> Vec<Self> {
        let named = T::samples().into_iter().map(|inner| Self::Named { inner });
        let optional = Option::samples().into_iter().map(|inner| Self::Optional { inner });
        std::iter::once(Self::Nothing).chain(named).chain(optional).collect()
    }
}

/// Without a tag.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Untagged<T> {
    Named {
        /// The value.
        inner_value: T,
    },
    Two(T, bool),
}

impl<T: Samples> Samples for Untagged<T> {
    fn samples() -> Vec<Self> {
        let named = T::samples().into_iter().map(|inner_value| Self::Named { inner_value });
        named.chain(T::samples().into_iter().map(|value| Self::Two(value, false))).collect()
    }
}

/// The members of the type beside others.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Flat<T> {
    /// Another member.
    other: u8,
    #[serde(flatten)]
    flat: T,
}

impl<T: Samples> Samples for Flat<T> {
    fn samples() -> Vec<Self> {
        T::samples().into_iter().map(|flat| Self { other: 5, flat }).collect()
    }
}

/// The members of the type beside a tag.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "tag")]
pub(crate) enum Tagged<T> {
    First(T),
    Second(Box<T>),
    Third,
}

impl<T: Samples> Samples for Tagged<T> {
    fn samples() -> Vec<Self> {
        let second = T::samples().into_iter().map(|value| Self::Second(Box::new(value)));
        let first = T::samples().into_iter().map(Self::First);
        first.chain(second).chain([Self::Third]).collect()
    }
}

/// The type itself or its members beside another one, without a tag.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Wrapped<T> {
    Flat {
        /// Another member.
        other_member: u8,
        #[serde(flatten)]
        flat: T,
    },
    Alone(T),
}

impl<T: Samples> Samples for Wrapped<T> {
    fn samples() -> Vec<Self> {
        let flat = T::samples().into_iter().map(|flat| Self::Flat { other_member: 1, flat });
        flat.chain(T::samples().into_iter().map(Self::Alone)).collect()
    }
}
