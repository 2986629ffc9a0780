//! Amazon SQS with a redrive policy. A message that is not deleted can be received again when its visibility timeout is
//! over, and goes to the dead-letter queue after `maxReceiveCount` receives; without such a queue it comes back until
//! its retention ends.
//!
//! The timeout runs from the receive, here from the failure: a job that takes long waits that much longer. A job that
//! outlives its timeout is received twice where the class of jobs says so in its `queue`.

use super::{Family, Source, Spoken, Version, as_it_is, duration, form, word};
use crate::document::Value;

pub(super) static FAMILY: Family = Family {
    word: "sqs",
    about: "Amazon SQS and its redrive policy",
    kind: crate::policy::Kind::Queue,
    versions: &[Version {
        number: "2012",
        source: Source::Documented("the developer guide of SQS, API version 2012-11-05"),
        defaults: "max_attempts = \"unlimited\"\nretry_on = \"any\"\nbackoff = { fixed = \"30s\" }\n\
                   total_budget = \"4d\"\nrequeue = \"back\"\nresume = \"restart\"\n",
    }],
    words: &[
        word(
            "maxReceiveCount",
            "max_attempts",
            "receives before a message goes to the dead-letter queue, 1 to 1000; without it there is no such \
                      queue",
            receives,
        ),
        word("VisibilityTimeout", "backoff", "until a message that failed is seen again (default \"30s\")", |spoken| {
            Some(form("fixed", duration(spoken.field.duration()?)))
        }),
        word("MessageRetentionPeriod", "total_budget", "how long a message is kept (default \"4d\")", as_it_is),
    ],
};

fn receives(spoken: &Spoken<'_>) -> Option<Value> {
    let receives = spoken.field.whole(1..=1_000)?;
    Some(Value::Integer(i64::try_from(receives).ok()?))
}
