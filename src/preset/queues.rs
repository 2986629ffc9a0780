//! How the queues of job libraries hand out their messages, in the libraries' own words. In a scenario such a preset
//! stands inside the `queue` of a class. What a library retries, and after which waits, is said by its layer of kind
//! queue; this is the rest: when a message is acknowledged, when it comes back, how long a job may take.
//!
//! What a preset says that nothing in a class can bring about, such as a lock that lives on where no worker dies, is not
//! looked at.

use super::{Family, NotAPreset, Preset, Source, Spoken, Version};
use super::{also, as_it_is, duration, further, text, time_limit, word};
use crate::document::{Field, Table, Value};
use crate::policy::Kind;
use crate::units::SimDuration;

/// A queue of a job library.
pub struct Queue {
    /// Its words and what they stand for.
    pub family: &'static Family,
    /// What stands there of it beside its words.
    pub notes: Notes,
    /// The word without one of whose keys, or of those that it stands for, the library takes no job.
    needs: Option<&'static str>,
}

/// What is to be said of a preset beside its words.
pub struct Notes {
    /// What the library does that the general keys can't say, or say otherwise.
    pub differs: &'static str,
    /// What stands beside the preset in a scenario to do what the library does: keys of a pool, and the layer that retries.
    pub beside: &'static str,
}

const fn queue(family: &'static Family, differs: &'static str, beside: &'static str) -> Queue {
    Queue { family, notes: Notes { differs, beside }, needs: None }
}

/// All queues.
pub static QUEUES: [Queue; 12] = [
    queue(
        &RQ,
        "A job whose worker died is found at a maintenance, every 10 min, when its heartbeat is 90 s old, and then \
             takes one of its retries; here it has failed at once. With retries left, acknowledge = \"late\", visibility = \
             \"90s\", renews = true, look_every = \"10m\" and redeliveries_at_most say so, apart from the layer's count.",
        "layers = [{ preset = \"rq\" }]",
    ),
    queue(
        &CELERY_REDIS,
        "Where a child process dies and its worker lives, a task that is acknowledged late is acknowledged all the \
             same (task_reject_on_worker_lost); crashes are of whole workers, of = \"process\". Each worker looks at times \
             of its own; here all look together.",
        "[workers.NAME] prefetch = 4; layers = [{ preset = \"celery\" }]",
    ),
    queue(
        &CELERY_RABBITMQ,
        "The timeout of one message closes the channel and brings back all that its consumer holds; here that one \
             alone comes back. Tasks with a countdown are counted among those that are held.",
        "[workers.NAME] prefetch = 4; layers = [{ preset = \"celery\" }]",
    ),
    queue(
        &BULLMQ,
        "A lock is renewed by timers: where a job keeps the event loop busy it runs out, which skipLockRenewal says. \
             A stalled job is marked at one check and moved at the next; here it is moved at the first check after its lock \
             has run out.",
        "layers = [{ preset = \"bullmq\" }]",
    ),
    queue(
        &ARQ,
        "A worker that shuts down in good order hands its jobs back at once. A job that is run for the sixth time \
             fails without being called; here it is not handed out.",
        "layers = [{ preset = \"arq\" }]",
    ),
    queue(
        &DRAMATIQ_REDIS,
        "One of a thousand commands looks for dead workers, so that the delay depends on the traffic; here they are \
             seen when their heartbeat is old.",
        "[workers.NAME] prefetch = 2; layers = [{ preset = \"dramatiq\" }]",
    ),
    queue(
        &DRAMATIQ_RABBITMQ,
        "The timeout of one message closes the channel and brings back all that its consumer holds; here that one \
             alone comes back.",
        "[workers.NAME] prefetch = 2; layers = [{ preset = \"dramatiq\" }]",
    ),
    queue(&HUEY, "Nothing else: a task that is taken out is gone from the queue.", "layers = [{ preset = \"huey\" }]"),
    queue(
        &SIDEKIQ,
        "A process that shuts down in good order puts its jobs back after 25 s; one that crashes loses them, as here.",
        "layers = [{ preset = \"sidekiq\" }]",
    ),
    queue(
        &SIDEKIQ_SUPER_FETCH,
        "Orphans are also looked for when a process starts, unless somebody has looked within the hour. A job is given \
             up at its third recovery within 72 h; here at its third.",
        "layers = [{ preset = \"sidekiq\" }]",
    ),
    queue(
        &SQS,
        "A queue hands a message out again now and then without a reason, and its order is about that of arrival; \
             here it is exact. A run that fails before its visibility ends is seen again when it ends: the layer's wait is \
             that, counted from the failure.",
        "layers = [{ preset = \"sqs\" }]",
    ),
    Queue {
        needs: Some("StartToCloseTimeout"),
        ..queue(
            &TEMPORAL,
            "A timeout and a missed heartbeat use one of the policy's attempts and its waits; here what comes back after \
             a worker died uses none and comes at once. An activity without heartbeats goes on after its timeout, for \
             nothing; here it ends.",
            "layers = [{ preset = \"temporal\" }]",
        )
    },
];

