import HTTPCalls

/// The outcome of a deletion whose objects were checked again before each of its calls.
package struct JudgedDeletion: Sendable {
    /// The objects of all calls, since a call that was turned away may still have been carried out.
    package var asked: Set<StorageTarget> = []
    /// The objects of the last call; empty if none were left to delete.
    package var last: [StorageTarget] = []
    /// The outcome of the last call; nil if that call had no objects.
    package var outcome: StorageOutcome<StorageDeletion>?

    /// Whether the last call may have failed because it was for too many objects.
    package var mayHaveBeenTooLarge: Bool {
        guard case .later(let delay)? = outcome else { return false }
        return delay.mayBeOfSize
    }

    /// Creates the result before the first call.
    package init() {}
}

extension StorageClient {
    /// Deletes objects, with a few retries if the service turns a call away.
    ///
    /// - Parameters:
    ///   - bucket: The bucket's id.
    ///   - judge: Returns the objects that may be deleted now, at most ``largestBatch``. It runs right before each
    ///     call, so that no retry deletes an object that has changed hands. If it returns none, no call is made.
    /// - Returns: The objects requested, and the outcome.
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
                // A pause is never longer than a call may take.
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
