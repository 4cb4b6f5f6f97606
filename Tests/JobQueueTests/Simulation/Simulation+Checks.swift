@testable import JobQueue

/// The invariants that hold after every step, and at the end.
extension Simulation {
    func check() -> String? {
        var holders: [Int64: Int] = [:]
        // Jobs that were claimed in an earlier life are given out again before their process hears of the new life.
        for process in processes
        where !process.isDead && process.book.trusts(now: instant(now)) && process.life == table.life {
            // Past its deadline a handler is told to stop, and its job may be taken from it.
            for (job, entry) in process.book.entries where entry.isRunning && instant(now) < entry.deadline {
                holders[job.id, default: 0] += 1
                guard table.jobs[job.id]?.lease == job.lease, table.jobs[job.id]?.state == "running" else {
                    return "process \(process.id) trusts lease \(job.lease) of job \(job.id), which does not hold"
                }
            }
        }
        if let twice = holders.first(where: { $0.value > 1 }) {
            return "job \(twice.key) has \(twice.value) live leases"
        }
        for (id, count) in table.ends where count > 1 { return "job \(id) ended \(count) times" }
        for id in table.history.keys where table.jobs[id] != nil { return "job \(id) ended and is unfinished" }
        let known = Set(table.jobs.keys).union(table.history.keys)
        if known.count != Int(nextJob) { return "\(Int(nextJob) - known.count) jobs are lost" }
        for (id, job) in table.jobs where job.state != "running" && job.attempt != counted[id, default: 0] {
            return "job \(id) counts \(job.attempt) attempts, \(counted[id, default: 0]) were made"
        }
        return nil
    }

    /// Ends all faults, after which every job must come to its end.
    mutating func drain() -> String? {
        for index in processes.indices { processes[index].isFrozen = false }
        // Overdue jobs are taken even from workers that live.
        now += timeout + grace + 1
        takeOverdue()
        for process in processes where !process.isDead && process.isRegistered && process.life == table.life {
            for (job, entry) in process.book.entries where entry.isRunning && job.worker == process.id {
                guard let row = table.jobs[job.id], row.lease == job.lease, row.worker == job.worker else { continue }
                return "job \(job.id) is held past its deadline"
            }
        }
        if let violation = check() { return violation }
        _ = table.promote()
        _ = table.unpark()
        wire.removeAll { _ in true }
        for index in processes.indices { processes[index].isDead = true }
        table.renewBeatsAhead(now: serverTime)
        now += lifetime + 1
        _ = table.rescue(now: serverTime)
        for id in table.jobs.keys.sorted() {
            guard table.jobs[id]?.state == "available" else {
                return "job \(id) is \(table.jobs[id]?.state ?? "?") for ever"
            }
        }
        spawn()
        let index = processes.count - 1
        for job in table.claim(worker: processes[index].id, limit: .max) {
            guard table.finish(job, "completed") else { return "job \(job.id) cannot be finished" }
            counted[job.id, default: 0] += 1
        }
        return table.jobs.isEmpty ? nil : "\(table.jobs.count) jobs are left"
    }
}
