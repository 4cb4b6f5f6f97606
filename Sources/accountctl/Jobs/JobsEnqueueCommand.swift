import AccountLifecycle
import ArgumentParser
import JobQueue
import Postgres
import Terminal

/// Adds a job.
struct JobsEnqueueCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "enqueue",
        abstract: "Add a job, for example to run periodic work now, or every job of a list.",
        discussion: """
            With --unique-key, no job is added while an unfinished one has the key: its id is printed instead.

            Each line of a list adds a job. It is a JSON object with the field kind and, optionally, queue, arguments,
            arguments_version, priority, in, at, unique_key, limit_key and max_attempts. A bad line is reported with its
            number and field, and then nothing is added.

            Your own SQL can add a job in its own transaction, so that the job exists if and only if the data that it
            belongs to does: select accountctl.enqueue_job('mail.schedule', queue => 'mail', unique_key =>
            'mail.schedule') returns its id. Besides the kind, it takes args, queue, run_at, priority, unique_key,
            limit_key, args_version, max_attempts and wake; set wake to false where many write at once. Name the queue:
            workers serve apple, deletions and mail, and not default, where a job goes otherwise.

            A LINE OF A LIST
              {"kind": "mail.schedule", "unique_key": "mail.schedule", "in": "10m"}

            EXAMPLES
              accountctl jobs enqueue deletion.upkeep --unique-key deletion.upkeep
              accountctl jobs enqueue mail.schedule --priority 1 --in 10m
              accountctl jobs enqueue mail.schedule --at 2026-11-20T12:00:00Z
              accountctl jobs enqueue --file jobs.ndjson
            """
    )

    private static let fields: [Field<EnqueuedJob>] = [
        Field("id", "Id", alignment: .right) { .integer($0.id) },
        Field("is_new", "New") { .bool($0.isNew) },
    ]

    /// A dry run shows no id for a new job: the insert is rolled back, so that no job has this id.
    private static let rehearsedFields: [Field<EnqueuedJob>] =
        [Field("id", nil) { $0.isNew ? .null : .integer($0.id) }] + fields.dropFirst()

    static let outputFields = fields.map(\.name)

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var write: WriteOptions

    @OptionGroup
    var options: NewJobOptions

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Add every job of this list, a JSON object a line; - reads standard input.",
            valueName: "path"
        ),
        completion: .file()
    )
    var file: String?

    @Argument(help: "The kind of the job.")
    var kind: String?

    @OptionGroup
    var global: GlobalOptions

    func validate() throws {
        if file == nil, kind == nil { throw ValidationError("name a kind, or give a list with --file") }
        if file != nil, kind != nil || options.areGiven {
            throw ValidationError(
                "--file describes each of its jobs: it cannot be combined with a kind or options of one job"
            )
        }
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        var orders: [JobOrder] = []
        if let kind { orders.append(try options.order(kind)) }
        if let file { orders += try JobList(path: file).orders }
        let signature = try context.signature(acting)
        let added = try await context.withConnection { [orders] connection in
            try await connection.transaction(rehearsed: write.dryRun) { connection in
                try warnOfUnknown(orders.map(\.job), context, on: connection)
                let added = try Self.add(orders, on: connection)
                try log(added, orders, signature, on: connection)
                return added
            }
        }
        if write.dryRun {
            context.messages.note(Self.rehearsal(added))
            guard context.output.format.isForPrograms else { return .ok }
        }
        try context.output.list(added, write.dryRun ? Self.rehearsedFields : Self.fields)
        return .ok
    }

    /// Warns of unknown kinds, and of queues from which no worker takes jobs of our kinds; the queues of other kinds
    /// are not known.
    private func warnOfUnknown(
        _ jobs: [NewJob],
        _ context: CommandContext,
        on connection: isolated Connection
    ) throws {
        try context.warnOfUnknown(kinds: Set(jobs.map(\.kind)), on: connection)
        let ours = jobs.filter { AccountLifecycle.queues[$0.kind] != nil }
        try context.warnOfUnknown(queues: Set(ours.map(\.queue)), on: connection)
        let queues = Set(AccountLifecycle.queues.values)
        let misplaced = ours.compactMap { job -> String? in
            guard let home = AccountLifecycle.queues[job.kind], home != job.queue, queues.contains(job.queue) else {
                return nil
            }
            return "workers run \(job.kind) only from the queue \(home): in \(job.queue) it never runs"
        }
        for words in Set(misplaced).sorted() { context.messages.warning(words) }
    }

    /// Adds the jobs, a thousand at a time; the result is in their order.
    private static func add(_ orders: [JobOrder], on connection: isolated Connection) throws -> [EnqueuedJob] {
        let queue = JobQueue()
        var added: [Int: EnqueuedJob] = [:]
        // Sorted by unique key: two lists with the same keys then wait for, but never deadlock, each other.
        let sorted = orders.indices.sorted {
            (orders[$0].job.uniqueKey ?? "", $0) < (orders[$1].job.uniqueKey ?? "", $1)
        }
        for start in stride(from: 0, to: sorted.count, by: 1000) {
            let batch = sorted[start..<min(start + 1000, sorted.count)]
            for (index, job) in zip(batch, try queue.enqueue(batch.map { orders[$0].job }, on: connection)) {
                added[index] = job
            }
            let new = batch.filter { added[$0]?.isNew == true }
            for case (let wait?, let jobs) in Dictionary(grouping: new, by: { orders[$0].wait }) {
                try queue.snooze(jobs.compactMap { added[$0]?.id }, for: wait, on: connection)
            }
        }
        try queue.wakeAtCommit(Set(orders.map(\.job.queue)), on: connection)
        return added.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Logs the added job, or the number of jobs of each kind.
    private func log(
        _ added: [EnqueuedJob],
        _ orders: [JobOrder],
        _ signature: OperatorSignature,
        on connection: isolated Connection
    ) throws {
        let new = zip(added, orders).filter(\.0.isNew)
        if file == nil, let (job, order) = new.first {
            try signature.log("jobs.enqueue", facts: ["job": "\(job.id)", "kind": order.job.kind], on: connection)
            return
        }
        for (kind, jobs) in Dictionary(grouping: new, by: \.1.job.kind).sorted(by: { $0.key < $1.key }) {
            try signature.log("jobs.enqueue", facts: ["kind": kind, "jobs": "\(jobs.count)"], on: connection)
        }
    }

    private static func rehearsal(_ added: [EnqueuedJob]) -> String {
        let new = added.count(where: \.isNew)
        if added.count == 1 { return new == 1 ? "would be added" : "exists already" }
        let there = added.count - new
        return "\(Wording.count(new, "job")) would be added" + (there > 0 ? "; \(there) exist already" : "")
    }
}
