import Postgres
import Sandbox
import Testing

@testable import AccountLifecycle

/// Refusals that are inconclusive, and mass refusals that are held back.
@Suite(.timeLimit(.minutes(5))) struct CheckBrakeTests {
    /// When every credential of a client id is refused, the client id is the suspect.
    @Test func refusalsOfAllProveNothing() async throws {
        try await CredentialStage.with { stage in
            let people = [try await stage.signUp(), try await stage.signUp()]
            for person in people {
                stage.sandbox.apple.stopUsing(sub: person.sub, clientID: CredentialStage.clientID)
            }
            let tally = try await CredentialChecks(stage.services()).sweep()
            #expect(tally.inconclusive == 2)
            for person in people { #expect(try await stage.traces(of: person) == .init()) }
            #expect(try await stage.outcomes() == [])
        }
    }

    /// A live answer from yesterday does not show that the client id still works today.
    @Test func yesterdaysAnswerProvesNothingToday() async throws {
        try await CredentialStage.with { stage in
            let (anna, ben) = (try await stage.signUp(), try await stage.signUp())
            let checks = CredentialChecks(stage.services())
            #expect(try await checks.sweep().live == 2)
            for person in [anna, ben] {
                stage.sandbox.apple.stopUsing(sub: person.sub, clientID: CredentialStage.clientID)
            }
            try await stage.sql(
                "update accountctl.apple_credentials set check_after = now() - interval '1 minute' where user_id = \(anna.id)"
            )
            #expect(try await checks.sweep().inconclusive == 1)
            #expect(try await stage.outcomes() == [])
        }
    }

    /// If no other credential is due, another person's is checked as the witness, which counts as its check of the day.
    @Test func anotherPersonIsTheWitness() async throws {
        try await CredentialStage.with { stage in
            let (anna, ben) = (try await stage.signUp(), try await stage.signUp())
            stage.sandbox.apple.stopUsing(sub: anna.sub, clientID: CredentialStage.clientID)
            try await stage.sql(
                "update accountctl.apple_credentials set check_after = now() + interval '1 hour' where user_id = \(ben.id)"
            )
            let tally = try await CredentialChecks(stage.services()).sweep()
            #expect(tally.gone == 1)
            #expect(tally.live == 0)
            let isPutOff = try await stage.value(
                """
                select check_after > now() + interval '23 hours' and last_live_at is not null
                from accountctl.apple_credentials
                where user_id = \(ben.id)
                """,
                as: Bool.self
            )
            #expect(isPutOff)
        }
    }

    /// If many users of a client id are refused at once, something is wrong, and nobody is signed out.
    @Test func aMassOfRefusalsIsHeldBack() async throws {
        try await CredentialStage.with { stage in
            var people: [CredentialStage.Person] = []
            for _ in 0..<12 { people.append(try await stage.signUp()) }
            for person in people.prefix(6) {
                stage.sandbox.apple.stopUsing(sub: person.sub, clientID: CredentialStage.clientID)
            }
            let tally = try await CredentialChecks(stage.services()).sweep()
            #expect(tally.heldBack == 6)
            #expect(tally.live == 6)
            #expect(tally.gone == 0)
            #expect(try await stage.outcomes() == [])
            for person in people { #expect(try await stage.traces(of: person) == .init()) }
        }
    }

    /// That Apple, or a stand-in for it, accepts the client shows nothing of the only token, which is another team's.
    @Test func theOnlyTokenOfAFormerTeamIsKept() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await stage.makeFormer(anna)
            stage.sandbox.apple.stopUsing(sub: anna.sub, clientID: CredentialStage.clientID)
            let tally = try await CredentialChecks(stage.services()).sweep()
            #expect(tally.gone == 0)
            #expect(tally.inconclusive == 1)
            #expect(try await stage.outcomes() == [])
            #expect(try await stage.traces(of: anna) == .init())
        }
    }

    /// A token that is held from before the app left a team does not show that the app is that team's again: a worker
    /// may still have that team's settings.
    @Test func aTokenFromBeforeTheMoveShowsNoTeam() async throws {
        try await CredentialStage.with { stage in
            let (anna, ben) = (try await stage.signUp(), try await stage.signUp())
            try await stage.makeFormer(anna)
            try await stage.sql(
                """
                update accountctl.apple_credentials
                set team_id = \(stage.sandbox.apple.teamID),
                    obtained_at = now() - interval '1 day',
                    check_after = now() + interval '1 hour'
                where user_id = \(ben.id)
                """
            )
            stage.sandbox.apple.stopUsing(sub: anna.sub, clientID: CredentialStage.clientID)
            let tally = try await CredentialChecks(stage.services()).sweep()
            #expect(tally.gone == 0)
            #expect(tally.inconclusive == 1)
            #expect(try await stage.traces(of: anna) == .init())
        }
    }

    /// After a transfer, Apple refuses the former team's tokens: they are forgotten without a mass being suspected, and
    /// nobody is signed out.
    ///
    /// Nothing is forgotten while nobody has a token of the new team: what answers may be a stand-in for Apple.
    @Test(arguments: [0, 1]) func tokensOfTheFormerTeamAreNoMass(_ others: Int) async throws {
        try await CredentialStage.with { stage in
            var people: [CredentialStage.Person] = []
            for _ in 0..<6 + others { people.append(try await stage.signUp()) }
            for person in people.prefix(6) {
                try await stage.makeFormer(person)
                stage.sandbox.apple.stopUsing(sub: person.sub, clientID: CredentialStage.clientID)
            }
            let tally = try await CredentialChecks(stage.services()).sweep()
            #expect(tally.gone == 6 * others)
            #expect(tally.inconclusive == 6 * (1 - others))
            #expect(tally.live == others)
            #expect(tally.heldBack == 0)
            #expect(try await stage.outcomes() == [])
            let left = 1 - others
            for person in people.prefix(6) { #expect(try await stage.traces(of: person) == .init(credentials: left)) }
            for person in people.dropFirst(6) { #expect(try await stage.traces(of: person) == .init()) }
        }
    }

    @Test func theBrakeKnowsPeopleWhoLeaveFromAMass() {
        func holds(_ refused: Int, of answered: Int, today: Int = 0, held: Int = 1000) -> Bool {
            RefusalBrake(refused: refused, answered: answered, goneToday: today, held: held).holds
        }
        #expect(!holds(1, of: 1))
        #expect(!holds(4, of: 5))
        #expect(holds(5, of: 10))
        #expect(!holds(20, of: 200))
        #expect(holds(21, of: 200))
        #expect(!holds(1, of: 100, today: 49))
        #expect(holds(1, of: 100, today: 50))
        #expect(!holds(1, of: 1, today: 19, held: 20))
        #expect(holds(1, of: 1, today: 20, held: 20))
        #expect(!holds(1, of: 100, today: 4999, held: 100_000))
    }
}
