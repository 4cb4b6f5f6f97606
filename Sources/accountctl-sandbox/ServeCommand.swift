import ArgumentParser
import Foundation
import Logging
import Sandbox
import UnixSignals

/// Runs the sandbox until SIGINT or SIGTERM.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the sandbox until it is told to stop (the default).",
        discussion: """
            Prints one line of JSON when it is ready. Faults, sign-ins, notifications, the clock and the journal are \
            reached under /control.

            EXAMPLES
              accountctl-sandbox
              accountctl-sandbox --database "host=/tmp/pg dbname=demo user=supabase_storage_admin" --files /tmp/files
            """
    )

    @Option(help: "The address to listen on.")
    var host = "127.0.0.1"

    @Option(help: "The port to listen on; 0 takes a free one.")
    var port = 0

    @Option(
        help: ArgumentHelp(
            "The database with the storage schema, as supabase_storage_admin. Without it Storage is down.",
            valueName: "conninfo"
        )
    )
    var database: String?

    @Option(help: ArgumentHelp("Where the files of Storage lie; needed with --database.", valueName: "folder"))
    var files: String?

    @Option(name: .customLong("client"), help: ArgumentHelp("A bundle id to register; repeatable.", valueName: "id"))
    var clients: [String] = []

    @Option(
        name: .customLong("services-id"),
        help: ArgumentHelp("A Services ID, grouped with the first client; repeatable.", valueName: "id")
    )
    var servicesIDs: [String] = []

    @Option(help: ArgumentHelp("Where Apple posts its notifications.", valueName: "url"))
    var notify: String?

    @Option(
        help: ArgumentHelp(
            "Where to write the keys, and settings for accountctl that use them; only you can read it.",
            valueName: "folder"
        )
    )
    var credentials: String?

    func validate() throws {
        guard (database == nil) == (files == nil) else {
            throw ValidationError("--database and --files go together")
        }
    }

    func run() async throws {
        LoggingSystem.bootstrap { StreamLogHandler.standardError(label: $0) }
        var logger = Logger(label: "accountctl.sandbox")
        logger.logLevel = .warning
        try await Sandbox.with(configuration, logger: logger) { sandbox in
            let line = try ReadyLine(sandbox: sandbox, clientIDs: clientIDs, folder: credentials)
            print(String(decoding: try JSONEncoder.stable.encode(line), as: UTF8.self))
            fflush(nil)
            for await _ in await UnixSignalsSequence(trapping: .sigterm, .sigint) { return }
        }
    }

    private var clientIDs: [String] {
        (clients.isEmpty ? ["com.example.app"] : clients) + (servicesIDs.isEmpty ? ["com.example.web"] : servicesIDs)
    }

    private var configuration: SandboxConfiguration {
        var configuration = SandboxConfiguration()
        configuration.host = host
        configuration.port = port
        configuration.notificationURL = notify
        let bundles = clients.isEmpty ? ["com.example.app"] : clients
        configuration.clients =
            bundles.map { .init(id: $0) }
            + (servicesIDs.isEmpty ? ["com.example.web"] : servicesIDs)
            .map { .init(id: $0, kind: .services, group: bundles[0]) }
        if let database, let files { configuration.storage = .init(conninfo: database, folder: files) }
        return configuration
    }
}

extension JSONEncoder {
    /// JSON in one line whose keys keep their order.
    static var stable: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}