/// The preset of a queue of this name: a family's word, alone or with `-` and a version.
pub fn find(name: &str) -> Result<Preset, NotAPreset> {
    Preset::among(&QUEUES.each_ref().map(|queue| queue.family), "queue preset", name)
}

fn queue_of(family: &Family) -> Option<&'static Queue> {
    QUEUES.iter().find(|queue| queue.family.word == family.word)
}

/// What is to be said of a queue beside its words.
pub fn notes(family: &Family) -> Option<&'static Notes> {
    queue_of(family).map(|queue| &queue.notes)
}

/// What a preset lacks that the library would refuse to do without; the words are those of the file.
pub fn lacks(preset: &Preset, table: &Table) -> Option<&'static str> {
    let is_missing = !table.contains("timeout") && !table.contains("visibility");
    queue_of(preset.family)?.needs.filter(|_| is_missing)
}

static RQ: Family = Family {
    word: "rq",
    about: "the queue of RQ for Python",
    kind: Kind::Queue,
    versions: &[Version {
        number: "3.0",
        source: Source::Documented("the source of rq 3.0.0"),
        defaults: "acknowledge = \"early\"\ntimeout = \"3m\"\n",
    }],
    words: &[
        word("job_timeout", "timeout", "how long a run may take, or \"none\" (default \"3m\")", |spoken| {
            time_limit(&spoken.field)
        }),
        word("ttl", "expires", "how long a job may wait for its worker; without it, for ever", as_it_is),
    ],
};

/// The words of both of Celery's brokers.
macro_rules! celery {
    ($($own:expr),* $(,)?) => {
        &[
            word("task_acks_late", "acknowledge", "whether a task is acknowledged when it ends (default false)", late),
            $($own,)*
            word("task_time_limit", "timeout", "how long a run may take; without it, without end", as_it_is),
            word("expires", "expires", "how long a task may wait for its worker; without it, for ever", as_it_is),
        ]
    };
}

static CELERY_REDIS: Family = Family {
    word: "celery-redis",
    about: "Celery for Python, on Redis",
    kind: Kind::Queue,
    versions: &[Version {
        number: "5.7",
        source: Source::Measured("celery 5.7.0 with kombu on Redis"),
        defaults: "acknowledge = \"early\"\nvisibility = \"1h\"\nredeliver = \"front\"\nlook_every = \"100s\"\n\
                   first_look = \"10s\"\ndelays = \"worker\"\n",
    }],
    words: celery!(
        word(
            "visibility_timeout",
            "visibility",
            "until a message that nobody has acknowledged comes back (default \"1h\")",
            as_it_is
        ),
        word(
            "unacked_restore_interval",
            "look_every",
            "how often a worker is about to look for these (default \"10s\")",
            looks
        ),
        also("unacked_restore_interval", "first_look", first_look),
        word("unacked_restore_throttle", "look_every", "how many of these times make one look (default 10)", looks),
    ),
};

