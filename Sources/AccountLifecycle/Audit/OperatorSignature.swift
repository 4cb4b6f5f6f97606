package import Postgres

/// The operator who acts, as logged; enough for acts that concern no account.
package struct OperatorSignature: Sendable, Hashable {
    /// The operator's name, as logged.
    package let name: String
    /// The user account on this machine; nil if it is unknown.
    package let machineUser: String?
    /// The number of the ticket that requested the act.
    package let ticket: String?
    /// Why, in the operator's words.
    package let reason: String?

    package init(name: String, machineUser: String? = nil, ticket: String? = nil, reason: String? = nil) {
        self.name = name
        self.machineUser = machineUser
        self.ticket = ticket
        self.reason = reason
    }

    /// Adds an entry that concerns no account, in the transaction of the act.
    ///
    /// - Parameters:
    ///   - action: what is done, such as `jobs.pause`.
    ///   - facts: names and ids of our own rows and counts, never personal data.
    ///   - connection: the connection of the act.
    /// - Throws: `PostgresError`.
    package func log(
        _ action: String,
        facts: some Codable & Sendable = [String: String](),
        on connection: isolated Connection
    ) throws {
        try connection.execute(
            """
            select accountctl.log_operation(
                \(name), \(action), null, null, \(reason), \(JSON(facts)), \(ticket), \(machineUser)
            )
            """
        )
    }
}
