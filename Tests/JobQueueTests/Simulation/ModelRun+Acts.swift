import Foundation
import Postgres
import Testing

@testable import JobQueue

/// The steps of operators, of the clock and of callers that enqueue.
extension ModelRun {
    mutating func enqueue(at step: Int, on connection: isolated Connection) throws {
        let job = try Self.kind.job(Note(), uniqueKey: "\(step)")
        let id = try queue.enqueue([job], on: connection)[0].id
        keys[id] = "\(step)"
        model.jobs[id] = ModelTable.Job()
    }

    mutating func cancel(on connection: isolated Connection) throws {
        guard let id = anyJob() else { return }
        _ = try queue.cancel(id, reason: "m", on: connection)
        model.cancel(id)
    }

    mutating func runNow(on connection: isolated Connection) throws {
        guard let id = anyJob() else { return }
        let key = keys[id]
        let real = try queue.runNow(keys: [try #require(key)], on: connection)
        let wanted = model.runNow(id) ? 1 : 0
        #expect(real == wanted)
    }

    mutating func takeOverdue(on connection: isolated Connection) throws {
        guard let claim = claims.randomElement(using: &random) else { return }
        let real = try queue.takeOverdue([claim.real], alarmed: [:], on: connection)
        let wanted = model.takeOverdue([claim.model]).count
        #expect(real == wanted)
    }

    mutating func promote(on connection: isolated Connection) throws {
        try connection.execute("update accountctl.jobs set run_at = now() where state = 'scheduled'")
        let real = try queue.promote(on: connection).promoted
        let wanted = model.promote()
        #expect(real == wanted)
    }

    mutating func unpark(on connection: isolated Connection) throws {
        let real = try queue.retryUndecodable(Self.lanes, since: .distantFuture, on: connection)
        let wanted = model.unpark()
        #expect(real == wanted)
    }

    mutating func discard(at step: Int, on connection: isolated Connection) throws {
        guard let id = anyJob() else { return }
        let isDone = try isAllowed { try queue.discard(id, reason: "m", on: connection) }
        let wanted = model.discard(id)
        #expect(isDone == wanted, "job \(id) at step \(step) of seed \(seed)")
    }

    mutating func snooze(at step: Int, on connection: isolated Connection) throws {
        guard let id = anyJob() else { return }
        let isDone = try isAllowed { try queue.snooze(id, for: .seconds(3600), on: connection) }
        let wanted = model.snooze(id)
        #expect(isDone == wanted, "job \(id) at step \(step) of seed \(seed)")
    }

    mutating func retry(at step: Int, on connection: isolated Connection) throws {
        let ids = (Array(model.jobs.keys) + model.history.keys).sorted()
        guard let id = ids.randomElement(using: &random) else { return }
        let isDone = try isAllowed { _ = try queue.retry(id, on: connection) }
        let wanted = model.retry(id)
        #expect(isDone == wanted, "job \(id) at step \(step) of seed \(seed)")
    }

    /// Whether the state of the job allows an act.
    private func isAllowed(_ act: () throws -> Void) throws -> Bool {
        do {
            try act()
            return true
        } catch let error as JobQueueError where error.code == .wrongState {
            return false
        }
    }

    private mutating func anyJob() -> Int64? {
        model.jobs.keys.sorted().randomElement(using: &random)
    }
}
