@testable import JobQueue

/// The job tables as a value: each method is one statement of the engine, all or nothing.
///
/// `ModelConformanceTests` holds it against the real statements.
struct ModelTable {
    struct Job: Equatable {
        var state = "available"
        var lease: Int64 = 0
        var worker: Int64?
        var attempt = 0
        var crashes = 0
        var claimedAt = 0
        var deadlineAt = 0
        var cancelRequested = false
        /// Whether it was told to run at once while it ran.
        var isWoken = false
    }

    struct Host: Equatable {
        var expiresAt: Int
        var isStopped = false
    }

    var jobs: [Int64: Job] = [:]
    var hosts: [Int64: Host] = [:]
    var history: [Int64: (outcome: String, attempt: Int)] = [:]
    /// How often a job's end was written; more than once would be two ends.
    var ends: [Int64: Int] = [:]
    private(set) var leases: Int64 = 0

    private mutating func nextLease() -> Int64 {
        leases += 1
        return leases
    }

    mutating func register(_ id: Int64, now: Int, lifetime: Int) {
        hosts[id] = Host(expiresAt: now + lifetime)
    }

    mutating func claim(worker: Int64, limit: Int, now: Int, timeout: Int) -> [(id: Int64, lease: Int64)] {
        let ids = jobs.filter { $0.value.state == "available" }.keys.sorted().prefix(limit)
        return ids.map { id in
            let lease = nextLease()
            jobs[id]?.state = "running"
            jobs[id]?.worker = worker
            jobs[id]?.lease = lease
            jobs[id]?.attempt += 1
            jobs[id]?.claimedAt = now
            jobs[id]?.deadlineAt = now + timeout
            jobs[id]?.isWoken = false
            return (id, lease)
        }
    }

    private func holds(_ id: Int64, _ lease: Int64) -> Bool {
        jobs[id].map { $0.state == "running" && $0.lease == lease } ?? false
    }

    mutating func finish(_ id: Int64, _ lease: Int64, _ outcome: String) -> Bool {
        guard holds(id, lease), let job = jobs.removeValue(forKey: id) else { return false }
        history[id] = (outcome, job.attempt)
        ends[id, default: 0] += 1
        return true
    }

    mutating func giveBack(_ id: Int64, _ lease: Int64, waits: Bool, givesAttemptBack: Bool) -> Bool {
        guard holds(id, lease), let job = jobs[id], !job.cancelRequested else { return false }
        free(id, attempt: givesAttemptBack ? -1 : 0)
        if waits, !job.isWoken { jobs[id]?.state = "scheduled" }
        return true
    }

    mutating func runNow(_ id: Int64) -> Bool {
        switch jobs[id]?.state {
        case "running": jobs[id]?.isWoken = true
        case "scheduled": jobs[id]?.state = "available"
        default: return false
        }
        return true
    }

    /// The time of all that waits has come.
    mutating func promote() -> Int {
        let due = jobs.filter { $0.value.state == "scheduled" }.keys
        for id in due { jobs[id]?.state = "available" }
        return due.count
    }

    /// Takes what is past its deadline by `grace`, and returns which jobs.
    mutating func takeOverdue(now: Int, grace: Int) -> [Int64] {
        let overdue = jobs.filter { $0.value.state == "running" && $0.value.deadlineAt < now - grace }.keys.sorted()
        for id in overdue {
            free(id, attempt: 0)
            jobs[id]?.state = "scheduled"
        }
        return overdue
    }

    mutating func release(_ id: Int64, _ lease: Int64) -> Bool {
        guard holds(id, lease) else { return false }
        free(id, attempt: -1)
        return true
    }

    private mutating func free(_ id: Int64, attempt: Int) {
        jobs[id]?.state = "available"
        jobs[id]?.worker = nil
        let lease = nextLease()
        jobs[id]?.lease = lease
        jobs[id]?.attempt += attempt
    }

    mutating func cancel(_ id: Int64) {
        guard let job = jobs[id] else { return }
        if job.state == "running" {
            jobs[id]?.cancelRequested = true
        } else {
            jobs[id] = nil
            history[id] = ("cancelled", job.attempt)
            ends[id, default: 0] += 1
        }
    }

    struct BeatAnswer {
        var isKnown = true
        var held: Set<JobLease> = []
        var cancelled: Set<JobLease> = []
        var time = 0
    }

    mutating func beat(
        worker: Int64,
        jobs beaten: [JobLease],
        releasesBefore: Int?,
        now: Int,
        lifetime: Int
    ) -> BeatAnswer {
        guard let host = hosts[worker], !host.isStopped else { return BeatAnswer(isKnown: false) }
        hosts[worker]?.expiresAt = now + lifetime
        var answer = BeatAnswer(time: now)
        let wanted = Set(beaten)
        for held in beaten {
            guard let job = jobs[held.id], job.state == "running", job.lease == held.lease else { continue }
            answer.held.insert(held)
            if job.cancelRequested { answer.cancelled.insert(held) }
        }
        if let releasesBefore {
            for (id, job) in jobs.sorted(by: { $0.key < $1.key })
            where job.worker == worker && job.claimedAt < releasesBefore {
                if !wanted.contains(JobLease(id: id, lease: job.lease)) { free(id, attempt: -1) }
            }
        }
        return answer
    }

    mutating func rescue(now: Int) -> Int {
        for (id, host) in hosts where !host.isStopped && host.expiresAt < now { hosts[id]?.isStopped = true }
        var rescued = 0
        for (id, job) in jobs.sorted(by: { $0.key < $1.key }) where job.state == "running" {
            guard job.worker.flatMap({ hosts[$0] })?.isStopped ?? true else { continue }
            free(id, attempt: -1)
            jobs[id]?.crashes += 1
            rescued += 1
        }
        return rescued
    }

    mutating func deregister(_ worker: Int64) {
        for (id, job) in jobs.sorted(by: { $0.key < $1.key }) where job.worker == worker { free(id, attempt: -1) }
        hosts[worker]?.isStopped = true
    }
}
