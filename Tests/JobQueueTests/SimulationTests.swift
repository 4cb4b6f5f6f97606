import Foundation
import TestSupport
import Testing

@testable import JobQueue

/// Thousands of interleavings of claim, heartbeat, rescue, cancel, wake-up, deadline, completion, lost replies, an
/// operator's discard and retry, handlers that do not stop, frozen and killed processes, and failovers that lose what was
/// written last, on injected time.
///
/// The workers' book is the real one, the table a model.
@Suite struct SimulationTests {
    @Test func invariantsHoldInEveryInterleaving() {
        let given = ProcessInfo.processInfo.environment["ACCOUNTCTL_SIMULATION_SEED"].flatMap { UInt64($0) }
        // Some are the same each time, most are met for the first time.
        let fresh = UInt64.random(in: 1_000_000...1_000_000_000_000)
        let seeds = given.map { [$0] } ?? Array(1..<501) + Array(fresh..<(fresh + 2500))
        var events = 0
        for seed in seeds {
            var simulation = Simulation(seed: seed)
            if let violation = simulation.run(steps: 250) {
                Issue.record("\(violation); repeat with ACCOUNTCTL_SIMULATION_SEED=\(seed)")
                return
            }
            events += simulation.events
        }
        print("simulation: \(seeds.count) seeds, the last ones from \(fresh) on, \(events) events")
        #expect(events > 1000)
    }
}

/// One run: some workers, a network that loses and delays, a table.
struct Simulation {
    typealias Instant = ContinuousClock.Instant

    /// What travels.
    enum Message {
        case claim(number: Int, generation: Int, limit: Int, sentAt: Int)
        case claimed(number: Int, generation: Int, deadline: Int, jobs: [JobLease])
        case claimFailed(number: Int)
        case beat(LeaseBook.SentBeat)
        case beaten(LeaseBook.SentBeat, ModelTable.BeatAnswer?)
        case finish(JobLease, claim: Int, verdict: String)
        case written(JobLease)
    }

    /// What a standby has that takes over.
    struct Moment {
        let table: ModelTable
        let nextJob: Int64
        let counted: [Int64: Int]
    }

    struct Process {
        var id: Int64
        /// The table's when it registered.
        var life: Int
        var book: LeaseBook
        var isFrozen = false
        var isDead = false
        var isRegistered = true
        /// By which claim it got them.
        var claims: [JobLease: Int] = [:]
        /// Verdicts that wait to be written.
        var outcomes: [JobLease: String] = [:]
        var isBeating = false
    }

