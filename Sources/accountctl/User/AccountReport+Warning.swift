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
            "Signs in with Apple, but no credential is held: its erasure cannot revoke anything at Apple, unless the app "
                + "submits an authorization code beforehand."
        case .blockingRows(let rows) where rows.rows == nil:
            "Rows of \(rows.table) (\(rows.column)) that may prevent deleting the account were not counted: see "
                + "accountctl deletion plan \(id)."
        case .blockingRows(let rows):
            "Rows of \(rows.table) (\(rows.column)) prevent deleting the account."
        case .forwardingOff:
            "The person has switched forwarding off: mail to the relay address does not arrive."
        case .stopped(let situation, let request):
            "Its deletion cannot continue: \(situation.code.rawValue)"
                + (situation.subject.map { " (\($0))" } ?? "") + "; \(Self.see(request))."
        case .paused(let request):
            "Its deletion request itself is paused; \(Self.see(request))."
        case .held:
            "A legal hold prevents erasing it."
        case .endlessBan:
            "Banned without an end, which Supabase cannot read: accountctl user suspend \(id) sets one, accountctl "
                + "user restore \(id) lifts the ban."
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
