/// A query in flight or queued; confined to the exchange and its thread.
final class CaresQuery {
    let query: DNSQuery
    let deadline: ContinuousClock.Instant
    var id: UInt16 = 0
    private var continuation: CheckedContinuation<CaresExchange.Ending, Never>?
    /// Whether the channel has released the query, so that its slot is free.
    fileprivate(set) var isReleased = false

    init(
        _ query: DNSQuery,
        deadline: ContinuousClock.Instant,
        _ continuation: CheckedContinuation<CaresExchange.Ending, Never>
    ) {
        self.query = query
        self.deadline = deadline
        self.continuation = continuation
    }

    /// Whether the caller has received an outcome.
    var isFinished: Bool { continuation == nil }

    /// Resumes the caller with the first outcome; later calls do nothing.
    func finish(_ ending: CaresExchange.Ending) {
        continuation?.resume(returning: ending)
        continuation = nil
    }
}

/// Called by the channel once for each query; file-level, since a closure would inherit an isolation it does not run
/// in.
func caresQueryEnded(
    _ context: UnsafeMutableRawPointer?,
    _ status: Int32,
    _ timeouts: Int32,
    _ bytes: UnsafeMutablePointer<UInt8>?,
    _ count: Int32
) {
    guard let context else { return }
    let query = Unmanaged<CaresQuery>.fromOpaque(context).takeRetainedValue()
    query.isReleased = true
    if let bytes, count > 0 {
        query.finish(.reply(Array(UnsafeBufferPointer(start: bytes, count: Int(count)))))
    } else if status == CaresStatus.timeout || status == CaresStatus.destroyed {
        query.finish(.noReply)
    } else {
        query.finish(.unreachable)
    }
}
