import ArgumentParser
import JobQueue
import Postgres
import Terminal

/// Lists the workers.
struct JobsWorkersCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "workers",
        abstract: "List the workers that are alive, and those of the last days.",
        discussion: """
            A holder works on one job by hand, as deletion rehearse does: no worker takes that job meanwhile, and the
            holder takes no other.

            EXIT CODES
              0 a worker is alive, even if it is about to stop; 5 none is, except a holder

            EXAMPLES
              accountctl jobs workers
              accountctl jobs workers --json id,status,beat_at
            """
    )

    private static let fields: [Field<WorkerRecord>] = [
        Field("id", "Id", alignment: .right) { .integer($0.id) },
        Field("name", "Name") { .text($0.name) },
        Field("status", "Status", emphasis: { $0.status.emphasis }) { .text($0.status.rawValue) },
        Field("beat_at", "Last heartbeat") { .date($0.beatAt) },
        Field("running", "Running", alignment: .right) { .integer(Int64($0.running)) },
        Field("slots", "Slots", alignment: .right) { .integer(Int64($0.slots)) },
        Field("version", "Version") { .text($0.version) },
        Field("role", "Role") { .text($0.holdsByHand ? "holder" : "worker") },
        Field("started_at", "Started") { .date($0.startedAt) },
        Field("queues", "Queues") { .list($0.queues.map { .text($0) }) },
        Field("kinds", nil) { .list($0.kinds.map { .text($0) }) },
    ]

    static let outputFields = fields.map(\.name)
    static let isSequential = true

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let (workers, alive) = try await context.withConnection { connection in
            (try JobQueue().workers(on: connection), try JobQueue().presence(on: connection).alive)
        }
        try context.output.list(workers, Self.fields, whenEmpty: "No worker has ever run.")
        return alive > 0 ? .ok : .residue
    }
}

extension WorkerStatus {
    fileprivate var emphasis: Emphasis {
        switch self {
        case .lost: .bad
        case .silent, .stopping: .caution
        case .shutdown: .faint
        case .alive: .none
        }
    }
}
