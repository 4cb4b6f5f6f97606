import Foundation
import Sandbox
import TestSupport
import Testing

@Suite("Several teams side by side", .timeLimit(.minutes(5)))
struct SeveralTeamsTests {
    private static let shop = "com.example.shop"

    /// Settings with a second app, of another team, in its own section.
    private func shopSettings(_ program: AppleProgram) throws -> [String: String] {
        program.sandbox.apple.register(client: Self.shop, teamID: "SHOPTEAM01")
        let key = program.sandbox.apple.makeKey(teamID: "SHOPTEAM01")
        let file = """
            [apple.app.shop]
            team_id = \(key.teamID)
            key_id = \(key.keyID)
            private_key_file = \(try program.secretFile("shop.p8", key.privateKey))
            client_ids = \(Self.shop)
            """
        return ["ACCOUNTCTL_CONFIG": try program.secretFile("accountctl.conf", file)]
    }

    @Test("Each client id uses its own team and key, from the code to the notification")
    func eachItsOwn() async throws {
        try await AppleProgram.with { program in
            let settings = try shopSettings(program)
            let fields = "client_id,team_id,result"
            let tested = try await program.run("apple", "test", "--json", fields, environment: settings)
            #expect(tested.status == 0, "\(tested.output)\(tested.errors)")
            let expected = #"{"client_id":"com.example.shop","result":"good","team_id":"SHOPTEAM01"}"#
            #expect(tested.output.contains(expected), "\(tested.output)")
            #expect(tested.output.contains(program.sandbox.apple.developerKey.teamID))

            let anna = try await program.signUp()
            let ben = try await program.signUp(clientID: Self.shop)
            #expect(try await program.run("worker", "--until-idle", environment: settings).status == 0)
            let held = "select string_agg(client_id, ',' order by client_id) from accountctl.apple_credentials"
            #expect(try await program.database.psql(held) == "com.example.app,com.example.shop")

            let printed = try await program.run("apple", "client-secret", "print", Self.shop, environment: settings)
            let read = try await program.run("apple", "client-secret", "inspect", "-", "--json", input: printed.output)
            #expect(read.output.contains("SHOPTEAM01"))

            try await program.database.psql(
                "update accountctl.apple_credentials set obtained_at = obtained_at - interval '10 minutes'"
            )
            try await program.withListener("serve", environment: settings) { _, url in
                for (person, audience) in [(anna, AppleProgram.clientID), (ben, Self.shop)] {
                    let told = AppleNotification(
                        .consentRevoked,
                        sub: person.sub,
                        audience: audience,
                        eventTime: Date(),
                        issuedAt: Date()
                    )
                    let answer = try await program.sandbox.notifications.post(told, to: url)
                    #expect(answer == [200])
                }
            }
            #expect(try await program.run("worker", "--until-idle", environment: settings).status == 0)
            #expect(try await program.database.psql("select count(*) from accountctl.apple_credentials") == "0")
        }
    }

    @Test("One team's rejected key stops that team's client ids alone, and the doctor says which section to look at")
    func oneIsRejected() async throws {
        try await AppleProgram.with(recorded: true) { program in
            let settings = try shopSettings(program)
            program.sandbox.apple.revokeKey(program.sandbox.apple.developerKey.keyID)
            let (anna, ben) = (try await program.signUp(), try await program.signUp(clientID: Self.shop))
            let worker = try AccountctlProcess(["worker"], environment: program.variables.merging(settings) { $1 })
            let held = "select string_agg(user_id::text, ',') from accountctl.apple_credentials"
            try await program.database.waitUntil(
                "exists (select from accountctl.apple_credentials)",
                changes: "accountctl.apple_credentials"
            )
            #expect(try await worker.waitForErrors(containing: "Apple rejects this client id"))
            worker.signal(SIGTERM)
            #expect(try await worker.result().status == 0)
            #expect(try await program.database.psql(held) == ben.id)
            let state = "select state from accountctl.authorization_codes where user_id = '\(anna.id)'"
            #expect(try await program.database.psql(state) == "received")
            let doctor = try await program.run("doctor", "--json", "code,what,todo", environment: settings)
            let developer = program.sandbox.apple.developerKey
            let told = "Apple rejects com.example.app with team \(developer.teamID) and key \(developer.keyID)"
            #expect(doctor.output.contains(told), "\(doctor.output)")
            #expect(doctor.output.contains("Compare apple.team_id"), "\(doctor.output)")
            #expect(!doctor.output.contains("Compare apple.app.shop.team_id"))
            #expect(doctor.output.contains("Apple accepts team, key and com.example.shop"))
        }
    }
}
