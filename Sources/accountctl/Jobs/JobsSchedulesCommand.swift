import AccountLifecycle
import ArgumentParser
import JobQueue
import Postgres
import Terminal

/// Lists the periodic jobs.
struct JobsSchedulesCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedules",
        abstract: "List the periodic jobs: when each last came, and when it comes next.",
        discussion: """
            A worker adds a job for each instant of a schedule. Of the instants that passed without a worker, it adds
            only the latest. Some schedules apply only if what they look after is configured, such as Apple's keys;
            otherwise they have no last instant. A last instant in the future was left by a clock that was set back
            since; it is marked.

            EXAMPLES
              accountctl jobs schedules
              accountctl jobs schedules --json name,last_at,next_at
            """
    )

    private static let fields: [Field<ScheduleRecord>] = [
        Field("name", "Name") { .text($0.name) },
        Field("schedule", "Schedule") { .text($0.line) },
        Field("zone", nil) { .text($0.zone) },
        Field("kind", "Kind") { .text($0.kind) },
        Field("last_at", "Last") { .date($0.last) },
        Field("last_job", "Job", alignment: .right) { $0.job.map { .integer($0) } ?? .null },
        Field("next_at", "Next") { .date($0.next) },
        Field("ahead_at", nil) { .date($0.ahead) },
    ]

    static let outputFields = fields.map(\.name)
    static let isSequential = true

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let known = try AccountLifecycle.periodic()
        let schedules = try await context.withConnection { connection in
            try JobQueue().schedules(known, on: connection)
        }
        try context.output.list(schedules, Self.fields)
        for schedule in schedules {
            guard let ahead = schedule.ahead else { continue }
            context.messages.warning(
                "\(schedule.name) ran for times up to \(Wording.moment(ahead)), which is in the future: a clock was set back. A "
                    + "worker of the release that has this schedule ends that in some minutes; without one, it runs again after that time"
            )
        }
        return .ok
    }
}
