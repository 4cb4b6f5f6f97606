/// The instants of its schedules that a worker knows to be handled, by any worker: a pure value.
///
/// Instants seen under another registration are dropped: a failover that lost the end of the WAL may have undone them.
struct SeenInstants: Sendable {
    private struct Look {
        /// Since 1970.
        let minute: Int
        let instant: Int
    }

    private var worker: Int64?
    private var looks: [String: Look] = [:]

    /// Whether a schedule may have reached another instant since the last check, with `now` in seconds since 1970.
    ///
    /// Instants are whole minutes: checking more than once in each would only cost time.
    mutating func mayHaveCome(_ name: String, by now: Int, as worker: Int64?) -> Bool {
        if worker != self.worker { (self.worker, looks) = (worker, [:]) }
        return looks[name]?.minute != now / 60
    }

    /// The last seen instant of a schedule.
    func last(of name: String) -> Int? { looks[name]?.instant }

    /// Records that an instant was handled, unless the worker was registered again meanwhile.
    mutating func saw(_ name: String, _ instant: Int, at now: Int, as worker: Int64?) {
        guard worker == self.worker else { return }
        looks[name] = Look(minute: now / 60, instant: instant)
    }
}
