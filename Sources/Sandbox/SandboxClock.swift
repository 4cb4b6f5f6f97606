import Synchronization

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The clock of the simulated services: the machine's clock plus an offset that tests set.
///
/// It determines the validity of codes, tokens and client secrets, so that a test need not wait for five minutes to
/// pass.
package final class SandboxClock: Sendable {
    private let offset = Mutex<TimeInterval>(0)

    init() {}

    /// The current time of the simulated services.
    package var now: Date {
        Date().addingTimeInterval(offset.withLock { $0 })
    }

    /// Moves the clock; a negative duration makes Apple's clock run behind the client's.
    package func advance(by duration: Duration) {
        offset.withLock { $0 += duration / .seconds(1) }
    }
}
