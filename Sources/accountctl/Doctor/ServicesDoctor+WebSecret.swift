import Sealing
import Settings
import SignInWithApple
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension ServicesDoctor {
    /// Checks our copy of the client secret that Supabase holds, if one is configured.
    func webSecret() -> [DoctorFinding] {
        guard let text = parts.settings.apple.webClientSecret else { return [] }
        return webSecret(StaticClientSecret.inspect(text, now: now()), "apple.web_client_secret")
    }

    /// Reports on a client secret of the web flow.
    ///
    /// - Parameters:
    ///   - inspection: the result of inspecting the secret.
    ///   - place: the secret's location, in words.
    /// - Returns: One finding per fact worth reporting.
    func webSecret(_ inspection: StaticClientSecret.Inspection, _ place: String) -> [DoctorFinding] {
        let renew =
            "Create a new one for Supabase's settings and the copy: accountctl apple client-secret push, or print."
        switch inspection {
        case .privateKey:
            return [
                DoctorFinding(
                    .error,
                    "apple.web_secret",
                    "\(place) is the .p8 key itself",
                    why:
                        "If it was also pasted into Supabase's settings, web sign-in fails and the key is exposed "
                        + "there.",
                    todo: "Revoke the key at Apple and create a new one. " + renew
                )
            ]
        case .notASecret:
            return [
                DoctorFinding(
                    .error,
                    "apple.web_secret",
                    "\(place) is not a client secret, which is a JWT (eyJ...)",
                    why: "Sign-in with Apple on the web fails with it.",
                    todo: renew
                )
            ]
        case .clientSecret(let secret):
            return [finding(about: secret, renew)]
        }
    }

    private func finding(about secret: StaticClientSecret, _ renew: String) -> DoctorFinding {
        let whose = secret.clientID ?? "an unnamed client"
        guard secret.problems.isEmpty, let days = secret.daysLeft(at: now()) else {
            return DoctorFinding(
                .error,
                "apple.web_secret",
                "the web client secret of \(whose): \(secret.problems.map(\.description).joined(separator: "; "))",
                why: "Apple rejects it: sign-in on the web fails.",
                todo: renew
            )
        }
        let apple = parts.settings.apple
        let ours = apple.identities.first { $0.clientID == secret.clientID }
        if let ours, let teamID = secret.teamID, teamID != ours.teamID {
            return DoctorFinding(
                .error,
                "apple.web_secret",
                "the web client secret of \(whose) is of the team \(teamID), and "
                    + "\(apple.section(of: ours.clientID)).team_id is \(ours.teamID)",
                why: "After a transfer, Apple refuses the former team's secret: sign-in on the web fails.",
                todo: renew
            )
        }
        guard days < StaticClientSecret.warningDays else {
            if let ours, let keyID = secret.keyID, keyID != ours.keyID {
                return DoctorFinding(
                    .notice,
                    "apple.web_secret",
                    "the web client secret of \(whose) is signed with the key \(keyID), and "
                        + "\(apple.section(of: ours.clientID)).key_id is \(ours.keyID)",
                    why: "Sign-in on the web stops when that key is revoked at Apple, even before the secret expires.",
                    todo: renew
                )
            }
            return .ok("apple.web_secret", "the web client secret of \(whose) is valid for \(days) days")
        }
        return DoctorFinding(
            .warning,
            "apple.web_secret",
            "the web client secret of \(whose) expires in \(Wording.count(days, "day"))",
            why: "Sign-in with Apple on the web then stops without any warning.",
            todo: renew
        )
    }
}
