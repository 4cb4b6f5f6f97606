package import Metrics
package import Sealing
import SignInWithApple

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The copy of the client secret that Supabase keeps for the web flow.
///
/// It is read again on each use, so workers need no restart when somebody renews the secret and rewrites the copy.
package struct WebSecretCopy: Sendable {
    /// What is known of a secret that expires.
    struct Facts {
        let clientID: String?
        let end: Date
        /// Whole days; negative after the end.
        let daysLeft: Int
    }

    private let read: @Sendable () throws -> Secret<String>

    /// A copy that is read by a closure.
    package init(_ read: @escaping @Sendable () throws -> Secret<String>) {
        self.read = read
    }

    /// What the copy says now; nil if it is no client secret or has no expiry, which the doctor reports.
    ///
    /// - Throws: What the read throws.
    func facts(at now: Date) throws -> Facts? {
        guard case .clientSecret(let secret) = StaticClientSecret.inspect(try read(), now: now),
            let end = secret.expiresAt, let days = secret.daysLeft(at: now)
        else { return nil }
        return Facts(clientID: secret.clientID, end: end, daysLeft: days)
    }

    /// Publishes the time at which the secret expires as a metric.
    ///
    /// - Throws: What the read throws; the metric then keeps its last value.
    package func publish(factory: any MetricsFactory = MetricsSystem.factory) throws {
        guard let facts = try facts(at: Date()) else { return }
        Gauge(label: "apple_web_client_secret_expiry_timestamp_seconds", factory: factory)
            .record(facts.end.timeIntervalSince1970)
    }
}
