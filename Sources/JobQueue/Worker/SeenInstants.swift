/// Which instants of its schedules a worker has seen dealt with, by whomever: a value that decides.
///
/// What it saw under another registration may be gone with the end of a log that a failover lost.
struct SeenInstants: Sendable {
    private struct Look {
        /// Since 1970.
        let minute: Int
        let instant: Int
    }

    private var worker: Int64?
    private var looks: [String: Look] = [:]

    /// Whether a schedule may have come to another instant since it was looked at, `now` in seconds since 1970.
    ///
    /// Its instants are whole minutes: to look for the latest more than once in each costs time alone.
    mutating func mayHaveCome(_ name: String, by now: Int, as worker: Int64?) -> Bool {
        if worker != self.worker { (self.worker, looks) = (worker, [:]) }
        return looks[name]?.minute != now / 60
    }

    /// The instant of a schedule that was seen last.
    func last(of name: String) -> Int? { looks[name]?.instant }

    /// An instant was dealt with, unless the worker was registered anew meanwhile.
    mutating func saw(_ name: String, _ instant: Int, at now: Int, as worker: Int64?) {
        guard worker == self.worker else { return }
        looks[name] = Look(minute: now / 60, instant: instant)
    }
}
