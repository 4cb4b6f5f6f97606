package import JobQueue
package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A deletion that an operator drives by hand, step by step, while workers leave it alone.
package struct DeletionRehearsal: Sendable {
    /// The result of beginning a rehearsal.
    package enum Beginning: Sendable {
        case begun(DeletionRehearsal)
        /// A worker is driving the request, or somebody else by hand: their name, if it is known.
        case driven(UUID, by: String?)
        /// The job of the request is set aside.
        case setAside(UUID, job: Int64)
        /// The job of the request is about to be cancelled, which a worker does.
        case cancelled(UUID, job: Int64)
        /// Deletions are not driven: their queue is paused.
        case queuePaused(reason: String?)
        case unknownUser
    }

    /// The request.
    package let request: UUID
    /// Whether it was opened for the rehearsal.
    package let isNew: Bool
    let hold: JobHold

    /// Opens a request without grace, or finds the open one, and takes its job before any worker can, in the caller's
    /// transaction.
    ///
    /// - Parameters:
    ///   - user: the account.
    ///   - desk: who asks for it.
    ///   - reason: why, for the request and the operators' log.
    ///   - holder: who holds the job.
    ///   - connection: the connection to use.
    /// - Returns: The result; unless it is `begun`, the transaction must not commit, since a request may have been
    ///   opened.
    /// - Throws: `PostgresError`.
    package static func begin(
        _ user: UUID,
        by desk: DeletionDesk,
        reason: String,
        as holder: JobHold.Holder,
        on connection: isolated Connection
    ) throws -> Beginning {
        let (request, isNew): (UUID, Bool)
        switch try desk.open(user, reason: reason, grace: .zero, on: connection) {
        case .opened(let new): (request, isNew) = (new, true)
        case .found(let open): (request, isNew) = (open, false)
        case .unknownUser, .erased: return .unknownUser
        }
        // An open request may have no job for a moment.
        try JobQueue().enqueueAndForget([try DeletionJobs.job(of: request)], on: connection)
        return switch try JobQueue().hold(DeletionJobs.key(of: request), as: holder, on: connection) {
        case .held(let hold): .begun(DeletionRehearsal(request: request, isNew: isNew, hold: hold))
        case .paused(let queue): .queuePaused(reason: queue.pauseReason)
        case .parked(let job, _): .setAside(request, job: job)
        case .cancelled(let job): .cancelled(request, job: job)
        case .running(let holder): .driven(request, by: holder)
        case .absent: .driven(request, by: nil)
        }
    }

    /// Drives the request as far as it can go now, and leaves the rest to the workers.
    ///
    /// - Parameters:
    ///   - services: what the steps use.
    ///   - control: connections for the heartbeats alone, which must not wait behind a long search.
    /// - Returns: Where the request was left.
    /// - Throws: As ``DeletionDriver/drive(_:fence:lease:)``; ``JobQueueError`` `cancelled` once an operator has
    ///   cancelled its job.
    package func drive(with services: DeletionServices, control: Pool) async throws -> DeletionDriver.Pause {
        let (request, hold) = (request, hold)
        return try await hold.keep(pool: control, logger: services.log) {
            try await DeletionDriver(services).drive(request, fence: hold.fence) {
                try hold.requireLease(outlasting: $0)
            }
        }
    }
}
