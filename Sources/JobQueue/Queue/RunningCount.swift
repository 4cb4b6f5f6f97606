/// How many jobs of a kind run, counted under the lock of its limit, and from where the next claim may count.
///
/// Leases grow, and are given out under that lock but for those of a ``JobHold``: below the least that runs no other
/// can appear, and a held job only until all are counted again. The next count begins there, and not at the dead rows
/// of all that ran before, which no vacuum removes while some session holds an old snapshot.
struct RunningCount: Sendable {
    /// The limits: of the kind, and of one limit key.
    let most: Int32?
    let perKey: Int32?
    /// The lease from which the table says to count.
    let storedFloor: Int64
    /// The lease from which this was counted.
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
    /// Each change leaves a dead row of its own: one for many leases.
    var newFloor: Int64? {
        guard let least, least < storedFloor || least - storedFloor >= 1000 else { return nil }
        return least
    }

    /// Takes in how many jobs run, and the least of their leases.
    mutating func found(_ count: Int64, least: Int64?) {
        running += Int(count)
        self.least = least
    }

    /// Takes in jobs that run from now on as well.
    mutating func took(_ jobs: [ClaimedJob]) {
        running += jobs.count
        for job in jobs { least = min(least ?? job.lease, job.lease) }
    }
}
