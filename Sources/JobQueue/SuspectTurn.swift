/// When a worker makes room for jobs that must run alone because a process died under them: a value that decides.
///
/// A crash names no culprit: everything that ran beside it is suspect. Each suspect runs with nothing beside it, so that the
/// next crash does name one. Turns alternate with ordinary work, which a thousand suspects must not stop for long.
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
    /// One that takes hours must not stop the worker: the turn is given up.
    var patience: Duration = .seconds(30)
    /// The wait after a turn given up.
    var retreat: Duration = .seconds(60)

    /// Whether ordinary jobs may be claimed.
    var allowsOrdinary: Bool {
        if case .ordinary = phase { true } else { false }
    }

    /// A look at the table found suspects.
    mutating func found(now: Instant) {
        guard case .ordinary(let until) = phase, until.map({ $0 <= now }) ?? true else { return }
        phase = .emptying(since: now)
    }

    /// Whether a suspect is to be claimed now.
    mutating func claimsSuspect(occupied: Int, now: Instant) -> Bool {
        switch phase {
        case .ordinary: return false
        case .emptying(let since):
            if occupied == 0 {
                phase = .alone(since: now)
                return true
            }
            if since.advanced(by: patience) <= now { phase = .ordinary(until: now.advanced(by: retreat)) }
            return false
        case .alone(let since):
            guard occupied == 0 else { return false }
            if since.advanced(by: turn) <= now {
                phase = .ordinary(until: now.advanced(by: turn))
                return false
            }
            return true
        }
    }

    /// A claim found no suspect: none is left, or those that are may not begin now.
    mutating func noneLeft(now: Instant) {
        phase = .ordinary(until: now.advanced(by: turn))
    }
}
