import AccountLifecycle

/// What a replay of the list of erasures saw before it does anything.
struct ReplaySurvey {
    let database: DatabaseIdentity
    let life: DatabaseLife
    let replay: ErasureReplay
    /// How many of those to be asked for are under a legal hold.
    let held: Int
    /// The numbers of receipts that the list names and the database would give again; nil where there are none.
    let skips: ClosedRange<Int64>?
    /// Whether every deletion is paused.
    let isPaused: Bool
    /// Whether a worker is alive.
    let isWorked: Bool

    /// Whether nothing but numbers may have to be skipped.
    var repeatsNothing: Bool { replay.steps.isEmpty }

    /// Whether nothing is to be done at all.
    var isUnchanged: Bool { repeatsNothing && skips == nil }
}
