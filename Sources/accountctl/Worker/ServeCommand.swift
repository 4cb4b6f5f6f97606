import ArgumentParser
import Settings

/// Serves the listeners only.
struct ServeCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serve the listeners without carrying out work.",
        discussion: """
            A node with listeners only: health, metrics and wake-up where listen.admin is set, Apple's notifications where
            listen.public is. Work is left to workers: without one nothing is deleted. SIGTERM, SIGHUP or Ctrl-C ends it.

            A client has ten seconds to send its first request; for each further one thirty until its head is there, then ten for
            the rest. 256 may be connected to a listener at once. The same holds for a worker's listeners.

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
