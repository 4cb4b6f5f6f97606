import AccountLifecycle
import JobQueue
import Postgres
import Terminal

/// Finds jobs that have waited longer than a burst or a restart explains.
extension DatabaseDoctor {
    /// Queues whose oldest jobs are late.
    func lateQueues(
        _ figures: JobFigures,
        isAnyoneAlive: Bool,
        on connection: isolated Connection
    ) throws -> [DoctorFinding] {
        // If cron starts the workers, jobs wait for as long as no worker runs.
        let limit = max(JobFigures.Limits.oldestReady, isPatienceStated ? patience / Duration.seconds(1) : 0)
        let late = figures.oldestReady.filter { $0.value > limit }.sorted { $0.key < $1.key }
        guard !late.isEmpty else { return [] }
        // If no worker is alive, nothing more can be said about a late queue.
        guard isAnyoneAlive else { return late.map { Self.lateQueue($0.key, oldest: $0.value) } }
        let served = try JobQueue().servedQueues(on: connection)
        let kinds = try JobQueue().lateKinds(waiting: limit, on: connection)
        let rated = try JobQueue().queueSettings(on: connection).filter { $0.rate != nil }.map(\.name)
        let limited = try JobQueue().kindLimits(on: connection).filter(\.isSetByHand).map(\.kind)
        return late.flatMap { queue, oldest -> [DoctorFinding] in
            let waiting = kinds.filter { $0.queue == queue }
            guard served.contains(queue) else { return [Self.unservedQueue(queue, oldest: oldest, served, waiting)] }
            let limits =
                (rated.contains(queue) ? [SafeText.line(queue)] : [])
                + waiting.map(\.kind).filter { limited.contains($0) }.map { "--kind \(SafeText.line($0))" }
            return Self.servedQueue(queue, oldest: oldest, waiting, under: limits)
        }
    }

    /// A finding for each reason why jobs of a queue wait; the last is the one that more workers or a higher limit
    /// would end.
    private static func servedQueue(
        _ queue: String,
        oldest seconds: Double,
        _ kinds: [LateKind],
        under limits: [String]
    ) -> [DoctorFinding] {
        // The jobs may have been claimed since they were counted.
        guard !kinds.isEmpty else { return [lateQueue(queue, oldest: seconds, under: limits)] }
        var causes: [LateCause] = []
        for cause in kinds.map({ LateCause($0) }) where !causes.contains(cause) { causes.append(cause) }
        let ordered = causes.filter { $0 != .behind } + causes.filter { $0 == .behind }
        return ordered.map { cause in
            lateKinds(kinds.filter { LateCause($0) == cause }, for: cause, in: queue, under: limits)
        }
    }

    private static func waiting(in queue: String, _ seconds: Double) -> String {
        "a job in the queue \(queue) has been waiting to run for \(Wording.length(.seconds(Int(seconds))))"
    }

    private static func late(_ what: String, why: String, todo: String) -> DoctorFinding {
        DoctorFinding(.warning, "jobs.age", what, why: why, todo: todo)
    }

    /// Reports a late queue; `limits` are those set by an operator, as arguments of `accountctl jobs limit`.
    private static func lateQueue(_ queue: String, oldest seconds: Double, under limits: [String] = []) -> DoctorFinding
    {
        guard limits.isEmpty else {
            return late(
                waiting(in: queue, seconds),
                why:
                    "An operator limited how many jobs start (see accountctl jobs stats), and more arrive than that.",
                todo: "Start more workers if the limit is not reached; to remove it: "
                    + Wording.list(limits.map { "accountctl jobs limit \($0) --none" }, "or")
            )
        }
        return late(
            waiting(in: queue, seconds),
            why: "Jobs arrive faster than workers run them, or no worker runs them.",
            todo: "Start more workers, or see what they do: accountctl jobs list"
        )
    }

    private static func unservedQueue(
        _ queue: String,
        oldest seconds: Double,
        _ served: Set<String>,
        _ kinds: [LateKind]
    ) -> DoctorFinding {
        let homes = kinds.compactMap { late in AccountLifecycle.queues[late.kind].map { "\(late.kind) in \($0)" } }
        let place = homes.isEmpty ? "in one of those queues" : "where workers take them, \(Wording.list(homes))"
        return late(
            "\(waiting(in: queue, seconds)), and no worker serves this queue",
            why: "Nobody runs its jobs; the live workers serve \(served.sorted().joined(separator: ", ")).",
            todo: "Add such jobs \(place), and cancel what waits here: accountctl jobs list --queue \(queue)"
        )
    }

    private static func lateKinds(
        _ kinds: [LateKind],
        for cause: LateCause,
        in queue: String,
        under limits: [String]
    ) -> DoctorFinding {
        let oldest = kinds.map(\.oldest).max() ?? 0
        let waits = waiting(in: queue, oldest)
        let names = kinds.map { SafeText.line($0.kind) }
        let noun = names.count == 1 ? "kind" : "kinds"
        let those = "the \(noun) \(Wording.list(names))"
        let list = "accountctl jobs list --queue \(queue)" + names.map { " --kind \($0)" }.joined()
        return switch cause {
        case .misplaced(let home):
            late(
                "\(waits), and workers take \(those) only from the queue \(home)",
                why: "Nobody runs such jobs from this queue, however many workers there are.",
                todo: "Add them again in the queue \(home), and cancel these: \(list)"
            )
        case .elsewhere(let queues):
            late(
                "\(waits), and no worker that serves it knows \(those)",
                why: "Workers that know the \(noun) serve \(Wording.list(queues)).",
                todo: "Start one of those for this queue, or add the jobs again in theirs and cancel these: \(list)"
            )
        case .unprepared:
            late(
                "\(waits), and no worker knows \(those)",
                why: "The live workers are of another release, or run without the section [apple].",
                todo: "Start workers of this release with all of its settings; what waits: \(list)"
            )
        case .unknown:
            late(
                "\(waits), and no worker knows \(those)",
                why: "Nobody runs such jobs, however many workers of this release there are.",
                todo: "Cancel them, or start the release that knows the \(noun): \(list)"
            )
        case .behind: lateQueue(queue, oldest: oldest, under: limits)
        }
    }
}
