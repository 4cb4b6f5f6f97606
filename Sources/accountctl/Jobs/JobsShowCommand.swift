import ArgumentParser
import JobQueue
import Postgres
import Terminal

/// Shows everything about one job.
struct JobsShowCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show everything about one job.",
        discussion: """
            progress is what its handler last reported, also for a job that has ended. If several jobs that ended have
            the unique key, their ids are listed.

            EXAMPLES
              accountctl jobs show 42
              accountctl jobs show --unique-key mail.schedule
              accountctl jobs show 42 --json state,errors
            """
    )

    static let isSequential = true

    static let outputFields =
        JobFields.list.map(\.name) + [
            "max_attempts", "cancel_requested", "arguments", "arguments_version", "progress", "output", "errors",
        ]

    @Argument(help: "The id of the job.")
    var id: Int64?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Instead of the id: the unfinished job that has this unique key, or else the only one that ended.",
            valueName: "key"
        )
    )
    var uniqueKey: String?

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let id = try await chosen(in: context)
        let found = try await context.withConnection { connection in
            try JobQueue().show(id, on: connection)
        }
        guard let found else { throw CommandError(.notFound, "there is no job \(id), or it is beyond retention") }
        var facts = Sheet.facts(of: JobFields.list, row: found.record)
        facts.append(.init("max_attempts", "Attempts at most", .integer(found.maxAttempts.map { Int64($0) })))
        facts.append(.init("cancel_requested", "Cancel asked", found.isCancelRequested ? true : .null))
        // People get the JSON as text, programs as JSON.
        let isForPrograms = context.output.format.isForPrograms
        func value(_ document: JobDocument?) -> OutputValue {
            guard let text = document?.json else { return .null }
            return isForPrograms ? .json(text) : .text(text)
        }
        facts.append(.init("arguments", "Arguments", value(found.arguments)))
        facts.append(.init("arguments_version", "Arguments version", .integer(Int64(found.argumentsVersion))))
        facts.append(.init("progress", "Progress", value(found.progress)))
        facts.append(.init("output", "Output", value(found.output)))
        let errors = try found.errors?.decode(as: [Entry].self) ?? []
        let rows = errors.map { entry -> [OutputValue] in
            // The server wrote it in the time zone of the worker's session.
            let at = MomentText.read(entry.at).map { OutputValue.date($0) } ?? .text(entry.at)
            return [at, .integer(Int64(entry.attempt)), .text(entry.error)]
        }
        try context.output.show(
            Sheet([
                .init(.facts(facts)),
                .init(
                    "errors",
                    title: "Errors",
                    .table(
                        [TableColumn("At"), TableColumn("Attempt"), TableColumn("Error")],
                        rows: rows,
                        names: ["at", "attempt", "error"]
                    )
                ),
            ])
        )
        return .ok
    }

    /// The given id, or the id of the job with the given unique key.
    private func chosen(in context: CommandContext) async throws -> Int64 {
        switch (id, uniqueKey) {
        case (let id?, nil): return id
        case (nil, let key?):
            return try await context.job(withKey: key, orEnded: [.completed, .cancelled, .discarded])
        default: throw CommandError(.usage, "name an id, or a job by --unique-key")
        }
    }

    private struct Entry: Decodable {
        let at: String
        let attempt: Int
        let error: String
    }
}
