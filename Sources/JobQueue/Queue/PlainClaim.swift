/// The result of a claim from lanes without limits.
struct PlainClaim: Sendable {
    private let worker: Int64
    private(set) var jobs: [ClaimedJob] = []
    private var chosen: Int64 = 0
    /// When its statement was sent, which is no later than when the server's clock started to count for its jobs.
    let sentAt: ContinuousClock.Instant
    /// How long its statement took, if that did nothing but claim.
    var took: Duration?

    /// Creates an empty claim of a worker; its statement is about to be sent.
    init(worker: Int64, sentAt: ContinuousClock.Instant = .now) {
        self.worker = worker
        self.sentAt = sentAt
    }

    /// Whether it got fewer jobs than it chose: concurrent claims had locked them, and there may be more behind.
    var isCut: Bool { jobs.count < chosen }

    /// Adds a row of the statement.
    mutating func add(_ row: JobQueue.ClaimRow) {
        // A row with lease 0 is not a job: it says how many were chosen.
        if row.1 == 0 { chosen = row.0 } else { jobs.append(ClaimedJob(row, of: worker)) }
    }
}
