import Postgres
import Sealing
import SignInWithApple

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One side of a team transfer: whom it asks Apple about, and what it records of the answers.
protocol TransferSide: Sendable {
    /// Apple's answer about a user.
    associatedtype Answer: Sendable

    /// The states that a refusal may replace.
    var refusable: [TransferState] { get }

    /// Reads a fixed number of rows, whatever their state, so that a page costs the same wherever the run is.
    func page(after position: UUID?, rows: Int, on connection: isolated Connection) throws -> TransferPage

    /// Some users whom Apple named before.
    func witnesses(atMost count: Int, on connection: isolated Connection) throws -> [String]

    func ask(_ subject: String, _ token: Secret<String>) async throws -> TransferOutcome<Answer>

    /// - Returns: How many accounts were recorded: none if it was erased meanwhile, or has progressed by another of its
    ///   identities.
    func record(_ answer: Answer, of user: UUID, subject: String, on connection: isolated Connection) throws -> Int
}

/// A page of accounts, in the order of their ids.
struct TransferPage: Sendable {
    /// The users that are due, and how to name them to Apple.
    let due: [(user: UUID, subject: String)]
    /// The last account of the page, due or not; nil at the end.
    let last: UUID?

    /// Takes rows of accounts, with a subject only for those that are due.
    init(_ rows: [(UUID, String?)]) {
        due = rows.compactMap { user, subject in subject.map { (user, $0) } }
        last = rows.last?.0
    }

    /// A condition: the accounts after a position.
    static func follows(_ position: UUID?) -> Statement {
        if let position { "user_id > \(position)" } else { "true" }
    }
}
