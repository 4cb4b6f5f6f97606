import ArgumentParser
import Settings

/// Serves the listeners only.
struct ServeCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serve the listeners without carrying out work.",
        discussion: """
            Runs only the listeners: health, metrics and wake-up if listen.admin is set, Apple's notifications if
            listen.public is. Work is left to workers: without one, nothing is deleted. SIGTERM, SIGHUP or Ctrl-C stops
            it.

            A client has ten seconds to send its first request. For each further request, it has thirty seconds for the
            head and then ten for the rest. At most 256 clients can be connected to a listener at once. The same limits
            apply to a worker's listeners.

            EXAMPLES
              accountctl serve
            """
    )

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let settings = try context.settings()
        guard settings.listeners.admin != nil || settings.listeners.publicAddress != nil else {
            throw CommandError(.usage, "nothing to serve: neither listen.admin nor listen.public is set")
        }
        return try await WorkerProcess(context: context, settings: settings).run(role: .listeners)
    }
}
