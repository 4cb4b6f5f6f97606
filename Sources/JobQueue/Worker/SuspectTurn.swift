/// Decides when a worker makes room for jobs that must run alone because a process died under them: a pure value.
///
/// A crash does not show which job caused it: every job that ran at the time is suspect. Each suspect runs alone, so
/// that the next crash does identify the culprit. Turns alternate with ordinary work, which even a thousand suspects
/// must not stop for long.
struct SuspectTurn: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Phase: Sendable, Hashable {
        /// Ordinary work runs, at least until the instant.
        case ordinary(until: Instant?)
        /// Running ordinary jobs end; no others are claimed.
        case emptying(since: Instant)
        /// A suspect runs, or the next one is claimed; possibly beside jobs that the worker stopped waiting for.
        case alone(since: Instant, besideOthers: Bool)
    }

    /// The other jobs of the worker.
    struct Surroundings: Sendable {
        /// How many jobs run, or have outcomes to write.
        var occupied: Int
        /// How many of them were claimed as suspects.
        var suspects: Int
        /// Whether the suspect that started last is among them.
        var hasLast: Bool
        /// Whether one more may run.
        var hasRoom: Bool
    }

    private(set) var phase = Phase.ordinary(until: nil)

    /// How long suspects run one after the other before ordinary work has its turn.
    var turn: Duration = .seconds(1)
    /// How long to wait for ordinary jobs to end.
    ///
    /// A job that takes hours must not stop the worker: the turn is given up, and after ``turnsGivenUp`` of them a
    /// suspect starts beside the jobs that have run for so long.
    var patience: Duration = .seconds(30)
    /// How many turns in a row are given up before a suspect starts beside other jobs.
    var turnsGivenUp = 3
    /// How long ordinary jobs wait for one suspect to end.
    ///
    /// A suspect that takes an hour must stop neither the worker nor the next suspect. After this time it no longer
    /// runs alone, but a crash caused by its start would already have happened.
    var solitude: Duration = .seconds(10)
    /// The wait after the first turn that is given up; doubled each time until a turn succeeds.
    var retreat: Duration = .seconds(60)
    private var givenUp = 0
    private var fruitless = 0
    /// The suspect that started last.
    private(set) var last: JobLease?

    /// Whether ordinary jobs may be claimed.
    var allowsOrdinary: Bool {
        if case .ordinary = phase { true } else { false }
    }

    /// When to check whether to give up the turn even if no job ends before; nil during ordinary work.
    var givesUpAt: Instant? {
        switch phase {
        case .ordinary: nil
        case .emptying(let since): since.advanced(by: patience)
        case .alone(let since, _): since.advanced(by: solitude)
        }
    }

    /// Records that the table has suspects.
    ///
    /// Returns whether their turn begins now.
    @discardableResult
    mutating func found(now: Instant) -> Bool {
        guard case .ordinary(let until) = phase, until.map({ $0 <= now }) ?? true else { return false }
        phase = .emptying(since: now)
        return true
    }

    /// Records that the table has no suspects that may start: others took them, or they may not begin.
    ///
    /// Returns whether ordinary work had been stopped for one.
    mutating func vanished() -> Bool {
        guard case .emptying = phase else { return false }
        phase = .ordinary(until: nil)
        return true
    }

    /// Whether to claim a suspect now.
    ///
    /// False also if the turn is over or given up.
    mutating func claimsSuspect(beside others: Surroundings, now: Instant) -> Bool {
        switch phase {
        case .ordinary: return false
        case .emptying(let since):
            // Suspects of earlier turns have had their time alone and do not count.
            let isAlone = others.occupied <= others.suspects
            let hasWaitedInVain = since.advanced(by: patience) <= now
            if others.hasRoom, isAlone || (hasWaitedInVain && givenUp >= turnsGivenUp) {
                if isAlone { givenUp = 0 }
                phase = .alone(since: now, besideOthers: !isAlone)
                return true
            }
            if isAlone, others.suspects > 0 {
                // Suspects fill every slot. Waiting for them would stop ordinary work for nothing.
                phase = .ordinary(until: now.advanced(by: retreat))
            } else if hasWaitedInVain {
                phase = .ordinary(until: now.advanced(by: retreat * (1 << givenUp)))
                givenUp = min(givenUp + 1, turnsGivenUp)
            }
            return false
        case .alone(let since, let besideOthers):
            if others.hasLast, now < since.advanced(by: solitude) { return false }
            guard others.hasLast || since.advanced(by: turn) <= now else { return others.hasRoom }
            // Ordinary work gets as much time as it has waited; more if jobs that the worker stopped waiting for still
            // run.
            phase = .ordinary(until: now.advanced(by: besideOthers ? retreat : now - since))
            return false
        }
    }

    /// Records that a claim took a suspect.
    mutating func took(_ job: JobLease) {
        last = job
        fruitless = 0
    }

    /// Records that a claim found no suspect: none is left, or none may start now.
    ///
    /// For suspects that may not start, perhaps because of a limit, ordinary work is stopped less and less often.
    mutating func noneLeft(now: Instant) {
        phase = .ordinary(until: now.advanced(by: min(turn * (1 << min(fruitless, 10)), retreat)))
        fruitless += 1
        givenUp = 0
    }
}
