/// Where a database is and how to talk to it.
package struct ConnectionConfiguration: Sendable {
    /// What this side knows about a pooler in between.
    package enum Pooler: Sendable {
        /// Find out from the server process's behaviour and the port.
        case detect
        /// There is none, or one that pins a server process to each session.
        case none
        /// Each transaction may meet another server process: no LISTEN, no prepared statements, no session settings.
        case transaction
    }

    /// Anything libpq takes: a URI, a keyword string, or a database's name.
    ///
    /// Without one the `PG*` variables alone count. They also fill in what the string leaves out, as do the service
    /// file and the password file.
    var conninfo: String?

    /// A password kept apart from the connection string; wins over every other source.
    ///
    /// Each connection asks for it: it may have changed since the last one.
    package var password: @Sendable () -> String? = { nil }

    /// What `pg_stat_activity` shows, unless the connection string names something.
    package var applicationName = "accountctl"

    /// How long making a connection may take, all hosts together; a `connect_timeout` of the connection string, the
    /// environment or the service file says instead how long each host may take.
    ///
    /// A silent host gets an equal share of what is left, so that the others have their turn, and the first silent
    /// address of a host that has several half of that. Name resolution is not cut short.
    package var connectTimeout: Duration = .seconds(10)

    /// Finds the addresses of a host's name: the system's way, but in tests.
    var resolve: @Sendable (String) -> [String] = HostAddresses.of

    /// The deadline of a statement for which the call names none; nil is none.
    ///
    /// The server's own `statement_timeout` and `lock_timeout` are set a little below it; behind a transaction pooler
    /// they are left as they are, but for a call with a longer deadline of its own.
    package var statementDeadline: Duration? = .seconds(30)

    /// How long a transaction may wait for its own client before the server ends it, and with it the connection.
    package var idleInTransactionLimit: Duration? = .seconds(60)

    /// What the server is to be set to in each session, by name; not done behind a transaction pooler.
    package var sessionSettings: [String: String] = [:]

    /// How long a cancelled statement may take to end before its connection is dropped.
    package var cancelGrace: Duration = .seconds(5)

    /// Allows connections to other machines without TLS.
    ///
    /// Otherwise `sslmode` `allow` and `prefer` (libpq's default) are raised to `require` for all hosts but sockets and
    /// loopback; an explicit `sslmode=disable` is taken at its word.
    package var allowsPlaintext = false

    /// What is known about a pooler in between.
    package var pooler: Pooler = .detect

    /// Takes a database of another form than our statements have, where no session changes that: for questions that
    /// are the same in all of them.
    var takesAnyForm = false

    package init(conninfo: String? = nil) {
        self.conninfo = conninfo
    }

    /// Reads the connection string, and does nothing else.
    ///
    /// - Throws: ``PostgresError`` `configuration` when it cannot be read.
    package func check() throws(PostgresError) {
        _ = try StartParameters(self)
    }
}
