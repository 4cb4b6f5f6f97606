import AccountLifecycle

/// The state of the database as found before a replay changes anything.
struct ReplaySurvey {
    let database: DatabaseIdentity
    let life: DatabaseLife
    let replay: ErasureReplay
    /// How many of the accounts to be erased are under a legal hold.
    let held: Int
    /// The receipt numbers that the list names and the database would assign again; nil if there are none.
    let skips: ClosedRange<Int64>?
    /// Whether every deletion is paused.
    let isPaused: Bool
    /// Whether a worker is alive.
    let isWorked: Bool

    /// Whether the list has nothing to repeat, so that at most receipt numbers have to be skipped.
    var repeatsNothing: Bool { replay.steps.isEmpty }

    /// Whether there is nothing to do at all.
    var isUnchanged: Bool { repeatsNothing && skips == nil }
}
