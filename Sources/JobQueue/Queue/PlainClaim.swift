/// What a claim from lanes without limits did.
struct PlainClaim: Sendable {
    private let worker: Int64
    private(set) var jobs: [ClaimedJob] = []
    private var chosen: Int64 = 0
    /// When its statement was sent: no later than the server's clock began to count for its jobs.
    let sentAt: ContinuousClock.Instant
    /// How long its statement took, where that did nothing else.
    var took: Duration?

    /// One that found nothing yet, for a worker; its statement is about to be sent.
    init(worker: Int64, sentAt: ContinuousClock.Instant = .now) {
        self.worker = worker
        self.sentAt = sentAt
    }

    /// Whether it got fewer than it chose: other claims had their hands on them, and there may be more behind.
    var isCut: Bool { jobs.count < chosen }

    /// Takes a row of the statement.
    mutating func add(_ row: JobQueue.ClaimRow) {
        // A row with lease 0 is no job: it tells how many were chosen.
        if row.1 == 0 { chosen = row.0 } else { jobs.append(ClaimedJob(row, of: worker)) }
    }
}
