import Settings
import SignInWithApple

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension ServicesDoctor {
    /// Compares the project's settings for Sign in with Apple with ours, if the management API is configured.
    func project() async throws -> [DoctorFinding] {
        let settings = parts.settings
        guard let project = try settings.supabase.project(parts.caller) else { return [] }
        switch try await project.provider() {
        case .done(let provider): return findings(about: provider, project.project)
        case .notAllowed(let status), .refused(let status):
            return [
                DoctorFinding(
                    .error,
                    "supabase.project",
                    "the management API denies the token access to project \(project.project) (HTTP \(status))",
                    why: "The project's client ids and secret cannot be checked.",
                    todo: "Compare supabase.project and the owner and scopes of supabase.access_token_file."
                )
            ]
        case .later(let reason):
            return [
                DoctorFinding(
                    .warning,
                    "supabase.reachable",
                    "no verdict on project \(project.project): \(reason)",
                    why: "The project's client ids and secret were not checked.",
                    todo: Self.advice(for: settings.supabase.host, outages: Self.outagesOfSupabase)
                )
            ]
        }
    }

    private func findings(about provider: ProjectAuthSettings.Provider, _ project: String) -> [DoctorFinding] {
        guard provider.isOn else {
            return [
                DoctorFinding(
                    .error,
                    "supabase.apple",
                    "Sign in with Apple is switched off in project \(project)",
                    why: "Nobody can sign in with Apple.",
                    todo: "Switch it on: Authentication, Sign In / Providers, Apple."
                )
            ]
        }
        var findings: [DoctorFinding] = []
        let ours = parts.settings.apple.identities.map(\.clientID)
        for id in ours where !provider.clientIDs.contains(id) {
            findings.append(
                DoctorFinding(
                    .error,
                    "supabase.client_ids",
                    "project \(project) does not list the client id \(id)",
                    why: "Sign-ins with it fail: the audience of the token is not acceptable.",
                    todo: "Add it to the client ids of the provider Apple in the project's settings."
                )
            )
        }
        for id in provider.clientIDs where isAppleSound && !ours.contains(id) {
            findings.append(
                DoctorFinding(
                    .warning,
                    "apple.client_ids",
                    "project \(project) lets people sign in with \(id), which is not configured here",
                    why: "Their credentials cannot be kept or revoked, and notifications about them are refused.",
                    todo: "Add it to the client_ids of its team: [apple], or [apple.app.NAME] for another team."
                )
            )
        }
        if let secret = provider.secret {
            let kept = StaticClientSecret.inspect(secret, now: now())
            // The API often returns only a hash, which cannot be judged.
            if kept != .notASecret { findings.append(contentsOf: webSecret(kept, "the secret of project \(project)")) }
        }
        guard findings.isEmpty, isAppleSound else { return findings }
        return [.ok("supabase.client_ids", "project \(project) lists the same client ids")]
    }
}
