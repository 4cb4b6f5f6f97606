import AccountLifecycle
import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension AccountReport.Warning {
    /// The warning in a sentence, with the command that shows more or resolves it, if there is one.
    func words(about user: UUID) -> String {
        let id = user.text
        return switch self {
        case .noCredential:
            "Signs in with Apple, but no credential is held: erasing it cannot revoke at Apple."
        case .blockingRows(let rows) where rows.rows == nil:
            "Whether rows of \(rows.table) (\(rows.column)) forbid deleting the account was not counted: "
                + "see accountctl deletion plan \(id)."
        case .blockingRows(let rows):
            "Rows of \(rows.table) (\(rows.column)) forbid deleting the account."
        case .forwardingOff:
            "The person has switched forwarding off: mail to the relay address does not arrive."
        case .stopped(let situation, let request):
            "Its deletion cannot continue: \(situation.code.rawValue)"
                + (situation.subject.map { " (\($0))" } ?? "") + "; \(Self.see(request))."
        case .paused(let request):
            "Its deletion request itself is paused; \(Self.see(request))."
        case .held:
            "A legal hold forbids erasing it."
        case .endlessBan:
            "Banned without end, a date that Supabase cannot read: accountctl user suspend \(id) gives it one, "
                + "accountctl user restore \(id) lifts it."
        case .softDeleted:
            "Soft-deleted by Supabase: the profile and the app's rows are still there."
        case .noIdentity:
            "It has no identity: nobody can sign in to it."
        }
    }

    private static func see(_ request: UUID) -> String {
        "see accountctl deletion show \(request.text)"
    }
}
