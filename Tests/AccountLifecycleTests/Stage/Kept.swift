import Synchronization

/// A value that a probe keeps for its test.
final class Kept<Value: Sendable>: Sendable {
    private let kept = Mutex<Value?>(nil)

    var value: Value? { kept.withLock(\.self) }

    func keep(_ value: Value) { kept.withLock { $0 = value } }
}
