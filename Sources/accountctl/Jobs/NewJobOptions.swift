import ArgumentParser
import JobQueue

/// The options that describe one job, besides its kind.
struct NewJobOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The queue. Default: that of the kind, or default for a kind of your own.",
            valueName: "name"
        )
    )
    var queue: String?

    @Option(name: .long, help: ArgumentHelp("The arguments, a JSON object. Default: {}.", valueName: "json"))
    var arguments: String?

    @Option(
        name: .long,
        help: ArgumentHelp("The version of the arguments' format. Default: 1.", valueName: "number")
    )
    var argumentsVersion: Int?

    @Option(name: .long, help: ArgumentHelp("From 0, the most urgent, to 9. Default: 5.", valueName: "number"))
    var priority: Int?

    @Option(
        name: .long,
        help: ArgumentHelp("How long to wait before it runs, such as 10m. Default: 0.", valueName: "duration")
    )
    var `in`: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "When to run it at the earliest, such as 2026-11-20T12:00:00Z. Default: now.",
            valueName: "time"
        )
    )
    var at: String?

    @Option(
        name: .long,
        help: ArgumentHelp("A key that at most one unfinished job has. Default: none.", valueName: "key")
    )
    var uniqueKey: String?

    @Option(
        name: .long,
        help: ArgumentHelp("The key by which a limit per key counts. Default: none.", valueName: "key")
    )
    var limitKey: String?

    @Option(
        name: .long,
        help: ArgumentHelp("How many attempts it has. Default: those of the kind.", valueName: "number")
    )
    var maxAttempts: Int?

    /// Whether any of these was given.
    var areGiven: Bool {
        queue != nil || arguments != nil || argumentsVersion != nil || priority != nil || `in` != nil || at != nil
            || uniqueKey != nil || limitKey != nil || maxAttempts != nil
    }

    func validate() throws {
        if `in` != nil, at != nil { throw ValidationError("--in and --at cannot be combined") }
    }

    /// The job of a kind that the options describe.
    ///
    /// - Throws: `JobQueueError` or ``CommandError`` that names the invalid option.
    func order(_ kind: String) throws -> JobOrder {
        let wait = try `in`.map { try DurationArgument.required($0, "--in") }
        // The bounds of these numbers, which the new job checks, are narrower than those of the type.
        func number(_ given: Int?) -> Int16? { given.map { Int16(clamping: $0) } }
        let job = try NewJob(
            kind: kind,
            queue: queue ?? JobOrder.queue(of: kind),
            arguments: JobDocument(object: arguments ?? "{}"),
            argumentsVersion: number(argumentsVersion) ?? 1,
            priority: number(priority) ?? 5,
            runAt: at.map { try DurationArgument.absolute($0, "--at") },
            uniqueKey: uniqueKey,
            limitKey: limitKey,
            maxAttempts: number(maxAttempts)
        )
        return try JobOrder(job, wait: wait)
    }
}
