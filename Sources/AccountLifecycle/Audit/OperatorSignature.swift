package import Postgres

/// Who acts, as the operators' log names them; enough for acts that are about no account.
package struct OperatorSignature: Sendable, Hashable {
    /// Who acts, as the log will say.
    package let name: String
    /// The account on this machine; nil where that cannot be told.
    package let machineUser: String?
    /// The number of the ticket that asked for it.
    package let ticket: String?
    /// Why, in the operator's words.
    package let reason: String?

    package init(name: String, machineUser: String? = nil, ticket: String? = nil, reason: String? = nil) {
        self.name = name
        self.machineUser = machineUser
        self.ticket = ticket
        self.reason = reason
    }

    /// Adds a line about no account, in the transaction of the act.
    ///
    /// - Parameters:
    ///   - action: what is done, such as `jobs.pause`.
    ///   - facts: names and ids of our own rows and counts, never personal data.
    ///   - connection: the one the act runs on.
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
