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

    /// If many users of a client id are refused at once, something is wrong, and nobody is signed out, also where they
    /// had signed in to the new team after a transfer.
    @Test(arguments: [false, true]) func aMassOfRefusalsIsHeldBack(_ isAfterTransfer: Bool) async throws {
        try await CredentialStage.with { stage in
            var people: [CredentialStage.Person] = []
            for _ in 0..<12 { people.append(try await stage.signUp()) }
            for person in people.prefix(6) {
                if isAfterTransfer { try await stage.move(person, minutesAgo: 120) }
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

    /// After a transfer, Apple refuses the former team's tokens, those of a Services ID as well, also before the
    /// transfer is applied: they are forgotten without a mass being suspected, and nobody is signed out.
    @Test(arguments: [CredentialStage.clientID, "com.example.web"], [true, false])
    func tokensOfTheFormerTeamAreNoMass(_ clientID: String, _ isApplied: Bool) async throws {
        try await CredentialStage.with { stage in
            var people: [CredentialStage.Person] = []
            for _ in 0..<12 { people.append(try await stage.signUp(clientID: clientID)) }
            let (moved, others) = (people.prefix(6), people.dropFirst(6))
            for person in moved {
                try await stage.move(person, minutesAgo: 1, isApplied: isApplied)
                stage.sandbox.apple.stopUsing(sub: person.sub, clientID: clientID)
            }
            let tally = try await CredentialChecks(stage.services()).sweep()
            #expect(tally.gone == 6)
            #expect(tally.live == 6)
            #expect(tally.heldBack == 0)
            #expect(try await stage.outcomes() == [])
            for person in moved { #expect(try await stage.traces(of: person) == .init(credentials: 0)) }
            for person in others { #expect(try await stage.traces(of: person) == .init()) }
        }
    }

    /// Once Apple has told the new team about somebody, the older tokens of whomever the former team named are that
    /// team's: nobody is signed out for them, though Apple was not asked about that person yet.
    @Test(arguments: [CredentialStage.clientID, "com.example.web"])
    func olderTokensOfWhatMovedAreTheFormerTeams(_ clientID: String) async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp(clientID: clientID)
            let ben = try await stage.signUp(clientID: clientID)
            try await stage.move(ben, of: clientID, minutesAgo: 1)
            try await stage.sql(
                """
                insert into accountctl.apple_transfers
                    (user_id, client_id, target_team, old_sub, transfer_identifier, state)
                values (\(anna.id), \(clientID), \(stage.transfer.targetTeam), \(anna.sub), 'anna', 'generated')
                """
            )
            stage.sandbox.apple.stopUsing(sub: anna.sub, clientID: clientID)
            let tally = try await CredentialChecks(stage.services()).sweep()
            #expect(tally.gone == 1)
            #expect(tally.live == 1)
            #expect(try await stage.outcomes() == [])
            #expect(try await stage.traces(of: anna) == .init(credentials: 0))
            #expect(try await stage.traces(of: ben) == .init())
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
