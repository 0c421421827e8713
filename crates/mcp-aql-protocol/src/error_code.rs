//! The protocol's error codes.

use std::fmt;

macro_rules! codes {
    ($(#[doc = $doc:literal] $variant:ident = $text:literal;)*) => {
        /// The protocol's error codes.
        ///
        /// ```
        /// use mcp_aql_protocol::ErrorCode;
        ///
        /// assert_eq!(ErrorCode::NotFoundResource.as_str(), "NOT_FOUND_RESOURCE");
        /// assert!(ErrorCode::NotFoundResource.is_recoverable());
        /// ```
        ///
        /// Source: requirement catalogue, appendix 2 (REQ-ERR-01, REQ-ERR-02).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $(#[doc = $doc] $variant,)*
        }

        impl ErrorCode {
            /// Every code, in the registry's order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the code as sent to clients, for example `NOT_FOUND_RESOURCE`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            /// Returns a one-sentence description of the code.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => $doc.trim_ascii(),)*
                }
            }
        }
    };
}

codes! {
    /// A required parameter was left out.
    ValidationMissingParam = "VALIDATION_MISSING_PARAM";
    /// A value has the wrong JSON type.
    ValidationInvalidType = "VALIDATION_INVALID_TYPE";
    /// A value breaks a constraint: enum, range, length, pattern, format.
    ValidationInvalidValue = "VALIDATION_INVALID_VALUE";
    /// A parameter is not in the operation's schema.
    ValidationUnknownParam = "VALIDATION_UNKNOWN_PARAM";
    /// A field inside `input` is not one of the resource's updatable fields.
    ValidationUnknownField = "VALIDATION_UNKNOWN_FIELD";
    /// A field inside `input` exists but cannot be written.
    ValidationReadOnlyField = "VALIDATION_READ_ONLY_FIELD";
    /// A field accepts additions only.
    ValidationAppendOnly = "VALIDATION_APPEND_ONLY";
    /// The operation belongs to another endpoint.
    ValidationEndpointMismatch = "VALIDATION_ENDPOINT_MISMATCH";
    /// Text is not valid UTF-8 or contains U+0000.
    ValidationInvalidEncoding = "VALIDATION_INVALID_ENCODING";
    /// A size limit was exceeded.
    ValidationPayloadTooLarge = "VALIDATION_PAYLOAD_TOO_LARGE";
    /// No operation has this name.
    NotFoundOperation = "NOT_FOUND_OPERATION";
    /// No resource has this identifier.
    NotFoundResource = "NOT_FOUND_RESOURCE";
    /// The caller may not do this.
    PermissionDenied = "PERMISSION_DENIED";
    /// The adapter is not trusted enough.
    PermissionTrustLevelInsufficient = "PERMISSION_TRUST_LEVEL_INSUFFICIENT";
    /// The operation is too dangerous for the adapter's trust level.
    PermissionDangerLevelDenied = "PERMISSION_DANGER_LEVEL_DENIED";
    /// The call must be confirmed first.
    ConfirmationRequired = "CONFIRMATION_REQUIRED";
    /// The resource exists already.
    ConflictAlreadyExists = "CONFLICT_ALREADY_EXISTS";
    /// The resource changed since the caller read it, or its state does not allow the operation.
    ConflictVersionMismatch = "CONFLICT_VERSION_MISMATCH";
    /// Too many calls.
    RateLimitExceeded = "RATE_LIMIT_EXCEEDED";
    /// A quota wants a confirmation before it goes on.
    RateLimitQuotaPause = "RATE_LIMIT_QUOTA_PAUSE";
    /// A quota is used up.
    RateLimitQuotaExhausted = "RATE_LIMIT_QUOTA_EXHAUSTED";
    /// No such confirmation token.
    TokenInvalid = "TOKEN_INVALID";
    /// The confirmation token is too old.
    TokenExpired = "TOKEN_EXPIRED";
    /// The confirmation token was used before.
    TokenAlreadyUsed = "TOKEN_ALREADY_USED";
    /// The confirmation token belongs to another call.
    TokenScopeMismatch = "TOKEN_SCOPE_MISMATCH";
    /// `introspect` does not know this `query`.
    InvalidQueryType = "INVALID_QUERY_TYPE";
    /// `introspect` was asked for something that does not go together.
    IntrospectionError = "INTROSPECTION_ERROR";
    /// A batch is malformed.
    BatchValidationError = "BATCH_VALIDATION_ERROR";
    /// The adapter failed; the cause is in its log.
    InternalError = "INTERNAL_ERROR";
}

impl ErrorCode {
    /// Returns `true` if the model can correct the failure with another call. Only `INTERNAL_ERROR` is not recoverable.
    ///
    /// Replies with a recoverable error have `isError: false` (REQ-MCP-10, REQ-MCP-11, choice C-11).
    pub const fn is_recoverable(self) -> bool {
        !matches!(self, Self::InternalError)
    }

    /// Maps the HTTP status of a wrapped API to an error code. Returns `None` below 400.
    ///
    /// ```
    /// use mcp_aql_protocol::ErrorCode;
    ///
    /// assert_eq!(ErrorCode::from_http_status(404), Some(ErrorCode::NotFoundResource));
    /// assert_eq!(ErrorCode::from_http_status(200), None);
    /// ```
    ///
    /// Source: mcp-integration §4.3 (REQ-ERR-08, choice C-13).
    pub const fn from_http_status(status: u16) -> Option<Self> {
        match status {
            401 | 403 => Some(Self::PermissionDenied),
            404 => Some(Self::NotFoundResource),
            409 => Some(Self::ConflictAlreadyExists),
            429 => Some(Self::RateLimitExceeded),
            400..500 => Some(Self::ValidationInvalidType),
            500.. => Some(Self::InternalError),
            _ => None,
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for ErrorCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_upper_snake_case_and_unique() {
        // REQ-ERR-01, REQ-RSP-04
        let mut seen = std::collections::BTreeSet::new();
        for code in ErrorCode::ALL {
            let text = code.as_str();
            assert!(text.starts_with(|first: char| first.is_ascii_uppercase()), "{text}");
            assert!(text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'), "{text}");
            assert!(seen.insert(text), "{text} twice");
        }
    }

    #[test]
    fn http_statuses_map_to_codes() {
        // REQ-ERR-08
        for (status, code) in [
            (400, Some(ErrorCode::ValidationInvalidType)),
            (401, Some(ErrorCode::PermissionDenied)),
            (403, Some(ErrorCode::PermissionDenied)),
            (404, Some(ErrorCode::NotFoundResource)),
            (409, Some(ErrorCode::ConflictAlreadyExists)),
            (418, Some(ErrorCode::ValidationInvalidType)),
            (422, Some(ErrorCode::ValidationInvalidType)),
            (429, Some(ErrorCode::RateLimitExceeded)),
            (500, Some(ErrorCode::InternalError)),
            (503, Some(ErrorCode::InternalError)),
            (302, None),
        ] {
            assert_eq!(ErrorCode::from_http_status(status), code, "{status}");
        }
    }
}
