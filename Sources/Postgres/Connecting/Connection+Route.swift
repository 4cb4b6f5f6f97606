import LibPQ
import Logging

/// What lies between this program and the server, found out once a connection is made.
extension Connection {
    /// What lies in between by what is said of it, or by whose it is; nil when there is a pooler of an unknown kind.
    func routeByName() -> Route? {
        switch configuration.pooler {
        case .none: return .direct
        case .transaction: return .transactionPooler
        case .detect: break
        }
        // Supabase's transaction poolers, shared and dedicated, are on the one port, its shared session pooler on the
        // other. Source: supabase.com/docs/guides/database/connecting-to-postgres
        switch handle?.port {
        case "6543": return .transactionPooler
        case "5432" where isSharedPooler: return .sessionPooler
        default: return nil
        }
    }

    /// Whether this is Supavisor, Supabase's shared pooler, by its host: nobody has to ask whether it is a server, and
    /// where it pools transactions it may refuse the question, which would make settings of a session.
    var isSharedPooler: Bool { handle?.host.hasSuffix(".pooler.supabase.com") == true }

    /// How many probes must agree before a pooler counts as a session pooler: after a single one, a busy transaction
    /// pooler was taken for one.
    private static let probes = 8

    /// Tells a transaction pooler from a session pooler by a second connection.
    ///
    /// In a session, nobody else ever gets this connection's server process. Behind a transaction pooler an open
    /// transaction of the other connection takes it away, or another one is used meanwhile; tried again where a third
    /// client may have come between.
    ///
    /// - Returns: `unknownPooler` when the second connection cannot be had, which says nothing about the first.
    /// - Throws: `CancellationError`.
    func probeRoute() async throws -> Route {
        var configuration = configuration
        configuration.pooler = .transaction
        configuration.takesAnyForm = true
        let ends = openingEnds
        do {
            return try await Connection.with(configuration, logger: logger, openUntil: ends) { [self] other in
                other.openingEnds = ends
                for _ in 0..<Self.probes {
                    let mine = try await self.answeringProcess()
                    // Held open, so that this connection cannot use the same server process meanwhile.
                    try other.script(unsafeSQL: "begin", deadline: Self.patience)
                    let theirs = try other.serverProcess()
                    // A session that had an answer before has one again.
                    guard let mine, try await self.answeringProcess() == mine, theirs != mine else {
                        return .transactionPooler
                    }
                    try other.script(unsafeSQL: "rollback")
                }
                return .sessionPooler
            }
        } catch let error as PostgresError {
            logger.info("could not find out what kind of pooler lies in between", metadata: ["reason": "\(error)"])
            return .unknownPooler
        }
    }

    /// How long the pooler has to answer a question.
    static let patience = Duration.seconds(3)

    private func serverProcess() throws -> Int {
        try one("select pg_backend_pid()", as: Int.self, deadline: Self.patience)
    }

    /// The server process that answers; nil when none does in time.
    private func answeringProcess() throws -> Int? {
        do {
            return try serverProcess()
        } catch is PostgresError where operation.interruption == .deadline {
            return nil
        }
    }
}
