/// How many jobs of a kind run, counted under the lock of its limit, and the lease from which the next claim may count.
///
/// Leases increase and are given out under that lock, except those of a ``JobHold``. So no running job can appear below
/// the lowest running lease, except a held one, and that only until all are counted again. The next count starts there,
/// and skips the dead rows of everything that ran before, which no vacuum removes while some session holds an old
/// snapshot.
struct RunningCount: Sendable {
    /// The limits of the kind and of one limit key.
    let most: Int32?
    let perKey: Int32?
    /// The floor stored in the table: the lease from which to count.
    let storedFloor: Int64
    /// The lease from which this count started.
    let from: Int64
    private var running = 0
    private var least: Int64?

    init(most: Int32?, perKey: Int32?, storedFloor: Int64, from: Int64) {
        self.most = most
        self.perKey = perKey
        self.storedFloor = storedFloor
        self.from = from
    }

    /// How many more may run; nil for any number.
    var room: Int? { most.map { max(0, Int($0) - running) } }

    /// The floor to store; nil to leave it.
    ///
    /// Each change leaves a dead row, so the floor advances only after many leases.
    var newFloor: Int64? {
        guard let least, least < storedFloor || least - storedFloor >= 1000 else { return nil }
        return least
    }

    /// Adds the number of running jobs and the lowest of their leases.
    mutating func found(_ count: Int64, least: Int64?) {
        running += Int(count)
        self.least = least
    }

    /// Adds jobs that this claim has just taken.
    mutating func took(_ jobs: [ClaimedJob]) {
        running += jobs.count
        for job in jobs { least = min(least ?? job.lease, job.lease) }
    }
}
