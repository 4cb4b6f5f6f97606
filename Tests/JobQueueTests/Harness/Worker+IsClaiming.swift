import Synchronization

@testable import JobQueue

extension Worker {
    /// Whether a claim is under way: it waits for a connection or for its answer.
    var isClaiming: Bool {
        core.withLock { core in
            // Asks a copy of the book whose heartbeat has just been answered: from then on a heartbeat may release jobs
            // that the worker does not know of, unless a claim was sent before.
            var book = core.book
            let beat = book.beat(now: .now)
            _ = book.answered(beat, held: Set(beat.jobs), cancelled: [], lastLease: 0)
            return book.beat(now: .now).releasesUpTo == nil
        }
    }
}
