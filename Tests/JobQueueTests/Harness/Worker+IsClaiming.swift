import Synchronization

@testable import JobQueue

extension Worker {
    /// Whether a claim is under way: it waits for a connection or for its answer.
    var isClaiming: Bool {
        core.withLock { core in
            // A copy is asked, for which a heartbeat has just been answered: what nobody knows of may be released from
            // then on, unless a claim was sent before.
            var book = core.book
            let beat = book.beat(now: .now)
            _ = book.answered(beat, held: Set(beat.jobs), cancelled: [], lastLease: 0)
            return book.beat(now: .now).releasesUpTo == nil
        }
    }
}
