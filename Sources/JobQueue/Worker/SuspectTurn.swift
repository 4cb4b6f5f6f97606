/// When a worker makes room for jobs that must run alone because a process died under them: a value that decides.
///
/// A crash names no culprit: everything that ran beside it is suspect. Each suspect runs with nothing beside it, so
/// that the next crash does name one. Turns alternate with ordinary work, which a thousand suspects must not stop for
/// long.
struct SuspectTurn: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Phase: Sendable, Hashable {
        /// Ordinary work goes on, at least until the instant.
        case ordinary(until: Instant?)
        /// Ordinary jobs run out; no others are claimed.
        case emptying(since: Instant)
        /// A suspect runs, or the next one is claimed; beside jobs that were not waited for any longer, perhaps.
        case alone(since: Instant, besideOthers: Bool)
    }

    /// What a worker has to do besides.
    struct Surroundings: Sendable {
        /// How many jobs run, or wait to be written.
        var occupied: Int
        /// How many of them were suspects when they began.
        var suspects: Int
        /// Whether the suspect that began last is among them.
        var hasLast: Bool
        /// Whether one more may run.
        var hasRoom: Bool
    }

    private(set) var phase = Phase.ordinary(until: nil)

    /// How long suspects run one after the other before ordinary work has its turn.
    var turn: Duration = .seconds(1)
    /// How long ordinary jobs are waited for.
    ///
    /// One that takes hours must not stop the worker: the turn is given up, and after ``turnsGivenUp`` of them a suspect
    /// begins beside what has run for so long already.
    var patience: Duration = .seconds(30)
    /// How many turns in a row are given up before a suspect begins beside others.
    var turnsGivenUp = 3
    /// How long ordinary jobs wait for one suspect.
    ///
    /// One that takes an hour must stop neither the worker nor the next suspect. Beside others it is no longer alone, but
    /// a death that its start would have brought has not come.
    var solitude: Duration = .seconds(10)
    /// The wait after a first turn given up; doubled each time until one succeeds.
    var retreat: Duration = .seconds(60)
    private var givenUp = 0
    private var fruitless = 0
    /// The suspect that began last.
    private(set) var last: JobLease?

    /// Whether ordinary jobs may be claimed.
    var allowsOrdinary: Bool {
        if case .ordinary = phase { true } else { false }
    }

    /// When to look again whether the turn is given up, though nothing ends before; nil while ordinary work goes on.
    var givesUpAt: Instant? {
        switch phase {
        case .ordinary: nil
        case .emptying(let since): since.advanced(by: patience)
        case .alone(let since, _): since.advanced(by: solitude)
        }
    }

    /// A look at the table found suspects.
    ///
    /// Whether their turn begins with that.
    @discardableResult
    mutating func found(now: Instant) -> Bool {
        guard case .ordinary(let until) = phase, until.map({ $0 <= now }) ?? true else { return false }
        phase = .emptying(since: now)
        return true
    }

    /// A look at the table found none: others took it, or it may not begin.
    ///
    /// Whether ordinary work was held up for one.
    mutating func vanished() -> Bool {
        guard case .emptying = phase else { return false }
        phase = .ordinary(until: nil)
        return true
    }

    /// Whether a suspect is to be claimed now.
    ///
    /// False also where the turn is over, or given up.
    mutating func claimsSuspect(beside others: Surroundings, now: Instant) -> Bool {
        switch phase {
        case .ordinary: return false
        case .emptying(let since):
            // Suspects of earlier turns have had their time alone, and do not count.
            let isAlone = others.occupied <= others.suspects
            let hasWaitedInVain = since.advanced(by: patience) <= now
            if others.hasRoom, isAlone || (hasWaitedInVain && givenUp >= turnsGivenUp) {
                if isAlone { givenUp = 0 }
                phase = .alone(since: now, besideOthers: !isAlone)
                return true
            }
            if isAlone, others.suspects > 0 {
                // Suspects fill every slot. They are not waited for, or ordinary work would stand still for nothing.
                phase = .ordinary(until: now.advanced(by: retreat))
            } else if hasWaitedInVain {
                phase = .ordinary(until: now.advanced(by: retreat * (1 << givenUp)))
                givenUp = min(givenUp + 1, turnsGivenUp)
            }
            return false
        case .alone(let since, let besideOthers):
            if others.hasLast, now < since.advanced(by: solitude) { return false }
            guard others.hasLast || since.advanced(by: turn) <= now else { return others.hasRoom }
            // Ordinary work gets as long as it has waited; longer where jobs that were not waited for go on.
            phase = .ordinary(until: now.advanced(by: besideOthers ? retreat : now - since))
            return false
        }
    }

    /// A claim took a suspect.
    mutating func took(_ job: JobLease) {
        last = job
        fruitless = 0
    }

    /// A claim found no suspect: none is left, or those that are may not begin now.
    ///
    /// Ordinary work is stopped for one that may not begin, under a limit perhaps, more and more rarely.
    mutating func noneLeft(now: Instant) {
        phase = .ordinary(until: now.advanced(by: min(turn * (1 << min(fruitless, 10)), retreat)))
        fruitless += 1
        givenUp = 0
    }
}