    let lifetime = 100
    /// How long a handler may take, and how long after that its job is taken although its worker lives.
    let timeout = 60
    let grace = 15
    let base = ContinuousClock.now
    var random: SeededRandom
    var now = 0
    var table = ModelTable()
    var processes: [Process] = []
    /// To a process (by index) or from it to the table; delivered in any order.
    var wire: [(toTable: Bool, process: Int, message: Message)] = []
    var nextJob: Int64 = 0
    var nextHost: Int64 = 0
    var events = 0
    /// What counts as an attempt, by job: failures and ends decided by a handler.
    var counted: [Int64: Int] = [:]
    var moment: Moment?
    /// The table's life when a claim was made.
    var lives: [Int: Int] = [:]

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
        for _ in 0..<Int.random(in: 2...4, using: &random) { spawn() }
    }

    func instant(_ time: Int) -> Instant { base.advanced(by: .milliseconds(time)) }

    mutating func spawn() {
        nextHost += 1
        table.register(nextHost, now: now, lifetime: lifetime)
        var book = LeaseBook(lifetime: .milliseconds(lifetime), now: instant(now))
        book.registered(sentAt: instant(now))
        processes.append(Process(id: nextHost, life: table.life, book: book))
    }

    mutating func run(steps: Int) -> String? {
        for _ in 0..<steps {
            if let violation = step() ?? check() { return violation }
        }
        return drain()
    }

    private mutating func step() -> String? {
        events += 1
        switch Int.random(in: 0..<106, using: &random) {
        case 0..<12:
            nextJob += 1
            table.jobs[nextJob] = ModelTable.Job()
        case 12..<45:
            return deliver()
        case 45..<82:
            return act()
        case 82..<88:
            now += Int.random(in: 1...40, using: &random)
        case 88:
            _ = table.promote()
        case 89:
            if let id = table.jobs.keys.sorted().randomElement(using: &random) { _ = table.runNow(id) }
        case 90..<92:
            _ = table.rescue(now: now)
        case 92..<94:
            takeOverdue()
        case 94..<96:
            if let id = table.jobs.keys.sorted().randomElement(using: &random) { table.cancel(id) }
        case 96..<98:
            let index = Int.random(in: 0..<processes.count, using: &random)
            processes[index].isFrozen.toggle()
        case 98:
            let index = Int.random(in: 0..<processes.count, using: &random)
            processes[index].isDead = true
            spawn()
        case 99:
            moment = Moment(table: table, nextJob: nextJob, counted: counted)
        case 100:
            // Processes and the wire know nothing of it.
            guard let moment else { break }
            table.goBack(to: moment.table)
            nextJob = moment.nextJob
            counted = moment.counted
        case 101..<103:
            if let id = table.jobs.keys.sorted().randomElement(using: &random) { _ = table.discard(id) }
        case 103..<105:
            let ids = (Array(table.jobs.keys) + table.history.keys).sorted()
            // Its attempts begin anew.
            if let id = ids.randomElement(using: &random), table.retry(id) { counted[id] = 0 }
        default:
            let index = Int.random(in: 0..<processes.count, using: &random)
            guard !processes[index].isDead, !processes[index].isFrozen else { break }
            // A shutdown: handlers are stopped, the rest goes back.
            table.deregister(processes[index].id)
            processes[index].isDead = true
            spawn()
        }
        return nil
    }

    /// Delivers a random message, or loses it.
    private mutating func deliver() -> String? {
        guard !wire.isEmpty else { return nil }
        let (toTable, process, message) = wire.remove(at: Int.random(in: 0..<wire.count, using: &random))
        let isLost = random.chance(10)
        if toTable { return atTable(process, message, isReplyLost: isLost) }
        // A frozen process reads its socket when it runs again.
        if processes[process].isFrozen {
            wire.append((toTable, process, message))
            return nil
        }
        return atProcess(process, message)
    }

    private mutating func atTable(_ index: Int, _ message: Message, isReplyLost: Bool) -> String? {
        let worker = processes[index].id
        switch message {
        case .claim(let number, let generation, let limit, let sentAt):
            let jobs = table.claim(worker: worker, limit: limit, now: now, timeout: timeout)
            for job in jobs {
                guard let claim = table.jobs[job.id]?.claim else { continue }
                lives[claim] = table.life
                processes[index].claims[job] = claim
            }
            wire.append(
                (
                    false, index,
                    isReplyLost
                        ? .claimFailed(number: number)
                        : .claimed(
                            number: number,
                            generation: generation,
                            deadline: sentAt + timeout,
                            jobs: jobs
                        )
                )
            )
        case .beat(let sent):
            let answer = table.beat(
                worker: worker,
                jobs: sent.jobs,
                releasesUpTo: sent.releasesUpTo,
                now: now,
                lifetime: lifetime
            )
            if isReplyLost {
                processes[index].isBeating = false
            } else {
                wire.append((false, index, .beaten(sent, answer)))
            }
        case .finish(let job, let claim, let verdict):
            let current = table.jobs[job.id]?.claim
            let landed = write(job, verdict)
            if landed, verdict != "release" {
                if current != claim { return "a write of job \(job.id) landed under another claim" }
                if lives[claim] != table.life { return "a write of job \(job.id) landed though others may be gone" }
            }
            if landed, verdict != "release", verdict != "snooze" { counted[job.id, default: 0] += 1 }
            // A lost reply: the process repeats itself, and the fence must take no notice.
            if !isReplyLost { wire.append((false, index, .written(job))) }
        case .claimed, .claimFailed, .beaten, .written:
            break
        }
        return nil
    }

    private mutating func write(_ job: JobLease, _ verdict: String) -> Bool {
        switch verdict {
        case "completed", "discarded": table.finish(job, verdict)
        case "retry", "snooze":
            table.giveBack(job, waits: true, givesAttemptBack: verdict == "snooze") || table.finish(job, "cancelled")
        default: table.release(job)
        }
    }

    private mutating func atProcess(_ index: Int, _ message: Message) -> String? {
        guard !processes[index].isDead else { return nil }
        // What runs first in any process that was away is the look at the clock.
        carryOut(index, processes[index].book.tick(now: instant(now)))
        switch message {
        case .claimed(let number, let generation, let deadline, let jobs):
            let mayRun = processes[index].book.claimReturned(
                number,
                jobs.map { (job: $0, deadline: instant(deadline)) },
                sentIn: generation,
                now: instant(now)
            )
            // One that comes after its deadline is stopped before it begins anything.
            guard mayRun, now < deadline, processes[index].life == table.life else { break }
            for job in jobs {
                guard let row = table.jobs[job.id], row.lease == job.lease, row.state == "running" else {
                    return "job \(job.id) begins under lease \(job.lease), which does not hold"
                }
            }
        case .claimFailed(let number):
            _ = processes[index].book.claimReturned(
                number,
                [],
                sentIn: processes[index].book.generation,
                now: instant(now)
            )
        case .beaten(let sent, let answer):
            processes[index].isBeating = false
            guard let answer else {
                processes[index].isRegistered = false
                carryOut(index, processes[index].book.disowned(sent))
                return nil
            }
            carryOut(
                index,
                processes[index].book.answered(
                    sent,
                    held: answer.held,
                    cancelled: answer.cancelled,
                    lastLease: answer.lastLease
                )
            )
        case .written(let job):
            processes[index].book.settled(job)
            processes[index].outcomes[job] = nil
        case .claim, .beat, .finish:
            break
        }
        return nil
    }

    private mutating func carryOut(_ index: Int, _ stops: [LeaseBook.Stop]) {
        for stop in stops {
            // Most handlers heed their cancellation at once.
            switch stop.reason {
            case .leaseLost: break
            case .deadline: if !random.chance(30) { end(index, stop.job, "retry") }
            case .cancelRequested: end(index, stop.job, "discarded")
            case .shutdown: end(index, stop.job, "release")
            }
        }
    }

    /// The attempts count.
    private mutating func takeOverdue() {
        for id in table.takeOverdue(now: now, grace: grace) { counted[id, default: 0] += 1 }
    }

    private mutating func end(_ index: Int, _ job: JobLease, _ verdict: String) {
        guard processes[index].book.handlerDone(job) != nil else { return }
        processes[index].outcomes[job] = verdict
        send(index, job, verdict)
    }

    /// A random process does something of its own accord.
    private mutating func act() -> String? {
        let index = Int.random(in: 0..<processes.count, using: &random)
        guard !processes[index].isDead, !processes[index].isFrozen else { return nil }
        carryOut(index, processes[index].book.tick(now: instant(now)))
        if !processes[index].isRegistered {
            if !random.chance(20) { table.deregister(processes[index].id) }
            nextHost += 1
            processes[index].id = nextHost
            processes[index].life = table.life
            processes[index].isRegistered = true
            table.register(nextHost, now: now, lifetime: lifetime)
            processes[index].book.registered(sentAt: instant(now))
            // What the old name said is said to nobody now.
            wire = wire.filter { !$0.toTable || $0.process != index || isFinish($0.message) }
            processes[index].isBeating = false
        }
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<3:
            guard processes[index].book.mayClaim(now: instant(now)) else { break }
            let number = processes[index].book.claimSent()
            let generation = processes[index].book.generation
            let limit = Int.random(in: 1...3, using: &random)
            wire.append((true, index, .claim(number: number, generation: generation, limit: limit, sentAt: now)))
        case 3..<6:
            guard !processes[index].isBeating else { break }
            let sent = processes[index].book.beat(now: instant(now))
            processes[index].isBeating = true
            wire.append((true, index, .beat(sent)))
        default:
            let running = processes[index].book.entries.filter(\.value.isRunning).keys
                .sorted { $0.lease < $1.lease }
            if let job = running.randomElement(using: &random) {
                let verdict = ["completed", "completed", "retry", "snooze", "discarded"].randomElement(using: &random)
                end(index, job, verdict ?? "completed")
            } else if let (job, verdict) = processes[index].outcomes.sorted(by: { $0.key.lease < $1.key.lease })
                .randomElement(using: &random)
            {
                // No answer came: say it again.
                send(index, job, verdict)
            }
        }
        return nil
    }

    private mutating func send(_ index: Int, _ job: JobLease, _ verdict: String) {
        guard let claim = processes[index].claims[job] else { return }
        wire.append((true, index, .finish(job, claim: claim, verdict: verdict)))
    }

    private func isFinish(_ message: Message) -> Bool {
        if case .finish = message { true } else { false }
    }

    private func check() -> String? {
        var holders: [Int64: Int] = [:]
        // What was claimed in an earlier life is given out again before its process hears of the new one.
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

    /// All faults end; then every job must come to its end.
    private mutating func drain() -> String? {
        for index in processes.indices { processes[index].isFrozen = false }
        // However long their workers live.
        now += timeout + grace + 1
        takeOverdue()
        if let id = table.jobs.first(where: { $0.value.state == "running" })?.key {
            return "job \(id) is held past its deadline"
        }
        if let violation = check() { return violation }
        _ = table.promote()
        wire.removeAll { _ in true }
        for index in processes.indices { processes[index].isDead = true }
        now += lifetime + 1
        _ = table.rescue(now: now)
        for id in table.jobs.keys.sorted() {
            guard table.jobs[id]?.state == "available" else {
                return "job \(id) is \(table.jobs[id]?.state ?? "?") for ever"
            }
        }
        spawn()
        let index = processes.count - 1
        for job in table.claim(worker: processes[index].id, limit: .max, now: now, timeout: timeout) {
            guard table.finish(job, "completed") else { return "job \(job.id) cannot be finished" }
            counted[job.id, default: 0] += 1
        }
        return table.jobs.isEmpty ? nil : "\(table.jobs.count) jobs are left"
    }
}
