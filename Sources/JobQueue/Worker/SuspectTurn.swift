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
        /// A suspect runs, or the next one is claimed.
        case alone(since: Instant)
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

    /// Whether ordinary jobs may be claimed.
    var allowsOrdinary: Bool {
        if case .ordinary = phase { true } else { false }
    }

    /// When to look again whether the turn is given up, though nothing ends before; nil while ordinary work goes on.
    var givesUpAt: Instant? {
        switch phase {
        case .ordinary: nil
        case .emptying(let since): since.advanced(by: patience)
        case .alone(let since): since.advanced(by: solitude)
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
    /// - Parameters:
    ///   - occupied: how many jobs run, or wait to be written.
    ///   - suspects: how many of them were suspects when they began.
    ///   - now: the time.
    /// - Returns: False also where the turn is over, or given up.
    mutating func claimsSuspect(occupied: Int, suspects: Int, now: Instant) -> Bool {
        switch phase {
        case .ordinary: return false
        case .emptying(let since):
            let hasWaitedInVain = since.advanced(by: patience) <= now
            // Those of earlier turns have outlived their solitude.
            if occupied <= suspects || (hasWaitedInVain && givenUp >= turnsGivenUp) {
                phase = .alone(since: now)
                givenUp = 0
                return true
            }
            if hasWaitedInVain {
                phase = .ordinary(until: now.advanced(by: retreat * (1 << givenUp)))
                givenUp += 1
            }
            return false
        case .alone(let since):
            guard occupied == 0 || since.advanced(by: solitude) <= now else { return false }
            guard occupied <= suspects else {
                phase = .ordinary(until: now.advanced(by: retreat))
                return false
            }
            if since.advanced(by: turn) <= now {
                // As long for ordinary work as it has waited.
                phase = .ordinary(until: now.advanced(by: now - since))
                return false
            }
            return true
        }
    }

    /// A claim took a suspect.
    mutating func took() {
        fruitless = 0
    }

    /// A claim found no suspect: none is left, or those that are may not begin now.
    ///
    /// Ordinary work is stopped for one that may not begin, under a limit perhaps, more and more rarely.
    mutating func noneLeft(now: Instant) {
        phase = .ordinary(until: now.advanced(by: min(turn * (1 << min(fruitless, 10)), retreat)))
        fruitless += 1
    }
}
