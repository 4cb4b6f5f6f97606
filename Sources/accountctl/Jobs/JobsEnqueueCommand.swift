import AccountLifecycle
import ArgumentParser
import JobQueue
import Postgres
import Terminal

/// Adds a job.
struct JobsEnqueueCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "enqueue",
        abstract: "Add a job, such as to have periodic work done now.",
        discussion: """
            With --unique-key no job is added while one with the key is unfinished: its id is told. Exit codes as everywhere.

            EXAMPLES
              accountctl jobs enqueue deletion.upkeep --unique-key deletion.upkeep
              accountctl jobs enqueue mail.schedule --priority 1 --in 10m
              accountctl jobs enqueue mail.schedule --at 2026-11-20T12:00:00Z
            """
    )

    private static let fields: [Field<EnqueuedJob>] = [
        Field("id", "Id", alignment: .right) { .integer($0.id) },
        Field("is_new", "New") { .bool($0.isNew) },
    ]

    /// The number of a job whose adding was undone is nobody's.
    private static let rehearsedFields: [Field<EnqueuedJob>] =
        [Field("id", nil) { $0.isNew ? .null : .integer($0.id) }] + fields.dropFirst()

    static let outputFields = fields.map(\.name)

    @OptionGroup
    var global: GlobalOptions

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var write: WriteOptions

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The queue that the kind's workers take from. Default: the kind's own, or default for a kind of yours.",
            valueName: "name"
        )
    )
    var queue: String?

    @Option(name: .long, help: ArgumentHelp("A JSON object.", valueName: "json"))
    var arguments = "{}"

    @Option(name: .long, help: ArgumentHelp("The version of the form of the arguments.", valueName: "number"))
    var argumentsVersion: Int16 = 1

    @Option(name: .long, help: ArgumentHelp("0, the most urgent, to 9.", valueName: "number"))
    var priority: Int16 = 5

    @Option(name: .long, help: ArgumentHelp("How long from now it waits, such as 10m.", valueName: "duration"))
    var `in`: String?

    @Option(
        name: .long,
        help: ArgumentHelp("When it runs at the earliest, such as 2026-11-20T12:00:00Z.", valueName: "time")
    )
    var at: String?

    @Option(name: .long, help: ArgumentHelp("At most one unfinished job has it.", valueName: "key"))
    var uniqueKey: String?

    @Option(name: .long, help: ArgumentHelp("What a limit per key counts by.", valueName: "key"))
    var limitKey: String?

    @Option(name: .long, help: ArgumentHelp("Instead of the kind's attempts.", valueName: "number"))
    var maxAttempts: Int16?

    @Argument(help: "The kind.")
    var kind: String

    func validate() throws {
        if `in` != nil, at != nil { throw ValidationError("--in and --at exclude each other") }
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        let own = AccountLifecycle.queues[kind]
        if own == nil {
            let known = AccountLifecycle.queues.keys.sorted()
            let near = NearestName.of(kind, among: known).map { "; did you mean \($0)?" } ?? ""
            context.messages.warning("accountctl's own workers know no jobs of this kind" + near)
        }
        let queue = queue ?? own ?? "default"
        let wait = try `in`.map { try DurationArgument.required($0, "--in") }
        let job = try NewJob(
            kind: kind,
            queue: queue,
            arguments: JobDocument(object: arguments),
            argumentsVersion: argumentsVersion,
            priority: priority,
            runAt: try at.map { try DurationArgument.absolute($0, "--at") },
            uniqueKey: uniqueKey,
            limitKey: limitKey,
            maxAttempts: maxAttempts
        )
        let signature = try context.signature(acting)
        let added = try await context.withConnection { connection in
            try await connection.transaction(rehearsed: write.dryRun) { connection in
                let jobs = JobQueue()
                let added = try jobs.enqueue([job], on: connection)
                if let wait {
                    for job in added where job.isNew { try jobs.snooze(job.id, for: wait, on: connection) }
                }
                try jobs.wakeAtCommit([queue], on: connection)
                for job in added where job.isNew {
                    try signature.log("jobs.enqueue", facts: ["job": "\(job.id)", "kind": kind], on: connection)
                }
                return added
            }
        }
        if write.dryRun {
            context.messages.note(added.contains(where: \.isNew) ? "would be added" : "is there already")
            guard context.output.format.isForPrograms else { return .ok }
        }
        try context.output.list(added, write.dryRun ? Self.rehearsedFields : Self.fields)
        return .ok
    }
}
