//! The code shared by danger levels and trust levels: ordered enums with a word for each level.

use std::fmt;

/// Returned if a string is not the word of a level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownLevel {
    pub(crate) given: String,
    pub(crate) kind: &'static str,
    pub(crate) known: String,
}

impl fmt::Display for UnknownLevel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { given, kind, known } = self;
        write!(formatter, "`{given}` is not a {kind}: write one of {known}")
    }
}

impl std::error::Error for UnknownLevel {}

macro_rules! levels {
    ($type:ident, $kind:literal, $($variant:ident = $word:literal),*) => {
        impl $type {
            /// All levels, in ascending order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the word for the level in JSON and in configuration files.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),*
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::UnknownLevel;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                match word {
                    $($word => Ok(Self::$variant),)*
                    _ => Err($crate::UnknownLevel {
                        given: word.to_owned(),
                        kind: $kind,
                        known: [$($word),*].join(", "),
                    }),
                }
            }
        }

        #[cfg(feature = "serde")]
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <String as serde::Deserialize>::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use levels;
