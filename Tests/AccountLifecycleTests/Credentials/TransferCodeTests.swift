import Postgres
import Sandbox
import Sealing
import TestSupport
import Testing

@testable import AccountLifecycle

/// Codes of people whose app has moved to another team, before the transfer is applied.
@Suite(.timeLimit(.minutes(5))) struct TransferCodeTests {
    @Test func aCodeOfWhomTheTransferWillCallSoIsTheAccounts() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let newSub = try stage.sandbox.apple.signIn(clientID: Stage.clientID, hidesEmail: true).sub
            let early = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: newSub)
            #expect(try await stage.exchange(early, of: person) == .settled(.wrongAccount))

            try await stage.move(person, to: newSub)
            let code = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: newSub)
            #expect(try await stage.exchange(code, of: person) == .settled(.exchanged))
            let held = try await stage.value("select apple_sub from accountctl.apple_credentials", as: String.self)
            #expect(held == newSub)

            // A person who signed in to the new team in the meantime has a separate account with that sub.
            _ = try await stage.signUp("berta", sub: newSub)
            let late = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: newSub)
            #expect(try await stage.exchange(late, of: person) == .settled(.wrongAccount))
        }
    }

    /// The run names one client of the team, such as the app without its Services ID.
    @Test func aCodeOfAnotherClientIsTheAccountsToo() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let sub = try stage.sandbox.apple.signIn(clientID: Stage.clientID, hidesEmail: true).sub
            try await stage.move(person, to: sub, of: "com.example.other")
            let code = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: sub)
            #expect(try await stage.exchange(code, of: person) == .settled(.exchanged))
        }
    }

    /// The token that a code brings replaces the one of the former team, which is the same person's: no grant is lost.
    ///
    /// The run names the app alone, with which a Services ID moves. A token of another Apple Account is another grant's.
    @Test(arguments: [Stage.clientID, "com.example.web"])
    func theFormerTeamsTokenIsReplacedWithoutALoss(_ clientID: String) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            let moving = Person(id: person.id, email: person.email, sub: "former")
            try await stage.move(moving, to: "new")
            for (subject, lost) in [("former", 0), ("new", 0), ("another", 1)] {
                try await stage.pool.withConnection { connection in
                    try AppleCredential.store(
                        Secret("token"),
                        user: person.id,
                        clientID: clientID,
                        teamID: stage.sandbox.apple.teamID,
                        subject: subject,
                        keys: stage.vault.keys,
                        on: connection
                    )
                }
                #expect(try await stage.count("select from accountctl.lost_grants") == lost)
            }
        }
    }

    @Test(arguments: [true, false])
    func itsGrantAloneIsRevokedWhereSomebodyElseDeletedTheAccountMeanwhile(_ isOwn: Bool) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let newSub = try stage.sandbox.apple.signIn(clientID: Stage.clientID, hidesEmail: true).sub
            let strangers = try stage.sandbox.apple.signIn(clientID: Stage.clientID, hidesEmail: true).sub
            try await stage.move(person, to: newSub)
            let speaker = Person(id: person.id, email: person.email, sub: isOwn ? newSub : strangers)
            let code = try await stage.submitCode(of: speaker)
            let outcome = try await stage.exchange(code) {
                try await stage.sql("delete from auth.users where id = \(person.id)")
            }
            let expected: CodeExchange.Outcome = isOwn ? .handedOver : .settled(.wrongAccount)
            #expect(outcome == expected)
            _ = try await stage.retryRevocations()
            #expect(stage.sandbox.journal.count(.appleRevoke) == (isOwn ? 1 : 0))
        }
    }
}
