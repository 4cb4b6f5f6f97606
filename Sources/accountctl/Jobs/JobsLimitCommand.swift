import AccountLifecycle
import ArgumentParser
import JobQueue
import Postgres
import Terminal

/// Limits the rate at which jobs of a queue begin, or how many jobs of a kind run at once.
struct JobsLimitCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "limit",
        abstract:
            "Limit how many jobs of a queue begin in a time, or how many of a kind run at once, over all workers.",
        discussion: """
            Use it when Apple answers that it is called too often, or to spare a Storage that other traffic needs: its
            deletions are in the queue deletions.

            The limit of a queue is an average: what was not used is kept for up to that time. So after a pause, and
            when you set it, up to twice as many jobs may begin within that time. Limits of a kind come with its code;
            what you set here applies instead until --none. accountctl jobs stats shows them.

            EXAMPLES
              accountctl jobs limit apple --count 100 --per 1m
              accountctl jobs limit apple --none
              accountctl jobs limit --kind mail.check --running 2 --per-key 1
              accountctl jobs limit --kind mail.check --none
            """
    )

    static let outputFields = QueueSheet.fields

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var write: WriteOptions

    @Option(
        name: .long,
        help: ArgumentHelp("How many jobs of the queue may begin in the time of --per.", valueName: "number")
    )
    var count: Int?

    @Option(
        name: .long,
        help: ArgumentHelp("The time in which --count jobs may begin, up to 1d. Default: 1m.", valueName: "duration")
    )
    var per: String?

    @Option(name: .long, help: ArgumentHelp("Limit this kind instead of a queue.", valueName: "name"))
    var kind: String?

    @Option(name: .long, help: ArgumentHelp("How many jobs of the kind may run at once.", valueName: "number"))
    var running: Int?

    @Option(
        name: .long,
        help: ArgumentHelp("How many jobs of the kind and one limit key may run at once.", valueName: "number")
    )
    var perKey: Int?

    @Flag(name: .long, help: "Remove the limit; a kind gets that of its code again.")
    var none = false

    @Argument(help: "The name of the queue.")
    var queue: String?

    @OptionGroup
    var global: GlobalOptions

    private static let period = LengthOption(name: "--per", unit: .second, bounds: 1...86_400)

    func validate() throws {
        _ = try per.map(Self.period.count)
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        switch (queue, kind) {
        case (let queue?, nil): try await limit(queue: queue, in: context)
        case (nil, let kind?): try await limit(kind: kind, in: context)
        default: throw CommandError(.usage, "give either a queue or --kind")
        }
    }

    private func limit(queue: String, in context: CommandContext) async throws -> ExitStatus {
        guard running == nil, perKey == nil else {
            throw CommandError(.usage, "--running and --per-key limit a kind: give --kind")
        }
        guard none != (count != nil), !none || per == nil else {
            throw CommandError(.usage, "give either --count or --none")
        }
        let period = try per.map(Self.period.count) ?? 60
        let limit = count.map { (count: $0, period: Duration.seconds(period)) }
        let told = limit.map { "\(queue): \($0.count) in \(period) s" } ?? "\(queue) has no limit"
        return try await act(onQueue: queue, told, in: context) { connection in
            try JobQueue().limitRate(queue: queue, to: limit, on: connection)
        }
    }

    private func limit(kind: String, in context: CommandContext) async throws -> ExitStatus {
        guard count == nil, per == nil else {
            throw CommandError(.usage, "--count and --per limit a queue: give its name instead of --kind")
        }
        guard none != (running != nil || perKey != nil) else {
            throw CommandError(.usage, "give either --running, --per-key or both, or --none")
        }
        let parts = [running.map { "\($0) at once" }, perKey.map { "\($0) per key" }].compactMap { $0 }
        let told = none ? "\(kind) has the limits of its code" : "\(kind): " + parts.joined(separator: ", ")
        return try await act(kind: kind, told, in: context) { connection in
            try JobQueue().limit(kind: kind, running: running, runningPerKey: perKey, on: connection)
        }
    }

    private func act(
        onQueue queue: String? = nil,
        kind: String? = nil,
        _ told: String,
        in context: CommandContext,
        _ set: @Sendable (isolated Connection) throws -> Bool
    ) async throws -> ExitStatus {
        try await context.act(
            onQueue: queue,
            kind: kind,
            as: "jobs.limit",
            facts: ["limit": told],
            acting,
            write,
            words: (told, "would be: \(told)", "\(told), as before")
        ) { _, connection in try set(connection) }
    }
}
