//! Provides sample values of each type.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::net::IpAddr;
use std::num::NonZeroU8;

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, Utc};
use serde_json::{Value, json};
use uuid::Uuid;

/// A type with sample values.
pub(crate) trait Samples: Sized {
    fn samples() -> Vec<Self>;
}

macro_rules! samples {
    ($($type:ty: [$($value:expr),+ $(,)?]),+ $(,)?) => {
        $(
            impl Samples for $type {
                fn samples() -> Vec<Self> {
                    vec![$($value),+]
                }
            }
        )+
    };
}

pub(crate) use samples;

samples! {
    bool: [true, false],
    u8: [0, 7, u8::MAX],
    u16: [0, u16::MAX],
    u32: [0, u32::MAX],
    u64: [0, u64::MAX],
    usize: [0, usize::MAX],
    i8: [i8::MIN, 0, i8::MAX],
    i32: [i32::MIN, i32::MAX],
    i64: [i64::MIN, -1, i64::MAX],
    f32: [0.5, -2.0],
    f64: [0.0, -1.5, f64::MAX, f64::MIN_POSITIVE, 9_007_199_254_740_993.0],
    char: ['a', 'ß'],
    String: [String::new(), "a".to_owned(), "Straße".to_owned()],
    NonZeroU8: [NonZeroU8::MIN, NonZeroU8::MAX],
    IpAddr: [IpAddr::from([192, 0, 2, 1]), IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1])],
    Uuid: [Uuid::nil(), Uuid::max()],
    DateTime<Utc>: [DateTime::UNIX_EPOCH, DateTime::from_timestamp(4, 500_000_000).unwrap()],
    NaiveDate: [NaiveDate::from_ymd_opt(2031, 5, 6).unwrap()],
    NaiveTime: [NaiveTime::MIN, NaiveTime::from_hms_milli_opt(23, 59, 59, 250).unwrap()],
    NaiveDateTime: [DateTime::UNIX_EPOCH.naive_utc()],
    Value: [json!(1), json!("a"), json!([null, { "b": [] }]), json!({ "a": { "b": null } })],
}

/// Implements `Samples` for a container: empty, with one sample, and with all samples of the inner type.
macro_rules! containers {
    ($($container:ident $(+ $bound:ident)?),+) => {
        $(
            impl<T: Samples $(+ $bound)?> Samples for $container<T> {
                fn samples() -> Vec<Self> {
                    let one = T::samples().into_iter().take(1);
                    vec![Self::default(), one.collect(), T::samples().into_iter().collect()]
                }
            }
        )+
    };
}

containers!(Vec, VecDeque, BTreeSet + Ord);

impl<T: Samples> Samples for Option<T> {
    fn samples() -> Vec<Self> {
        std::iter::once(None).chain(T::samples().into_iter().map(Some)).collect()
    }
}

impl<T: Samples> Samples for Box<T> {
    fn samples() -> Vec<Self> {
        T::samples().into_iter().map(Self::new).collect()
    }
}

/// Repeats the samples without end.
pub(crate) fn repeated<T: Samples>() -> impl Iterator<Item = T> {
    std::iter::repeat_with(T::samples).flatten()
}

impl<K: Samples + Ord, V: Samples> Samples for BTreeMap<K, V> {
    fn samples() -> Vec<Self> {
        let all: Self = K::samples().into_iter().zip(repeated()).collect();
        let values: Self = repeated().zip(V::samples()).take(K::samples().len()).collect();
        vec![Self::new(), all, values]
    }
}

impl<K: Samples + Ord + std::hash::Hash, V: Samples> Samples for HashMap<K, V> {
    fn samples() -> Vec<Self> {
        BTreeMap::samples().into_iter().map(|map| map.into_iter().collect()).collect()
    }
}

impl<A: Samples, B: Samples> Samples for (A, B) {
    fn samples() -> Vec<Self> {
        let count = A::samples().len().max(B::samples().len());
        repeated().zip(repeated()).take(count).collect()
    }
}

impl<T: Samples + Clone, const N: usize> Samples for [T; N] {
    fn samples() -> Vec<Self> {
        T::samples().into_iter().map(|each| std::array::from_fn(|_| each.clone())).collect()
    }
}
