import JobQueue
package import Logging
import SignInWithApple

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Warns once a day that the client secret of Supabase's web flow expires, from thirty days before its end.
///
/// A job of its own, so that the warning comes once a day for all workers together, and also for a worker that cron
/// starts every few minutes.
package struct WebSecretReminder: Sendable {
    static let kind = JobKind<NoArguments>(
        "apple.remind_web_secret",
        queue: "apple",
        priority: 9,
        timeout: .seconds(60)
    )

    private let copy: WebSecretCopy
    private let now: @Sendable () -> Date

    /// Watches the copy of the secret that Supabase keeps.
    package init(_ copy: WebSecretCopy, now: @escaping @Sendable () -> Date = { Date() }) {
        self.copy = copy
        self.now = now
    }

    /// Adds the job and its schedule to a worker's registry.
    ///
    /// - Throws: ``JobQueueError`` when the kind is registered already.
    func register(in registry: inout JobRegistry) throws {
        try registry.register(Self.kind) { _, context in
            remind(context.logger)
            return .completed()
        }
        try registry.schedule(Self.periodic())
    }

    static func periodic() throws -> PeriodicJob {
        try PeriodicJob(name: kind.name, schedule: "0 6 * * *", job: kind.job(NoArguments(), uniqueKey: kind.name))
    }

    /// Logs the warning if it is due.
    package func remind(_ logger: Logger) {
        let now = now()
        let known: WebSecretCopy.Facts?
        do {
            known = try copy.facts(at: now)
        } catch {
            logger.warning(
                "the copy of the web client secret cannot be read: its expiry is not monitored",
                metadata: ["reason": "\(error)"]
            )
            return
        }
        guard let facts = known, facts.daysLeft < StaticClientSecret.warningDays else { return }
        logger.warning(
            facts.end > now
                ? "the web client secret expires soon: sign-in with Apple on the web then fails"
                : "the web client secret has expired: sign-in with Apple on the web fails",
            metadata: [
                "client_id": "\(facts.clientID ?? "")", "days_left": "\(max(facts.daysLeft, 0))",
                "renew": "accountctl apple client-secret push, or print",
            ]
        )
    }
}
