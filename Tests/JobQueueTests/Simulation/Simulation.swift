import TestSupport

@testable import JobQueue

/// A single run: some workers, a table, and a network that loses and delays messages.
struct Simulation {
    typealias Instant = ContinuousClock.Instant

    /// A message between a process and the table.
    enum Message {
        case claim(number: Int, generation: Int, limit: Int, sentAt: Int)
        case claimed(number: Int, generation: Int, deadline: Int, jobs: [JobLease])
        case claimFailed(number: Int)
        case beat(LeaseBook.SentBeat)
        case beaten(LeaseBook.SentBeat, ModelTable.BeatAnswer?)
        case finish(JobLease, claim: Int, verdict: String)
        case written(JobLease)
    }

    /// The state of a standby that may take over.
    struct Moment {
        let table: ModelTable
        let nextJob: Int64
        let counted: [Int64: Int]
    }

    struct Process {
        var id: Int64
        /// The table's life when the process registered.
        var life: Int
        var book: LeaseBook
        var isFrozen = false
        var isDead = false
        var isRegistered = true
        /// The claim by which the process got each job.
        var claims: [JobLease: Int] = [:]
        /// Verdicts that are not yet known to be written.
        var outcomes: [JobLease: String] = [:]
        var isBeating = false
    }

    let lifetime = 100
    /// How long a handler may take, and how much later its job is taken away although its worker lives.
    let timeout = 60
    let grace = 15
    let base = ContinuousClock.now
    var random: SeededRandom
    var now = 0
    /// How far the server's clock was set back.
    var setBack = 0
    var table = ModelTable()
    var processes: [Process] = []
    /// Messages to a process (by index), or from it to the table; delivered in any order.
    var wire: [(toTable: Bool, process: Int, message: Message)] = []
    var nextJob: Int64 = 0
    var nextHost: Int64 = 0
    var events = 0
    /// The attempts that count, by job: failures, and ends that a handler decided.
    var counted: [Int64: Int] = [:]
    var moment: Moment?
    /// The table's life at each claim.
    var lives: [Int: Int] = [:]

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
        for _ in 0..<Int.random(in: 2...4, using: &random) { spawn() }
    }

    func instant(_ time: Int) -> Instant { base.advanced(by: .milliseconds(time)) }

    /// The time by the server's clock.
    var serverTime: Int { now - setBack }

    mutating func spawn() {
        nextHost += 1
        table.register(nextHost, now: serverTime, lifetime: lifetime)
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
        switch Int.random(in: 0..<109, using: &random) {
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
            table.renewBeatsAhead(now: serverTime)
            _ = table.rescue(now: serverTime)
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
            // A failover, of which neither the processes nor the wire know.
            guard let moment else { break }
            table.goBack(to: moment.table)
            nextJob = moment.nextJob
            counted = moment.counted
        case 101..<103:
            if let id = table.jobs.keys.sorted().randomElement(using: &random) { _ = table.discard(id) }
        case 103..<105:
            let ids = (Array(table.jobs.keys) + table.history.keys).sorted()
            // A retry starts the attempts anew.
            if let id = ids.randomElement(using: &random), table.retry(id) { counted[id] = 0 }
        case 105:
            _ = table.unpark()
        case 106:
            if let id = table.jobs.keys.sorted().randomElement(using: &random) { _ = table.snooze(id) }
        case 107:
            setBack += Int.random(in: 1...2 * lifetime, using: &random)
        default:
            let index = Int.random(in: 0..<processes.count, using: &random)
            guard !processes[index].isDead, !processes[index].isFrozen else { break }
            // A shutdown stops the handlers and hands all jobs back.
            table.deregister(processes[index].id)
            processes[index].isDead = true
            spawn()
        }
        return nil
    }
}
