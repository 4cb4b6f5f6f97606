package import Postgres
package import Sealing

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The operator who acts, and the entry that each act leaves in the operators' log.
///
/// The entry names the account only by its keyed hash. It also holds the operator's name and own words, so these must
/// not identify the person either: a text that contains one of the account's identifiers is refused.
package struct Operator: Sendable {
    /// The operator's name, as logged.
    let name: String
    /// The user account on this machine; nil if it is unknown.
    let machineUser: String?
    /// The number of the ticket that requested the act.
    let ticket: String?
    /// The key of the hashes in the log.
    package let hashKey: HashKey

    package init(name: String, machineUser: String? = nil, ticket: String? = nil, hashKey: HashKey) {
        self.name = name
        self.machineUser = machineUser
        self.ticket = ticket
        self.hashKey = hashKey
    }

    /// Adds an entry in the transaction of the act, so that neither is committed without the other.
    ///
    /// - Parameters:
    ///   - action: what is done, such as `user.suspend`.
    ///   - user: the account that is acted on, if there is one.
    ///   - reason: why, in the operator's words.
    ///   - facts: ids of our own rows and counts, never personal data.
    ///   - connection: the connection of the act.
    /// - Returns: The number of the entry.
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
