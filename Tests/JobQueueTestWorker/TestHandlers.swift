import Foundation
import JobQueue
import Postgres

/// Handlers that record what they did as rows of `public.effects`.
enum TestHandlers {
    struct Arguments: Codable, Sendable {
        var milliseconds = 0
    }

    static func registry() throws -> JobRegistry {
        var registry = JobRegistry()
        // Begins, sleeps and ends, with an effect at the beginning and one at the end.
        try registry.register(kind("test.steps", crashLimit: 1000)) { arguments, context in
            try await effect(context, "begin")
            try await Task.sleep(for: .milliseconds(arguments.milliseconds))
            try await effect(context, "end")
            return .completed()
        }
        // Writes its effect and its end in one transaction.
        try registry.register(kind("test.exact", crashLimit: 1000)) { arguments, context in
            try await Task.sleep(for: .milliseconds(arguments.milliseconds))
            try await context.pool.withTransaction { connection in
                try context.fence(on: connection)
                try insert(context, "exact", on: connection)
                try context.complete(on: connection)
            }
            return .completedInTransaction
        }
        // Kills its process.
        try registry.register(kind("test.trap")) { _, context in
            try await effect(context, "trap")
            fatalError("as asked")
        }
        // Blocks its thread and ignores cancellation, then writes behind the fence.
        try registry.register(kind("test.deaf")) { arguments, context in
            try await effect(context, "begin")
            let end = Date(timeIntervalSinceNow: Double(arguments.milliseconds) / 1000)
            while Date() < end { usleep(10_000) }
            try await uncancelled {
                try await context.pool.withTransaction { connection in
                    try context.fence(on: connection)
                    try insert(context, "late", on: connection)
                }
            }
            return .completed()
        }
        // Fails once, snoozes until an instant, then ends.
        try registry.register(kind("test.later")) { arguments, context in
            try await effect(context, "run")
            let runs = try await context.pool.withConnection { connection in
                try connection.one("select count(*) from public.effects where job = \(context.id)", as: Int.self)
            }
            return switch runs {
            case 1: .retry(after: .milliseconds(10), reason: "the first time")
            case 2: .snooze(until: context.now.addingTimeInterval(Double(arguments.milliseconds) / 1000))
            default: .completed()
            }
        }
        return registry
    }

    /// A kind whose `crashLimit` may be raised: a job that kills no process itself may still be hit by each kill of a
    /// test.
    private static func kind(_ name: String, crashLimit: Int = 3) -> JobKind<Arguments> {
        JobKind(name, retry: .exponential(attempts: 3, base: .milliseconds(50)), crashLimit: crashLimit)
    }

    private static func effect(_ context: JobContext, _ note: String) async throws {
        try await context.pool.withConnection { connection in try insert(context, note, on: connection) }
    }

    private static func insert(_ context: JobContext, _ note: String, on connection: isolated Connection) throws {
        try connection.execute("insert into public.effects (job, note) values (\(context.id), \(note))")
    }

    private static func uncancelled(_ body: @escaping @Sendable () async throws -> Void) async throws {
        try await Task { try await body() }.value
    }
}
