/// A measurement.
struct Benchmark: Sendable {
    /// The name on the command line and in the figure.
    let name: String

    /// A description in one line.
    let summary: String

    /// Measures; creates its own cluster if needed, and measures its floor in the same run.
    let measure: @Sendable () async throws -> [Figure]

    /// Whether a word is the name, or the start of it up to a dot.
    func isNamed(by word: String) -> Bool {
        name == word || name.hasPrefix(word + ".")
    }

    /// All benchmarks, in the order in which they are printed.
    ///
    /// Each has a file of its own.
    static let all: [Benchmark] = [
        .driverRoundtrip,
        .deletionRate,
        .lookupFind,
        .operatorList,
        .operatorBulk,
        .migrateApply,
        .migrateIdle,
        .verifySingle,
        .verifyBatch,
        .memoryIdle,
        .memoryLoad,
        .commandStart,
        .commandSize,
        .queueDrain,
        .queueEnqueueBulk,
        .queueEnqueueSingle,
        .queueEnqueueConcurrent,
        .queueWakeupMedian,
        .queueWakeupTail,
        .queueClaimPinned,
        .queueClaimCrowded,
        .queueMemory,
        .relayCheck,
        .relayParallel,
        .relaySPF,
        .appleNotifications,
        .appleNotificationsKilled,
    ]
}
