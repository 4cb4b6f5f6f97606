/// A job that is enqueued again and again by a schedule, once for each of its instants however many workers there are.
///
/// When no worker ran at some of its instants, the latest of them is made up for and the others are left out. The
/// instants before the schedule was first seen are not made up for. With a unique key in its job no other is added while
/// that of an earlier instant is unfinished.
package struct PeriodicJob: Sendable {
    /// What instants belong to; keep it when the schedule changes.
    let name: String
    let schedule: CronSchedule
    /// A zone name that the server knows, such as `Europe/Berlin`.
    let zone: String
    package let job: NewJob

    /// Makes a periodic job.
    ///
    /// The zone is checked by the server when a worker starts.
    ///
    /// - Throws: ``JobQueueError`` naming the field out of form.
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
