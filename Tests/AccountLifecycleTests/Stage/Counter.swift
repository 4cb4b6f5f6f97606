import Synchronization

/// A number that concurrent tasks count down or up.
final class Counter: Sendable {
    private let count: Mutex<Int>

    init(_ count: Int = 0) { self.count = Mutex(count) }

    var value: Int { count.withLock(\.self) }

    func add() { count.withLock { $0 += 1 } }

    /// Takes one, and returns whether one was left.
    func take() -> Bool {
        count.withLock { count in
            guard count > 0 else { return false }
            count -= 1
            return true
        }
    }
}
