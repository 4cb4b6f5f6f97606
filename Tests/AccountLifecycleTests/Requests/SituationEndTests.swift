import AccountLifecycle
import Foundation
import MailRelay
import Postgres
import TestSupport
import Testing

/// While the rows of an account are deleted, nobody is told that its deletion has stopped.
@Suite(.timeLimit(.minutes(5))) struct SituationEndTests {
    enum Stop: CaseIterable { case pause, hold, rows }

    @Test(arguments: Stop.allCases) func whatEndedIsNotToldWhileTheNextStepIsTaken(_ stop: Stop) async throws {
        try await Stage.with { stage in
            let desk = stage.desk
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            try await stage.drive(request, once: .before(.deleteRows)) {
                switch stop {
                case .pause:
                    _ = try await stage.pool.withConnection { try await desk.pause(request, reason: "test", on: $0) }
                case .hold:
                    _ = try await stage.pool.withConnection { try await desk.hold(person.id, reason: "court", on: $0) }
                case .rows:
                    try await stage.sql("create table public.orders (id int, buyer uuid references auth.users)")
                    try await stage.sql("insert into public.orders values (1, \(person.id))")
                }
            }
            #expect(try await Self.tellsOfAStop(person, stage))
            switch stop {
            case .pause: _ = try await stage.pool.withConnection { try await desk.resume(request, on: $0) }
            case .hold:
                _ = try await stage.pool.withConnection { try await desk.release(person.id, reason: nil, on: $0) }
            case .rows: try await stage.sql("drop table public.orders")
            }
            let pause = try await stage.drive(request, once: .begun(.deleteRows)) {
                #expect(try await !Self.tellsOfAStop(person, stage))
                // The time for which rows have blocked the deletion counts on while the rows are looked for.
                let situation = try await stage.situation(request)
                #expect((situation == nil) == (stop != .rows))
            }
            #expect(pause == .ended(.verified))
        }
    }

    /// Whether the report on an account warns that its deletion has stopped.
    private static func tellsOfAStop(_ person: Person, _ stage: Stage) async throws -> Bool {
        let term = try #require(LookupTerm(person.text, as: nil, compared: .exact))
        let report = try await stage.admin.withConnection { connection in
            let found = try AccountDirectory(hashKey: nil).find(term, on: connection)
            let match = try #require(found.matches.first)
            return try await AccountReport.read(match, hashKey: nil, relayDomains: RelayDomains(), on: connection)
        }
        return try #require(report).warnings.contains { warning in
            if case .stopped = warning { true } else { false }
        }
    }
}
