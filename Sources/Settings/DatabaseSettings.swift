import ObjectStorage
import Postgres
package import Sealing

/// The settings for the database connection.
package struct DatabaseSettings: Sendable {
    /// Any connection string that libpq accepts; nil leaves everything to the PG* variables.
    package let url: String?
    /// The password as currently in its file, which may change while a worker runs.
    package var password: Secret<String>? { currentPassword?() }
    private let currentPassword: (@Sendable () -> Secret<String>)?
    package let connections: Int
    package let statementTimeout: Duration
    package let allowsPlaintext: Bool
    package let pooler: Pooler
    /// The hosted project that the connection names, if any.
    package let project: String?
    /// Whether the database is on another machine, according to the connection string and the environment.
    let isElsewhere: Bool

    /// The kind of pooler between this process and the server.
    package enum Pooler: String, CaseIterable, Sendable {
        case detect, none, transaction
    }

    init(_ reader: inout SettingsReader) {
        url = reader.optional(
            "database.url",
            .text,
            "The database: any libpq connection string. Default: PG* variables."
        )
        currentPassword = reader.changingSecret(
            "database.password",
            "The database password, unless libpq finds it elsewhere."
        )
        connections = reader.read(
            "database.connections",
            .integer(1...50),
            default: 3,
            "Connections that jobs share; a worker opens four more for itself, and up to three for codes and notifications."
        )
        statementTimeout = reader.read(
            "database.statement_timeout",
            .duration(.seconds(1) ... .seconds(3600)),
            default: .seconds(30),
            "How long a statement may take, unless it is known to need longer."
        )
        allowsPlaintext = reader.read(
            "database.allow_plaintext",
            .yesOrNo,
            default: false,
            "Whether a connection to another machine may do without TLS."
        )
        pooler = reader.read(
            "database.pooler",
            .choice,
            default: .detect,
            "Whether there is a pooler in transaction mode in between."
        )
        let connection = ConnectionConfiguration(conninfo: url)
        if connection.holdsSecret, reader.isFromFile("database.url") {
            reader.report(
                "database.url",
                "a password must not be written here: put it in a file and name the file with database.password_file",
                stopsNothing: true
            )
        }
        isElsewhere = connection.leadsElsewhere(
            environmentHost: reader.connectionVariable("PGHOST"),
            environmentService: reader.connectionVariable("PGSERVICE")
        )
        let named = connection.parameters
        let host = named["host"] ?? reader.connectionVariable("PGHOST")
        project = ProjectReference.ofDatabase(user: named["user"] ?? reader.connectionVariable("PGUSER"), host: host)
        // Otherwise the pooler reports an unknown tenant. The project may also be named among the options.
        if project == nil, host?.hasSuffix(".pooler.supabase.com") == true, named["options"] == nil {
            reader.report(
                "database.url",
                "on the pooler the user is postgres.<ref>, with the project's reference after the dot",
                stopsNothing: true
            )
        }
    }
}
