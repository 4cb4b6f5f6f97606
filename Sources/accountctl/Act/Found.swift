import Synchronization

/// What an act found before its question, for comparison after the answer: somebody else may have acted while the
/// question waited.
final class Found<Value: Sendable>: Sendable {
    private let kept: Mutex<Value>

    init(_ value: Value) { kept = Mutex(value) }

    var value: Value { kept.withLock { $0 } }

    func set(_ value: Value) { kept.withLock { $0 = value } }
}
