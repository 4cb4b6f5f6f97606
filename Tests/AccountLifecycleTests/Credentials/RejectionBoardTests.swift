import Foundation
import HTTPCalls
import Logging
import Postgres
import Sandbox
import SandboxClients
import Sealing
import SignInWithApple
import TestSupport
import Testing

@testable import AccountLifecycle

@Suite(.timeLimit(.minutes(5))) struct RejectionBoardTests {
    /// Runs `body` with a second worker, which has its own clients and the same database.
    private func withNeighbour(
        _ stage: CredentialStage,
        logger: Logger = .silent,
        now: @escaping @Sendable () -> Date = { Date() },
        _ body: @Sendable (AppleClients, RejectionBoard) async throws -> Void
    ) async throws {
        try await HTTPCaller.withCaller(logger: logger) { caller in
            let ids = stage.apple.clientIDs
            let apple = try AppleClients(of: stage.sandbox, ids, caller: caller, logger: logger, now: now)
            try await body(apple, RejectionBoard(pool: stage.pool, apple: apple, logger: logger))
        }
    }

    @Test func oneFindsOutAndAllStopForThatClientAlone() async throws {
        try await CredentialStage.with { stage in
            let (id, other) = (CredentialStage.clientID, "com.example.web")
            let board = RejectionBoard(
                pool: stage.pool,
                apple: stage.apple,
                logger: .silent
            )
            try await withNeighbour(stage) { neighbour, neighbours in
                try await neighbours.exchange()
                stage.sandbox.faults.set(Fault.appleError("invalid_client").only(for: id), for: .appleToken)
                _ = try await stage.apple[id]?.selfTest()
                #expect(stage.apple.isPaused(id))
                try await board.exchange()
                let asked = stage.sandbox.journal.count(.appleToken)
                #expect(!neighbour.isPaused(id))
                try await neighbours.exchange()
                #expect(neighbour.isPaused(id))
                #expect(!neighbour.isPaused(other))
                guard case .later(let delay)? = try await neighbour[id]?.exchange(code: Secret("c"), redirectURI: nil)
                else {
                    Issue.record("the neighbour called Apple")
                    return
                }
                #expect(delay.cause == .breakerOpen)
                #expect(stage.sandbox.journal.count(.appleToken) == asked)
                let who = try await stage.value(
                    "select client_id || ' ' || key_id || ' ' || refusal from accountctl.apple_rejections",
                    as: String.self
                )
                #expect(who == "\(id) \(stage.sandbox.apple.developerKey.keyID) invalid_client")

                // Once the key is fixed and one worker's self-test succeeds, the other worker need not test it.
                stage.sandbox.faults.clearAll()
                guard case .good? = try await neighbour[id]?.selfTest() else {
                    Issue.record("the self-test is not good")
                    return
                }
                try await neighbours.exchange()
                #expect(try await stage.value("select count(*) from accountctl.apple_rejections", as: Int.self) == 0)
                #expect(stage.apple.isPaused(id))
                try await board.exchange()
                #expect(!stage.apple.isPaused(id))
                // No worker reports the rejection again.
                try await neighbours.exchange()
                try await board.exchange()
                #expect(!neighbour.isPaused(id))
            }
        }
    }

    /// A rejection does not affect another key of the team, or a key with the same id in another team, as in a
    /// transfer.
    @Test(arguments: [true, false])
    func anotherKeyOfTheSameClientIsNotConcerned(_ isOwnTeam: Bool) async throws {
        try await CredentialStage.with { stage in
            let id = CredentialStage.clientID
            let team = isOwnTeam ? stage.sandbox.apple.teamID : "TEAM000001"
            let key = isOwnTeam ? "KEY0000001" : stage.sandbox.apple.developerKey.keyID
            try await stage.sql(
                """
                insert into accountctl.apple_rejections (client_id, team_id, key_id, refusal, retry_after)
                values
                    (\(id), \(team), \(key), 'invalid_client', now() + interval '1 minute'),
                    ('com.example.gone', 'TEAM000001', 'KEY0000001', 'invalid_client', now() - interval '2 days')
                """
            )
            try await withNeighbour(stage) { neighbour, board in
                for _ in 0..<2 {
                    try await board.exchange()
                    #expect(!neighbour.isPaused(id))
                }
                // The other worker's row is left for that worker to remove; a row that is not renewed is deleted.
                let left = try await stage.value(
                    "select string_agg(client_id, ' ') from accountctl.apple_rejections",
                    as: String.self
                )
                #expect(left == id)
            }
        }
    }

    /// If both keys are rejected, both stay paused: the rejection of one does not mean that the other works.
    @Test func twoKeysThatAreBothRejectedStayPaused() async throws {
        try await CredentialStage.with { stage in
            let id = CredentialStage.clientID
            try await withNeighbour(stage) { neighbour, board in
                stage.sandbox.faults.set(Fault.appleError("invalid_client").only(for: id), for: .appleToken)
                _ = try await neighbour[id]?.selfTest()
                try await board.exchange()
                // Written as by the worker with the other key.
                try await stage.sql(
                    """
                    insert into accountctl.apple_rejections as r (client_id, team_id, key_id, refusal, retry_after)
                    values (\(id), 'TEAM000001', 'KEY0000001', 'invalid_client', now() + interval '1 hour')
                    on conflict (client_id, team_id, key_id) do nothing
                    """
                )
                for _ in 0..<3 {
                    try await board.exchange()
                    #expect(neighbour.isPaused(id))
                }
                #expect(try await stage.value("select count(*) from accountctl.apple_rejections", as: Int.self) == 2)
            }
        }
    }

    /// The rejection of a client id stays recorded, also for workers that start later, if a day passes without calls.
    ///
    /// That no call was made does not show that the client id works again.
    @Test func aDayWithoutCallsMakesNoClientIDGood() async throws {
        try await CredentialStage.with { stage in
            let id = CredentialStage.clientID
            let lines = LogLines()
            stage.sandbox.faults.set(Fault.appleError("invalid_client").only(for: id), for: .appleToken)
            // The pause of the breaker has been over for two days.
            try await withNeighbour(stage, logger: lines.logger, now: { Date() - 2 * 86_400 }) { apple, board in
                _ = try await apple[id]?.selfTest()
                for _ in 0..<3 {
                    try await board.exchange()
                    #expect(apple.rejections()[id] != nil)
                    try await stage.sql(
                        "update accountctl.apple_rejections set retry_after = now() - interval '2 days'"
                    )
                }
                #expect(!lines.all.contains { $0.contains("again") })
                try await board.exchange()
                try await withNeighbour(stage) { neighbour, neighbours in
                    try await neighbours.exchange()
                    #expect(neighbour.rejections()[id] != nil)
                }
            }
        }
    }

    @Test func whoStartsLaterTestsBeforeItCalls() async throws {
        try await CredentialStage.with { stage in
            let id = CredentialStage.clientID
            let developer = stage.sandbox.apple.developerKey
            // This row was left by a worker that has since died.
            try await stage.sql(
                """
                insert into accountctl.apple_rejections (client_id, team_id, key_id, refusal, retry_after)
                values (\(id), \(developer.teamID), \(developer.keyID), 'invalid_client', now() - interval '1 minute')
                """
            )
            try await withNeighbour(stage) { neighbour, board in
                try await board.exchange()
                #expect(!neighbour.isPaused(id))
                let person = try await stage.signUp(credential: false)
                let code = try stage.sandbox.apple.issueCode(clientID: id, sub: person.sub)
                guard case .granted? = try await neighbour[id]?.exchange(code: Secret(code), redirectURI: nil) else {
                    Issue.record("the exchange was not granted")
                    return
                }
                // The self-test came first.
                #expect(stage.sandbox.journal.count(.appleToken) == 2)
                try await board.exchange()
                #expect(try await stage.value("select count(*) from accountctl.apple_rejections", as: Int.self) == 0)
            }
        }
    }
}
