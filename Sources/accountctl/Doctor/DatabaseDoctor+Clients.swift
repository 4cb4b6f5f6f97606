import AccountLifecycle
import Postgres
import Settings
import SignInWithApple
import Terminal

extension DatabaseDoctor {
    /// Reports credentials held for client ids that are no longer configured; if none is configured, another finding
    /// says so.
    func clients(on connection: isolated Connection) throws -> [DoctorFinding] {
        guard settings.apple.isConfigured else { return [] }
        let ours = settings.apple.identities.map(\.clientID)
        return try CredentialBooks.heldByClient(on: connection).filter { !ours.contains($0.clientID) }.map { held in
            DoctorFinding(
                .error,
                "apple.unconfigured",
                "\(Wording.count(held.credentials, "credential is", "credentials are")) held of "
                    + "\(held.clientID), which is not configured here",
                why:
                    "Apple cannot be asked to revoke them, and deletions of their accounts wait as long as "
                    + "apple.give_up says before they continue without revoking.",
                todo: "Configured: \(ours.joined(separator: ", ")). Add it to the client_ids of its team: [apple], or "
                    + "[apple.app.NAME] for another team." + DoctorFinding.thenRestart
            )
        }
    }
}
