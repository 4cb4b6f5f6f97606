import Synchronization

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The clock of the pretended services: the machine's, moved forward or back by tests.
///
/// Codes, tokens and client secrets are judged by it, so that a test need not wait for five minutes to pass.
package final class SandboxClock: Sendable {
    private let offset = Mutex<TimeInterval>(0)

    init() {}

    /// What the pretended services take for the present.
    package var now: Date {
        Date().addingTimeInterval(offset.withLock { $0 })
    }

    /// Moves the clock; a negative duration makes Apple's clock run behind the client's.
    package func advance(by duration: Duration) {
        offset.withLock { $0 += duration / .seconds(1) }
    }
}
