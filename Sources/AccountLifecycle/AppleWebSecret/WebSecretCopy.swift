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
/// Read anew whenever it is asked: who renews the secret writes the copy anew, and no worker is started again for it.
package struct WebSecretCopy: Sendable {
    /// What is known of a secret that ends.
    struct Facts {
        let clientID: String?
        let end: Date
        /// Whole days, less than none after the end.
        let daysLeft: Int
    }

    private let read: @Sendable () throws -> Secret<String>

    /// A copy that is read by a closure.
    package init(_ read: @escaping @Sendable () throws -> Secret<String>) {
        self.read = read
    }

    /// What the copy says now; nil when it is no client secret, or has no end, which the doctor tells.
    ///
    /// - Throws: What reading it throws.
    func facts(at now: Date) throws -> Facts? {
        guard case .clientSecret(let secret) = StaticClientSecret.inspect(try read(), now: now),
            let end = secret.expiresAt, let days = secret.daysLeft(at: now)
        else { return nil }
        return Facts(clientID: secret.clientID, end: end, daysLeft: days)
    }

    /// Tells monitoring when the secret ends.
    ///
    /// - Throws: What reading it throws; what was told before stands then.
    package func publish(factory: any MetricsFactory = MetricsSystem.factory) throws {
        guard let facts = try facts(at: Date()) else { return }
        Gauge(label: "apple_web_client_secret_expiry_timestamp_seconds", factory: factory)
            .record(facts.end.timeIntervalSince1970)
    }
}
