package import Logging

/// How a pool behaves.
package struct PoolConfiguration: Sendable {
    /// Where the database is.
    package var connection: ConnectionConfiguration

    /// How many connections there are at most.
    ///
    /// Few, since a session pooler pins a server process for each.
    package var maximumConnections = 3

    /// How long a request waits for a connection, attempts to make one included; name resolution is not cut short.
    package var acquireDeadline: Duration = .seconds(30)

    /// When a request goes on trying to connect until its deadline while there is no server.
    package enum Retrying: Sendable {
        case always
        /// Once a connection was made: whoever begins hears at once that there is no server, and what has begun outlasts
        /// a restart.
        case onceConnected
        /// For whoever tries again by itself.
        case never
    }

    /// Where requests do not, each is told of the first failure.
    package var retriesConnecting = Retrying.always

    /// How old a connection gets; the lives of connections made together end up to a tenth earlier.
    var maximumAge: Duration = .seconds(3600)

    /// The wait after a failed attempt to connect, doubled for each further one; half of each wait is random.
    package var initialBackoff: Duration = .milliseconds(100)

    /// The longest wait between attempts to connect.
    var maximumBackoff: Duration = .seconds(10)

    /// How the first of several attempts to connect that fail in a row is logged; the others are for debugging.
    package var firstFailureLevel: Logger.Level = .debug

    package init(connection: ConnectionConfiguration) {
        self.connection = connection
    }
}
