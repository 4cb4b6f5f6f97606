@testable import JobQueue

/// The job tables as a value: each method is one statement of the engine, all or nothing.
///
/// `ModelConformanceTests` checks it against the real statements.
struct ModelTable {
    struct Job: Equatable {
        var state = "available"
        var lease: Int64 = 0
        var worker: Int64?
        var attempt = 0
        var crashes = 0
        var cancelRequested = false
        /// Whether the job was woken while it ran.
        var isWoken = false
        /// The number of the claim that gave the job out, which, unlike a lease number, never repeats after a failover.
        var claim = 0
    }

    struct Host: Equatable {
        var beatAt: Int
        var expiresAt: Int
        /// The table's life when the worker registered.
        var life: Int
        var isStopped = false
    }

    var jobs: [Int64: Job] = [:]
    var hosts: [Int64: Host] = [:]
    var history: [Int64: (outcome: String, attempt: Int, lease: Int64)] = [:]
    /// How often each job's end was written, which may be once at most.
    var ends: [Int64: Int] = [:]
    private(set) var leases: Int64 = 0
    /// How often the table went back to an earlier state.
    private(set) var life = 0
    /// How many jobs were claimed, claims that a failover took back included.
    private(set) var claims = 0

    private mutating func nextLease() -> Int64 {
        leases += 1
        return leases
    }

    /// Goes back to an earlier state, as after a failover to a standby that lacks the end of the log.
    mutating func goBack(to earlier: ModelTable) {
        (self, life, claims) = (earlier, life + 1, claims)
    }

    mutating func register(_ id: Int64, now: Int, lifetime: Int) {
        hosts[id] = Host(beatAt: now, expiresAt: now + lifetime, life: life)
    }

    mutating func claim(worker: Int64, limit: Int) -> [JobLease] {
        let ids = jobs.filter { $0.value.state == "available" }.keys.sorted().prefix(limit)
        return ids.map { id in
            let lease = nextLease()
            jobs[id]?.state = "running"
            jobs[id]?.worker = worker
            jobs[id]?.lease = lease
            jobs[id]?.attempt += 1
            jobs[id]?.isWoken = false
            claims += 1
            jobs[id]?.claim = claims
            return JobLease(id: id, lease: lease, worker: worker)
        }
    }

    private func isUnderItsLease(_ lease: JobLease) -> Bool {
        guard let job = jobs[lease.id], job.state == "running" else { return false }
        return job.lease == lease.lease && job.worker == lease.worker
    }

    private func isHeld(_ lease: JobLease) -> Bool {
        isUnderItsLease(lease) && hosts[lease.worker]?.life == life
    }

    mutating func finish(_ lease: JobLease, _ outcome: String) -> Bool {
        guard isHeld(lease) else { return false }
        end(lease.id, outcome)
        return true
    }

    private mutating func end(_ id: Int64, _ outcome: String) {
        guard let job = jobs.removeValue(forKey: id) else { return }
        history[id] = (outcome, job.attempt, job.lease)
        ends[id, default: 0] += 1
    }

    mutating func giveBack(_ lease: JobLease, waits: Bool, givesAttemptBack: Bool) -> Bool {
        guard isHeld(lease), let job = jobs[lease.id], !job.cancelRequested else { return false }
        free(lease.id, attempt: givesAttemptBack ? -1 : 0)
        if waits, !job.isWoken { jobs[lease.id]?.state = "scheduled" }
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

    /// Gives a job back that is parked until another release can read it.
    mutating func park(_ lease: JobLease) -> Bool {
        guard giveBack(lease, waits: false, givesAttemptBack: true) else { return false }
        jobs[lease.id]?.state = "parked"
        return true
    }

    /// Makes all jobs available that wait for their time.
    mutating func promote() -> Int { makeAvailable("scheduled") }

    /// Makes all jobs available that wait for another release.
    mutating func unpark() -> Int { makeAvailable("parked") }

    private mutating func makeAvailable(_ state: String) -> Int {
        let waiting = jobs.filter { $0.value.state == state }.keys
        for id in waiting { jobs[id]?.state = "available" }
        return waiting.count
    }

    /// Takes jobs from handlers that do not stop, and returns those that were held under these leases.
    mutating func takeOverdue(_ leases: [JobLease]) -> [Int64] {
        let overdue = leases.filter { isHeld($0) }.map(\.id)
        for id in overdue {
            free(id, attempt: 0)
            jobs[id]?.state = "scheduled"
        }
        return overdue
    }

    mutating func release(_ lease: JobLease) -> Bool {
        guard isUnderItsLease(lease) else { return false }
        free(lease.id, attempt: -1)
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
            end(id, "cancelled")
        }
    }

    /// Discards a job that does not run, as an operator does.
    mutating func discard(_ id: Int64) -> Bool {
        guard let job = jobs[id], job.state != "running" else { return false }
        end(id, "discarded")
        return true
    }

    /// Makes a job wait that neither runs nor is parked, as an operator does.
    mutating func snooze(_ id: Int64) -> Bool {
        guard let state = jobs[id]?.state, state == "available" || state == "scheduled" else { return false }
        jobs[id]?.state = "scheduled"
        return true
    }

    /// Brings back a job that neither runs nor has completed, from the history too, as an operator does.
    mutating func retry(_ id: Int64) -> Bool {
        if let job = jobs[id] {
            guard job.state != "running" else { return false }
            jobs[id]?.state = "available"
            jobs[id]?.attempt = 0
            jobs[id]?.crashes = 0
            jobs[id]?.cancelRequested = false
            return true
        }
        guard let past = history[id], past.outcome != "completed" else { return false }
        history[id] = nil
        ends[id] = nil
        jobs[id] = Job(lease: past.lease)
        return true
    }

    struct BeatAnswer {
        var held: Set<JobLease> = []
        var cancelled: Set<JobLease> = []
        var lastLease: Int64 = 0
    }

    mutating func beat(
        worker: Int64,
        jobs beaten: [JobLease],
        releasesUpTo: Int64?,
        now: Int,
        lifetime: Int
    ) -> BeatAnswer? {
        guard let host = hosts[worker], !host.isStopped, host.life == life else { return nil }
        hosts[worker]?.beatAt = now
        hosts[worker]?.expiresAt = now + lifetime
        var answer = BeatAnswer(lastLease: leases)
        let wanted = Set(beaten)
        for held in beaten where isUnderItsLease(held) {
            answer.held.insert(held)
            if jobs[held.id]?.cancelRequested == true { answer.cancelled.insert(held) }
        }
        if let releasesUpTo {
            for (id, job) in jobs.sorted(by: { $0.key < $1.key })
            where job.worker == worker && job.lease <= releasesUpTo {
                if !wanted.contains(JobLease(id: id, lease: job.lease, worker: worker)) { free(id, attempt: -1) }
            }
        }
        return answer
    }

    /// Lets leases begin anew whose last heartbeat is in the future, since the clock was set back.
    mutating func renewBeatsAhead(now: Int) {
        for (id, host) in hosts where !host.isStopped && host.beatAt > now {
            hosts[id]?.expiresAt = now + host.expiresAt - host.beatAt
            hosts[id]?.beatAt = now
        }
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
