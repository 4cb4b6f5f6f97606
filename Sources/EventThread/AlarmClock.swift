import Synchronization

/// The thread that rings the alarms of all others.
///
/// It has a thread of its own, so that tasks occupying all other threads cannot delay a deadline.
final class AlarmClock: Sendable {
    /// The shared clock; nil if the system had no thread left for it.
    static let shared = try? AlarmClock()

    private struct Alarm {
        var rings: ContinuousClock.Instant
        var waker: Waker
    }

    private let loop: EventLoop
    /// A short list: a thread has one pending alarm, rarely two.
    private let alarms = Mutex<[Alarm]>([])

    private init() throws(EventThreadError) {
        loop = try EventLoop(name: "alarm-clock", hasAlarms: false)
        try loop.start()
    }

    /// Signals the waker at that time.
    func ring(_ waker: Waker, at instant: ContinuousClock.Instant) {
        alarms.withLock { alarms in
            alarms.append(Alarm(rings: instant, waker: waker))
            watch(alarms)
        }
    }

    private func ringDue() {
        alarms.withLock { alarms in
            let now = ContinuousClock.now
            for alarm in alarms where alarm.rings <= now { alarm.waker.signal() }
            alarms.removeAll { $0.rings <= now }
            watch(alarms)
        }
    }

    /// Must be called under the lock: a watch made from an older list must not replace one made from a newer list.
    private func watch(_ alarms: [Alarm]) {
        loop.setWatch(
            alarms.map(\.rings).min().map { IdleWatch([], until: $0) { [weak self] _ in self?.ringDue() } }
        )
    }
}
