import ArgumentParser
import Settings

/// Carries out the work that is due.
struct WorkerCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker",
        abstract: "Carry out the work that is due, until told to stop.",
        discussion: """
            The service: deletions, Apple's credentials, periodic jobs. Serves health and metrics where listen.admin is set, and takes
            Apple's notifications where listen.public is. Any number may run at once; on one machine each with addresses of its own.

            SIGTERM, SIGHUP or Ctrl-C: takes no new job and lets running ones end (worker.shutdown_timeout); what does not end is
            handed back. A second SIGTERM or Ctrl-C hands everything back at once. Without its database it ends a few seconds later
            all the same; what it could not write is done again by another worker when the leases end (worker.lease). Started by
            nohup it ignores SIGHUP.

            EXIT CODES
              0 stopped when told, or idle with --until-idle; 1 the schema is not installed, or what runs does not stop when its time is
              over and leaves room for nothing else: start it anew; 2 a setting is wrong; 4 the database refuses the login; 5 the
              schema is behind, or the keys are others than those that sealed and hashed here; 75 the database could not be reached,
              also when outcomes of jobs could not be written, or another process has the address of a listener; 130 stopped at once

            EXAMPLES
              accountctl worker
              accountctl worker --until-idle          for cron: do what is due now, and end
            """
    )

    @Flag(name: .long, help: "End when nothing is left that could run now.")
    var untilIdle = false

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let (settings, problems) = try context.checkedSettings()
        if settings.keys.sealingKeyFile == nil || settings.keys.hashKeyFile == nil
            || !problems.allSatisfy(\.stopsNothing)
        {
            // All that is to be mended at once, the files of keys included.
            try SettingsError.check(settings.problemsOfParts(besides: problems))
        }
        return try await WorkerProcess(context: context, settings: settings)
            .run(role: untilIdle ? .untilIdle : .service)
    }
}
