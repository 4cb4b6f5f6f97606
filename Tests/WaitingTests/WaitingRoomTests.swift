import Synchronization
import TestSupport
import Testing

@testable import Waiting

@Suite(.timeLimit(.minutes(5))) struct WaitingRoomTests {
    /// Those inside, in order of arrival, and those who left.
    private struct Guests {
        var inside: [Int] = []
        var left: [Int] = []
    }

    private enum Reply: Equatable {
        case served
        case left
    }

    private typealias Room = WaitingRoom<Guests, Reply>

    private static func wait(in room: Room) async -> Reply {
        await room.wait { guests, ticket in
            guests.inside.append(ticket)
            return []
        } leaving: { guests, ticket in
            guests.inside.removeAll { $0 == ticket }
            guests.left.append(ticket)
            return .left
        }
    }

    private static func serveFirst(in room: Room) {
        room.answer { guests in guests.inside.isEmpty ? [] : [(guests.inside.removeFirst(), .served)] }
    }

    @Test func whoEntersMayBeAnsweredAtOnce() async {
        let room = Room(Guests())
        let reply = await room.wait { _, ticket in
            [(ticket, .served)]
        } leaving: { _, _ in
            .left
        }
        #expect(reply == .served)
        #expect(room.waitingCount == 0)
    }

    @Test func whoEntersMayAnswerOthers() async throws {
        let room = Room(Guests())
        let first = Task { await Self.wait(in: room) }
        try await eventually("the first waits") { room.waitingCount == 1 }
        let second = await room.wait { guests, ticket in
            guests.inside.map { ($0, .served) } + [(ticket, .served)]
        } leaving: { _, _ in
            .left
        }
        #expect(second == .served)
        #expect(await first.value == .served)
    }

    @Test func whoIsCancelledLeaves() async throws {
        let room = Room(Guests())
        let task = Task { await Self.wait(in: room) }
        try await eventually("it waits") { room.waitingCount == 1 }
        task.cancel()
        #expect(await task.value == .left)
        #expect(room.waitingCount == 0)
        #expect(room.withState { $0.inside.isEmpty && $0.left.count == 1 })
    }

    /// The cancellation handler runs before the task waits, and never again.
    @Test func whoWasCancelledBeforeDoesNotWait() async {
        let room = Room(Guests())
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await Self.wait(in: room)
        }
        #expect(await task.value == .left)
        #expect(room.waitingCount == 0)
        #expect(room.withState { $0.inside.isEmpty })
    }

    @Test func aReplyToNobodyIsDropped() async throws {
        let room = Room(Guests())
        room.answer { _ in [(1, .served)] }
        let task = Task { await Self.wait(in: room) }
        try await eventually("it waits") { room.waitingCount >= 1 }
        Self.serveFirst(in: room)
        #expect(await task.value == .served)
    }

    /// A task that is served and cancelled at the same moment gets exactly one of the two replies, and the state agrees
    /// with that reply.
    @Test func whatATaskHearsIsWhatTheStateBelieves() async {
        let room = Room(Guests())
        let heard = await withTaskGroup(of: Reply.self) { group in
            for _ in 0..<2000 {
                let task = Task { await Self.wait(in: room) }
                group.addTask {
                    Self.serveFirst(in: room)
                    return await task.value
                }
                group.addTask {
                    task.cancel()
                    return await task.value
                }
            }
            return await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
        #expect(heard.values.reduce(0, +) == 4000)
        #expect(room.withState { $0.left.count * 2 } == heard[.left, default: 0])
        #expect(room.withState { $0.inside.isEmpty })
        #expect(room.waitingCount == 0)
    }
}
