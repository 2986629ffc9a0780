//! Errors that no wait clears, by the word in their body. Many come with a status that usually means "later", 429 above
//! all, so that a client which looks at the status alone repeats them to the end of its attempts.

/// Well-known permanent error codes, each with the provider that sends it. The word `permanent` in a list of codes stands
/// for all of them.
///
/// Sources are the providers' public references of their errors. `anthropic`: the error types, and the code of a spend
/// limit in the details of a 429. `openai`: the error codes, and those of the billing family, whose type is often
/// `insufficient_quota`. `azure`: the errors of its service for the same models. `aws`: the exceptions of Amazon Bedrock
/// and the common ones. `google`: the statuses and reasons of its APIs. Providers add codes and rename them: a code that is
/// missing here can be written out beside the word.
pub const PERMANENT: [(&str, &str); 30] = [
    // 429, until the month is over or someone raises the limit.
    ("enforced_spend_limit_reached", "anthropic"),
    // 400, 401, 402, 403, 404, 413.
    ("invalid_request_error", "anthropic"),
    ("authentication_error", "anthropic"),
    ("billing_error", "anthropic"),
    ("permission_error", "anthropic"),
    ("not_found_error", "anthropic"),
    ("request_too_large", "anthropic"),
    // 429, until someone pays or raises the limit.
    ("insufficient_quota", "openai"),
    ("credit_balance_exhausted", "openai"),
    ("organization_spend_limit_exceeded", "openai"),
    ("project_spend_limit_exceeded", "openai"),
    ("organization_usage_limit_exceeded", "openai"),
    ("billing_not_active", "openai"),
    // 400, 401, 403, 404.
    ("billing_hard_limit_reached", "openai"),
    ("context_length_exceeded", "openai"),
    ("string_above_max_length", "openai"),
    ("content_policy_violation", "openai"),
    ("invalid_api_key", "openai"),
    ("unsupported_country_region_territory", "openai"),
    ("model_not_found", "openai"),
    // 400 and 404.
    ("content_filter", "azure"),
    ("DeploymentNotFound", "azure"),
    // 400, 403, 404.
    ("AccessDeniedException", "aws"),
    ("ValidationException", "aws"),
    ("ResourceNotFoundException", "aws"),
    ("UnrecognizedClientException", "aws"),
    // 400, 403.
    ("API_KEY_INVALID", "google"),
    ("BILLING_DISABLED", "google"),
    ("PERMISSION_DENIED", "google"),
    ("SERVICE_DISABLED", "google"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_code_stands_there_twice() {
        let mut codes = PERMANENT.map(|(code, _)| code);
        codes.sort_unstable();
        assert!(codes.windows(2).all(|pair| pair[0] != pair[1]), "{codes:?}");
    }
}
