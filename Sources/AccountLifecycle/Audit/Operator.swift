package import Postgres
package import Sealing

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Who acts, and the line that each act leaves in the operators' log.
///
/// The line names the account by its keyed hash, from the start; the operator's name and own words stand beside it, so
/// they must not name the person either: a text with one of the account's own identifiers in it is refused.
package struct Operator: Sendable {
    /// Who acts, as the log will say.
    let name: String
    /// The account on this machine; nil where that cannot be told.
    let machineUser: String?
    /// The number of the ticket that asked for it.
    let ticket: String?
    /// The key that the log's hashes are made with.
    package let hashKey: HashKey

    package init(name: String, machineUser: String? = nil, ticket: String? = nil, hashKey: HashKey) {
        self.name = name
        self.machineUser = machineUser
        self.ticket = ticket
        self.hashKey = hashKey
    }

    /// Adds a line, in the transaction of the act, so that neither stands without the other.
    ///
    /// - Parameters:
    ///   - action: what is done, such as `user.suspend`.
    ///   - user: the account it is done to, if it is one.
    ///   - reason: why, in the operator's words.
    ///   - facts: ids of our own rows and counts, never personal data.
    ///   - connection: the one the act runs on.
    /// - Returns: The number of the line.
    /// - Throws: ``NamedSubject``; ``NewHashKey``; ``OtherHashKey``; `PostgresError`.
    @discardableResult
    package func log(
        _ action: String,
        on user: UUID?,
        reason: String?,
        facts: some Codable & Sendable = [String: String](),
        _ connection: isolated Connection
    ) throws -> Int64 {
        try HashKeyCanary.require(hashKey, on: connection)
        if let user { try NamedSubject.refuse([user], reason: reason, by: self, on: connection) }
        let subject = user.map { SubjectHash($0, key: hashKey) }
        return try connection.one(
            """
            select accountctl.log_operation(
                \(name), \(action), \(subject?.keyID), \(subject?.bytes), \(reason), \(JSON(facts)), \(ticket), \(machineUser)
            )
            """,
            as: Int64.self
        )
    }
}