static CELERY_RABBITMQ: Family = Family {
    word: "celery-rabbitmq",
    about: "Celery for Python, on RabbitMQ",
    kind: Kind::Queue,
    versions: &[Version {
        number: "5.7",
        source: Source::Documented("the user guide of celery 5.7 and the guide to consumers of RabbitMQ"),
        defaults: "acknowledge = \"early\"\nvisibility = \"30m\"\nafter_crash = \"at_once\"\nredeliver = \"front\"\n\
                   look_every = \"1m\"\ndelays = \"worker\"\n",
    }],
    words: celery!(word(
        "consumer_timeout",
        "visibility",
        "until the broker takes a message back that nobody has acknowledged (default \"30m\")",
        as_it_is
    )),
};

static BULLMQ: Family = Family {
    word: "bullmq",
    about: "the queue of BullMQ of npm",
    kind: Kind::Queue,
    versions: &[Version {
        number: "6.7",
        source: Source::Measured("bullmq 6.7.0"),
        defaults: "acknowledge = \"late\"\nvisibility = \"30s\"\nrenews = true\nlook_every = \"30s\"\n\
                   redeliver = \"front\"\nredeliveries_at_most = 1\n",
    }],
    words: &[
        word("lockDuration", "visibility", "how long a lock lives that nobody renews (default \"30s\")", as_it_is),
        word("stalledInterval", "look_every", "how often stalled jobs are looked for (default \"30s\")", as_it_is),
        word("maxStalledCount", "redeliveries_at_most", "how often a stalled job is run again (default 1)", as_it_is),
        word("skipLockRenewal", "renews", "whether a worker lets its locks run out (default false)", |spoken| {
            Some(Value::Boolean(!spoken.field.truth()?))
        }),
    ],
};

static ARQ: Family = Family {
    word: "arq",
    about: "the queue of arq for Python",
    kind: Kind::Queue,
    versions: &[Version {
        number: "0.28",
        source: Source::Documented("the source of arq 0.28.0"),
        defaults: "acknowledge = \"late\"\nvisibility = \"310s\"\nredeliver = \"front\"\n\
                   acknowledgement_removes = \"all\"\nreceives_at_most = 5\ntimeout = \"5m\"\n",
    }],
    words: &[
        word("job_timeout", "timeout", "how long a run may take (default \"5m\")", as_it_is),
        also("job_timeout", "visibility", |spoken| {
            Some(duration(spoken.field.positive_duration()? + SimDuration::from_secs(10)))
        }),
        word("max_tries", "receives_at_most", "how often a job may be run (default 5)", as_it_is),
        word("expires", "expires", "how long a job may wait for its worker; without it, for a day", as_it_is),
    ],
};

/// The words of both of dramatiq's brokers.
macro_rules! dramatiq {
    ($own:expr) => {
        &[
            word("time_limit", "timeout", "how long a run may take (default \"10m\")", as_it_is),
            word("max_age", "expires", "how old a message may be when it is run; without it, any age", as_it_is),
            $own,
        ]
    };
}

static DRAMATIQ_REDIS: Family = Family {
    word: "dramatiq-redis",
    about: "dramatiq for Python, on Redis",
    kind: Kind::Queue,
    versions: &[Version {
        number: "2.2",
        source: Source::Documented("the source of dramatiq 2.2.1"),
        defaults: "acknowledge = \"late\"\nvisibility = \"1m\"\nrenews = true\nredeliver = \"back\"\n\
                   timeout = \"10m\"\n",
    }],
    words: dramatiq!(word(
        "heartbeat_timeout",
        "visibility",
        "until a worker that is silent counts as dead (default \"1m\")",
        as_it_is
    )),
};

static DRAMATIQ_RABBITMQ: Family = Family {
    word: "dramatiq-rabbitmq",
    about: "dramatiq for Python, on RabbitMQ",
    kind: Kind::Queue,
    versions: &[Version {
        number: "2.2",
        source: Source::Documented("the source of dramatiq 2.2.1 and the guide to consumers of RabbitMQ"),
        defaults: "acknowledge = \"late\"\nvisibility = \"30m\"\nafter_crash = \"at_once\"\nredeliver = \"front\"\n\
                   look_every = \"1m\"\ntimeout = \"10m\"\n",
    }],
    words: dramatiq!(word(
        "consumer_timeout",
        "visibility",
        "until the broker takes a message back that nobody has acknowledged (default \"30m\")",
        as_it_is
    )),
};

