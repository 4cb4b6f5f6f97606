import AccountLifecycle
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a question says of an account beside an id: its masked address and its state, so that a mistyped term shows.
enum AccountLabel {
    /// An id with the account that it means: `8d3c2a1e-… (a***@e***.com, active)`.
    static func named(_ id: UUID, _ match: AccountMatch) -> String { named(id, of(match)) }

    /// An id with its account, which is still to be looked up; the id alone where nobody knows of one.
    static func named(_ id: UUID, account: UUID?, on connection: isolated Connection) throws -> String {
        guard let term = account.flatMap({ LookupTerm($0.uuidString, as: .userID) }) else { return named(id, nil) }
        // Without the hash key: what was erased is no longer asked about.
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
