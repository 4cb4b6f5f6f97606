import ArgumentParser
import Settings

/// Carries out the work that is due.
struct WorkerCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker",
        abstract: "Carry out the work that is due, until told to stop.",
        discussion: """
            This is the service: it runs deletions, Apple's credentials and periodic jobs. It serves health and metrics
            if listen.admin is set, and receives Apple's notifications if listen.public is. Any number may run at once;
            on one machine, give each its own addresses.

            On SIGTERM, SIGHUP or Ctrl-C it takes no new job and lets running ones finish (worker.shutdown_timeout);
            what does not finish is handed back. A second SIGTERM or Ctrl-C hands everything back at once. Without its
            database, it stops a few seconds later all the same; another worker repeats what it could not write when the
            leases end (worker.lease). Started by nohup, it ignores SIGHUP.

            EXIT CODES
              0 stopped when told, or idle with --until-idle; 1 the schema is not installed, or running work does not
              stop when its time is over and leaves no room for anything else: restart it; 2 a setting is wrong; 4 the
              database refuses the login; 5 the schema is behind, or the keys are not those that sealed and hashed here;
              75 the database could not be reached, also when outcomes of jobs could not be written, or another process
              has the address of a listener; 130 stopped at once

            EXAMPLES
              accountctl worker
              accountctl worker --until-idle          for cron: do what is due now, and end
            """
    )

    static let otherWords = ["run", "start"]

    @Flag(name: .long, help: "Stop when nothing is left that can run now.")
    var untilIdle = false

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let (settings, problems) = try context.checkedSettings()
        if settings.keys.sealingKeyFile == nil || settings.keys.hashKeyFile == nil
            || !problems.allSatisfy(\.stopsNothing)
        {
            // All problems are reported together, those of the key files included.
            try SettingsError.check(settings.problemsOfParts(besides: problems))
        }
        return try await WorkerProcess(context: context, settings: settings)
            .run(role: untilIdle ? .untilIdle : .service)
    }
}
