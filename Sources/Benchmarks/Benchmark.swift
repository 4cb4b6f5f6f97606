/// Something to measure.
struct Benchmark: Sendable {
    /// The name on the command line and of the figure.
    let name: String

    /// One line about it.
    let summary: String

    /// Measures; makes its own cluster where it needs one, and takes its floor in the same run.
    let measure: @Sendable () async throws -> [Figure]

    /// Whether a word is its name, or the beginning of it up to a dot.
    func isNamed(by word: String) -> Bool {
        name == word || name.hasPrefix(word + ".")
    }

    /// All of them, in the order they are printed.
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
