/// How to reach a database and how to talk to it.
package struct ConnectionConfiguration: Sendable {
    /// What is known in advance about a pooler in between.
    package enum Pooler: Sendable {
        /// Find out from the server process's behaviour and the port.
        case detect
        /// There is no pooler, or one that pins a server process to each session.
        case none
        /// Each transaction may use another server process: no LISTEN, no prepared statements, no session settings.
        case transaction
    }

    /// Anything that libpq accepts: a URI, a keyword string, or a database name.
    ///
    /// Without it, only the `PG*` variables apply. They also supply parameters that the string leaves out, as do the
    /// service file and the password file.
    var conninfo: String?

    /// A password kept apart from the connection string; overrides every other source.
    ///
    /// Called for each connection, because the password may have changed since the last one.
    package var password: @Sendable () -> String? = { nil }

    /// The application name in `pg_stat_activity`, unless the connection string sets one.
    package var applicationName = "accountctl"

    /// How long connecting may take, for all hosts together; a `connect_timeout` in the connection string, the
    /// environment or the service file is a limit for each host instead.
    ///
    /// A silent host gets an equal share of the remaining time, so that the others get a turn, and the first silent
    /// address of a host with several gets half of that. Name resolution is not interrupted.
    package var connectTimeout: Duration = .seconds(10)

    /// Resolves a host name: with the system's resolver, except in tests.
    var resolve: @Sendable (String) -> [String] = HostAddresses.of

    /// The deadline of a statement whose call gives none; nil for no deadline.
    ///
    /// The server's own `statement_timeout` and `lock_timeout` are set a little below it. Behind a transaction pooler
    /// they are left alone, except for a call with a longer deadline.
    package var statementDeadline: Duration? = .seconds(30)

    /// How long a transaction may be idle before the server ends it, and with it the connection.
    package var idleInTransactionLimit: Duration? = .seconds(60)

    /// Server settings for each session, by name; behind a transaction pooler, for each of our transactions.
    package var sessionSettings: [String: String] = [:]

    /// How long a cancelled statement may take to end before its connection is dropped.
    package var cancelGrace: Duration = .seconds(5)

    /// Allows connections to other machines without TLS.
    ///
    /// Otherwise `sslmode` `allow` and `prefer` (libpq's default) are raised to `require` for all hosts except sockets
    /// and loopback; an explicit `sslmode=disable` is respected.
    package var allowsPlaintext = false

    /// What is known about a pooler in between.
    package var pooler: Pooler = .detect

    /// Accepts a database whose settings differ from those that our statements require, where no session can change
    /// that: for queries that work with any.
    var takesAnyForm = false

    package init(conninfo: String? = nil) {
        self.conninfo = conninfo
    }

    /// Parses the connection string, without connecting.
    ///
    /// - Throws: ``PostgresError`` `configuration` if it cannot be parsed.
    package func check() throws(PostgresError) {
        _ = try StartParameters(self)
    }
}
