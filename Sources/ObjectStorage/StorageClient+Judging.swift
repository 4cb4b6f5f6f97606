import HTTPCalls

/// What came of a deletion whose objects were judged before each of its calls.
package struct JudgedDeletion: Sendable {
    /// The objects of all calls: one that was turned away may have been carried out all the same.
    package var asked: Set<StorageTarget> = []
    /// The objects of the last call; empty where none was to go any more by then.
    package var last: [StorageTarget] = []
    /// What became of the last call; nil where none was made.
    package var outcome: StorageOutcome<StorageDeletion>?

    /// Nothing yet.
    package init() {}
}

extension StorageClient {
    /// Deletes objects, a few times where the service turns the call away.
    ///
    /// - Parameters:
    ///   - bucket: The bucket's id.
    ///   - judge: Which objects may go, at most ``largestBatch``; asked in turn, right before each call. No call is made
    ///     for none.
    /// - Returns: What was asked for, and what became of it.
    /// - Throws: what `judge` throws; `CancellationError`.
    package func delete(
        in bucket: String,
        judging judge: () async throws -> [StorageTarget]
    ) async throws -> JudgedDeletion {
        var deletion = JudgedDeletion()
        var schedule = RetrySchedule(policy: .init(), repetition: .always)
        while true {
            try await inTurn {
                deletion.last = try await judge()
                deletion.asked.formUnion(deletion.last)
                deletion.outcome = deletion.last.isEmpty ? nil : try await delete(deletion.last, in: bucket)
            }
            guard case .later(let delay)? = deletion.outcome, delay.isTurnedAway,
                // No pause is longer than a call.
                case .pause(let pause) = schedule.next(
                    asked: delay.retryAfter,
                    remaining: deadline,
                    jitter: .random(in: 0...1)
                )
            else { return deletion }
            try await Task.sleep(for: pause, clock: .continuous)
        }
    }
}
