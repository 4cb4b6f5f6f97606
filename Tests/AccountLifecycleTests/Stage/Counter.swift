import Synchronization

/// A number that many tasks count down or up.
final class Counter: Sendable {
    private let count: Mutex<Int>

    init(_ count: Int = 0) { self.count = Mutex(count) }

    var value: Int { count.withLock(\.self) }

    func add() { count.withLock { $0 += 1 } }

    /// Takes one, if there is one left.
    func take() -> Bool {
        count.withLock { count in
            guard count > 0 else { return false }
            count -= 1
            return true
        }
    }
}
