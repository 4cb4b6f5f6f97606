/// A job that is enqueued by a schedule, once for each instant, however many workers there are.
///
/// If no worker ran at some of its instants, only the latest of them is made up for. Instants from before the schedule
/// was first seen are not made up for. If its job has a unique key, no other is added while that of an earlier instant
/// is unfinished.
package struct PeriodicJob: Sendable {
    /// The name under which instants are recorded; keep it when the schedule changes.
    let name: String
    let schedule: CronSchedule
    /// A zone name that the server knows, such as `Europe/Berlin`.
    let zone: String
    package let job: NewJob

    /// Creates a periodic job.
    ///
    /// The zone is checked by the server when a worker starts.
    ///
    /// - Throws: ``JobQueueError`` naming the invalid field.
    package init(name: String, schedule line: String, zone: String = "UTC", job: NewJob) throws(JobQueueError) {
        try JobField.checkName(name, field: "name")
        schedule = try CronSchedule(line)
        guard (1...64).contains(zone.utf8.count), zone.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .invalid("zone", "must be the name of a time zone, such as Europe/Berlin")
        }
        guard job.runAt == nil else { throw .invalid("runAt", "must be empty: the schedule says when") }
        self.name = name
        self.zone = zone
        self.job = job
    }
}
