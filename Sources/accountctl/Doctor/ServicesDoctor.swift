import Settings
import SignInWithApple

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Checks that Apple and Storage accept our credentials from here, without using anything up.
struct ServicesDoctor {
    let parts: WorkerServices
    /// Whether the database has profiles, which need a bucket of their own.
    let hasProfiles: Bool
    /// Whether the settings of Sign in with Apple are valid, and so is the list of our client ids.
    let isAppleSound: Bool
    /// The clock of this machine.
    let now: @Sendable () -> Date

    func findings() async throws -> [DoctorFinding] {
        // The checks run concurrently: in a network that drops every packet, each needs ten seconds or more to fail.
        async let apple = self.apple()
        async let project = self.project()
        async let storage = self.storage()
        return try await apple + webSecret() + project + storage
    }

    /// What to do if a service gives no verdict, which may be this machine's fault or the service's.
    static func advice(for address: String, outages: String) -> String {
        "Try again. See whether this machine may call \(address), and whether \(outages) reports an outage."
    }

    static let outagesOfSupabase = "https://status.supabase.com"

    private func apple() async throws -> [DoctorFinding] {
        let clients: AppleClients
        do {
            guard let configured = try parts.appleClients() else { return [] }
            clients = configured
        } catch {
            return [.unusable("apple.credentials", error, why: "Nothing can be revoked.")]
        }
        var findings: [DoctorFinding] = []
        for (identity, outcome) in try await clients.selfTests() {
            let id = identity.clientID
            let section = parts.settings.apple.section(of: id)
            switch outcome {
            case .good:
                findings.append(.ok("apple.credentials", "Apple accepts team, key and \(id)"))
            case .misconfigured(let reason):
                findings.append(
                    DoctorFinding(
                        .error,
                        "apple.credentials",
                        "\(reason)",
                        why: "Accounts that hold a credential of \(id) wait, and nothing of them is erased.",
                        todo: "Compare \(section).team_id, .key_id and the client id with the developer account."
                            + DoctorFinding.thenRestart + DoctorFinding.ofNewKey
                    )
                )
            case .later(let delay):
                findings.append(
                    DoctorFinding(
                        .warning,
                        "apple.reachable",
                        "no verdict on \(id): \(delay)",
                        why: "Whether Apple accepts the key was not checked. While it gives no answer, nothing is "
                            + "revoked, and authorization codes expire.",
                        todo: Self.advice(
                            for: parts.settings.apple.host,
                            outages: "https://developer.apple.com/system-status"
                        )
                    )
                )
            }
        }
        return findings
    }
}
