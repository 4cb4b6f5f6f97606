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
            Prints one line of JSON when it is ready: addresses, and the files of the keys.

            CONTROL REQUESTS, JSON in and out, by accountctl-sandbox control or at /control
              GET    health                 answers if it runs
              GET    requests               what was asked and answered; DELETE forgets it
              POST   faults                 kind, endpoint, effect, times, sparing,
                                            subject, and what the kind needs
              DELETE faults[/ID]            switches faults off, lets held requests go
              POST   clock                  advance_seconds
              POST   apple/clients          client_id, kind, group, team_id: gives a key
              POST   apple/sign-ins         client_id, sub, email, hides_email, nonce,
                                            redirect_uri
              POST   apple/stop-using       client_id, sub
              POST   apple/delete-account   client_id, sub
              POST   apple/forwarding       client_id, sub, on
              POST   apple/change-password  client_id, sub
              POST   apple/transfers        client_id, team_id: starts; without team_id:
                                            accepts
              POST   apple/rotate-keys      all
              POST   apple/notifications    type, sub, audience, age_seconds, copies,
                                            forgery, url, ...
              GET    apple/consents         how many live
              GET    storage/keys           the keys of the project
              POST   storage/access-tokens  user_id, email, lifetime_seconds
              POST   storage/files          broken: puts the files out of order, or back

            FAULTS
              kind      status (status, body, retry_after), html (status),
                        empty (status), malformed, truncated, drop,
                        delay (delay_seconds), hold,
                        throttle (requests, per_seconds, retry_after),
                        apple-error (code), storage-error (storage_error),
                        empty-success, pretended-success
              endpoint  apple.token, apple.revoke, apple.keys, apple.migration,
                        storage.list, storage.list-v2, storage.delete-many,
                        storage.delete-one, storage.upload, storage.download,
                        storage.buckets, supabase.auth-settings; all if missing
              effect    none, before or after: whether the request is carried out, and when

            EXAMPLES
              accountctl-sandbox
              accountctl-sandbox --files /tmp/files \\
                --database "host=/tmp/pg dbname=demo user=supabase_storage_admin"
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

    @Option(help: ArgumentHelp("Where Storage keeps its files; needed with --database.", valueName: "folder"))
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
        guard (0...65_535).contains(port) else { throw ValidationError("--port must be between 0 and 65535") }
    }

    func run() async throws {
        LoggingSystem.bootstrap { StreamLogHandler.standardError(label: $0) }
        var logger = Logger(label: "accountctl.sandbox")
        logger.logLevel = .warning
        // Signals are trapped before the sandbox reports that it is ready: a signal right after that must not meet the
        // default action, which ends the process at once.
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        try await Sandbox.with(configuration, logger: logger) { sandbox in
            let line = try ReadyLine(sandbox: sandbox, clientIDs: bundles + webClients, folder: credentials)
            print(String(decoding: try JSONEncoder.stable.encode(line), as: UTF8.self))
            fflush(nil)
            for await _ in signals { return }
        }
    }

    private var bundles: [String] { clients.isEmpty ? ["com.example.app"] : clients }

    private var webClients: [String] { servicesIDs.isEmpty ? ["com.example.web"] : servicesIDs }

    private var configuration: SandboxConfiguration {
        var configuration = SandboxConfiguration()
        configuration.host = host
        configuration.port = port
        configuration.notificationURL = notify
        configuration.clients =
            bundles.map { .init(id: $0) }
            + webClients.map { .init(id: $0, kind: .services, group: bundles[0]) }
        if let database, let files { configuration.storage = .init(conninfo: database, folder: files) }
        return configuration
    }
}

extension JSONEncoder {
    /// Encodes JSON on one line, with sorted keys.
    static var stable: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}
