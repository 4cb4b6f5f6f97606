import Postgres
import Sealing
import SignInWithApple

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One side of a team transfer: whom it asks Apple about, and what it keeps of the answers.
protocol TransferSide: Sendable {
    /// What Apple says of a user.
    associatedtype Answer: Sendable

    /// States that a refusal may take the place of.
    var refusable: [TransferState] { get }

    /// Looks at so many rows of accounts, of whichever state: a page costs the same wherever the run is.
    func page(after position: UUID?, rows: Int, on connection: isolated Connection) throws -> TransferPage

    /// Some whom Apple named before.
    func witnesses(atMost count: Int, on connection: isolated Connection) throws -> [String]

    func ask(_ subject: String, _ token: Secret<String>) async throws -> TransferOutcome<Answer>

    func record(_ answer: Answer, of user: UUID, subject: String, on connection: isolated Connection) throws
}

/// Accounts that follow one another by their ids.
struct TransferPage: Sendable {
    /// Whom Apple is to be asked about, and what Apple calls them.
    let due: [(user: UUID, subject: String)]
    /// The last account of all of them; nil when there is none any more.
    let last: UUID?

    /// Reads rows of accounts with the name of whoever is due.
    init(_ rows: [(UUID, String?)]) {
        due = rows.compactMap { user, subject in subject.map { (user, $0) } }
        last = rows.last?.0
    }

    /// Where a page begins.
    static func follows(_ position: UUID?) -> Statement {
        if let position { "user_id > \(position)" } else { "true" }
    }
}