static HUEY: Family = Family {
    word: "huey",
    about: "the queue of huey for Python",
    kind: Kind::Queue,
    versions: &[Version {
        number: "3.5",
        source: Source::Documented("the guide of huey 3.5"),
        defaults: "acknowledge = \"early\"\n",
    }],
    words: &[word("expires", "expires", "how long a task may wait for its worker; without it, for ever", as_it_is)],
};

static SIDEKIQ: Family = Family {
    word: "sidekiq",
    about: "Sidekiq for Ruby, with its basic fetch",
    kind: Kind::Queue,
    versions: &[Version {
        number: "7",
        source: Source::Documented("the wiki of Sidekiq 7, Reliability"),
        defaults: "acknowledge = \"early\"\n",
    }],
    words: &[],
};

static SIDEKIQ_SUPER_FETCH: Family = Family {
    word: "sidekiq-super-fetch",
    about: "Sidekiq Pro for Ruby, with super_fetch",
    kind: Kind::Queue,
    versions: &[Version {
        number: "7",
        source: Source::Documented("the wiki of Sidekiq 7, Reliability"),
        defaults: "acknowledge = \"late\"\nvisibility = \"1m\"\nrenews = true\nlook_every = \"1h\"\n\
                   redeliveries_at_most = 2\n",
    }],
    words: &[],
};

static SQS: Family = Family {
    word: "sqs",
    about: "Amazon SQS, standard queues",
    kind: Kind::Queue,
    versions: &[Version {
        number: "2012",
        source: Source::Documented("the developer guide of SQS, API version 2012-11-05"),
        defaults: "acknowledge = \"late\"\nvisibility = \"30s\"\nacknowledgement_removes = \"all\"\n\
                   redeliver = \"back\"\nexpires = \"4d\"\n",
    }],
    words: &[
        word("VisibilityTimeout", "visibility", "until a message is seen again (default \"30s\")", as_it_is),
        word(
            "maxReceiveCount",
            "receives_at_most",
            "receives before a message goes to the dead-letter queue; without it there is no such queue",
            as_it_is,
        ),
        word("MessageRetentionPeriod", "expires", "how long a message is kept (default \"4d\")", as_it_is),
    ],
};

static TEMPORAL: Family = Family {
    word: "temporal",
    about: "activities of Temporal",
    kind: Kind::Queue,
    versions: &[Version {
        number: "1",
        source: Source::Documented("the encyclopedia of Temporal 1, Detecting activity failures"),
        defaults: "acknowledge = \"late\"\nacknowledgement_removes = \"all\"\nredeliver = \"back\"\n",
    }],
    words: &[
        word(
            "StartToCloseTimeout",
            "timeout",
            "how long one try may take; one of it and a heartbeat is needed",
            as_it_is,
        ),
        word("HeartbeatTimeout", "visibility", "how long a worker may be silent; without it, the whole try", as_it_is),
        further("HeartbeatTimeout", "renews", |spoken| spoken.field.positive_duration().map(|_| Value::Boolean(true))),
        also("StartToCloseTimeout", "visibility", as_it_is),
        word("ScheduleToStartTimeout", "expires", "how long it may wait for a worker; without it, for ever", as_it_is),
        word("ScheduleToCloseTimeout", "deadline", "how long it may take in all; without it, for ever", as_it_is),
    ],
};

fn late(spoken: &Spoken<'_>) -> Option<Value> {
    Some(text(if spoken.field.truth()? { "late" } else { "early" }))
}

fn looks(spoken: &Spoken<'_>) -> Option<Value> {
    let interval = spoken.or("unacked_restore_interval", SimDuration::from_secs(10), Field::positive_duration)?;
    let throttle = spoken.or("unacked_restore_throttle", 10, |field| field.whole(1..=1_000_000))?;
    Some(duration(interval.times(throttle)))
}

fn first_look(spoken: &Spoken<'_>) -> Option<Value> {
    spoken.field.positive_duration().map(duration)
}
