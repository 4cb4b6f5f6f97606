import AccountLifecycle
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Describes an account by its masked address and its state in a confirmation question, so that a mistyped id is
/// noticed.
enum AccountLabel {
    /// Labels an id with the account that was found: `8d3c2a1e-… (a***@e***.com, active)`.
    static func named(_ id: UUID, _ match: AccountMatch) -> String { named(id, of(match)) }

    /// Looks up the account and labels the id with it; returns the id alone if the account is unknown.
    static func named(_ id: UUID, account: UUID?, on connection: isolated Connection) throws -> String {
        guard let term = account.flatMap({ LookupTerm($0.uuidString, as: .userID) }) else { return named(id, nil) }
        // Without a hash key, the lookup does not search for erased accounts, which no question needs.
        let answer = try AccountDirectory(hashKey: nil).find(term, on: connection)
        return named(
            id,
            answer.matches.first.map(of) ?? answer.leaving.first.map { "account gone, \($0.deletion.place)" }
        )
    }

    private static func named(_ id: UUID, _ label: String?) -> String {
        id.text + (label.map { " (\($0))" } ?? "")
    }

    private static func of(_ match: AccountMatch) -> String {
        let address = match.email.map { PersonalData($0, .email) } ?? match.phone.map { PersonalData($0, .phone) }
        return (address.map { $0.masked + ", " } ?? "") + match.standing.state.word
    }
}
