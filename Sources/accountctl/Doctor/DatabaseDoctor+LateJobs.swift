import JobQueue
import Postgres
import Terminal

/// Jobs that wait for longer than a burst or a restart takes.
extension DatabaseDoctor {
    /// Queues whose oldest jobs are late.
    func lateQueues(
        _ figures: JobFigures,
        isAnyoneAlive: Bool,
        on connection: isolated Connection
    ) throws -> [DoctorFinding] {
        // Workers that are started by the clock leave jobs waiting for as long as they are away.
        let limit = max(JobFigures.Limits.oldestReady, isPatienceStated ? patience / Duration.seconds(1) : 0)
        let late = figures.oldestReady.filter { $0.value > limit }.sorted { $0.key < $1.key }
        guard !late.isEmpty else { return [] }
        // Where nobody is there at all, that is what is said.
        guard isAnyoneAlive else { return late.map { Self.lateQueue($0.key, oldest: $0.value) } }
        let served = try JobQueue().servedQueues(on: connection)
        let kinds = try JobQueue().lateKinds(waiting: limit, on: connection)
        var findings: [DoctorFinding] = []
        for (queue, oldest) in late {
            guard served.contains(queue) else {
                findings.append(Self.unservedQueue(queue, oldest: oldest, served))
                continue
            }
            let unknown = kinds.filter { $0.queue == queue && !$0.isKnown }
            guard !unknown.isEmpty else {
                findings.append(Self.lateQueue(queue, oldest: oldest))
                continue
            }
            findings.append(Self.unknownKinds(unknown, in: queue))
            if let known = kinds.filter({ $0.queue == queue && $0.isKnown }).map(\.oldest).max() {
                findings.append(Self.lateQueue(queue, oldest: known))
            }
        }
        return findings
    }

    private static func waiting(in queue: String, _ seconds: Double) -> String {
        "a job in the queue \(queue) has been waiting to run for \(Wording.length(.seconds(Int(seconds))))"
    }

    private static func lateQueue(_ queue: String, oldest seconds: Double) -> DoctorFinding {
        DoctorFinding(
            .warning,
            "jobs.age",
            waiting(in: queue, seconds),
            why: "Work comes in faster than it is done, or nobody does it.",
            todo: "Start more workers, or see what they do: accountctl jobs list"
        )
    }

    private static func unservedQueue(_ queue: String, oldest seconds: Double, _ served: Set<String>) -> DoctorFinding {
        DoctorFinding(
            .warning,
            "jobs.age",
            "\(waiting(in: queue, seconds)), and no worker serves this queue",
            why: "Nobody takes its jobs; those that live serve \(served.sorted().joined(separator: ", ")).",
            todo: "Add such jobs to one of those queues, and cancel what waits here: accountctl jobs list"
        )
    }

    private static func unknownKinds(_ kinds: [LateKind], in queue: String) -> DoctorFinding {
        let names = kinds.map { SafeText.line($0.kind) }
        let noun = names.count == 1 ? "kind" : "kinds"
        return DoctorFinding(
            .warning,
            "jobs.age",
            "\(waiting(in: queue, kinds.map(\.oldest).max() ?? 0)), and no worker knows the \(noun) \(Wording.list(names))",
            why: "Nobody takes such jobs, however many workers of this release there are.",
            todo: "Cancel them, or start the release that knows the \(noun): accountctl jobs list --queue \(queue)"
                + names.map { " --kind \($0)" }.joined()
        )
    }
}
