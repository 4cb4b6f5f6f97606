package import Logging

/// The settings of a pool.
package struct PoolConfiguration: Sendable {
    /// Where the database is.
    package var connection: ConnectionConfiguration

    /// The maximum number of connections.
    ///
    /// A small number, because a session pooler pins a server process for each.
    package var maximumConnections = 3

    /// How long a request waits for a connection, including attempts to open one; name resolution is not interrupted.
    package var acquireDeadline: Duration = .seconds(30)

    /// Whether a request keeps trying to connect until its deadline while there is no server.
    package enum Retrying: Sendable {
        case always
        /// Only after a first connection succeeded: a program learns at start that there is no server, and once started
        /// it outlasts a restart of the server.
        case onceConnected
        /// Never: for callers that retry themselves.
        case never
    }

    /// When requests keep trying; otherwise each gets the first failure.
    package var retriesConnecting = Retrying.always

    /// The maximum age of a connection; connections opened together expire up to a tenth earlier.
    var maximumAge: Duration = .seconds(3600)

    /// The wait after a failed attempt to connect, doubled for each further failure; half of each wait is random.
    package var initialBackoff: Duration = .milliseconds(100)

    /// The longest wait between attempts to connect.
    var maximumBackoff: Duration = .seconds(10)

    /// The log level of the first of several consecutive failures to connect; the others are logged at debug level.
    ///
    /// That the database can be reached again is logged at the same level, or as a notice if that is lower.
    package var firstFailureLevel: Logger.Level = .debug

    package init(connection: ConnectionConfiguration) {
        self.connection = connection
    }
}
