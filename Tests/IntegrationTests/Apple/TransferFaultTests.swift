import Foundation
import Sandbox
import TestSupport
import Testing

/// A step of a team transfer reports a wrong team or key, or a missing earlier step, and marks no user as refused.
@Suite("Team transfer steps with wrong settings", .timeLimit(.minutes(5)))
struct TransferFaultTests {
    private static let recipient = "RECIPIENT1"

    private func transfer(
        _ program: AppleProgram,
        _ step: String,
        _ options: String...,
        environment: [String: String] = [:]
    ) async throws -> AccountctlProcess.Result {
        try await AccountctlProcess(
            ["apple", "transfer", step, AppleProgram.clientID, "--team", Self.recipient] + options,
            environment: program.variables.merging(environment) { $1 }
        ).result()
    }

    @Test("A team without a transfer marks nobody as refused, and the own team is refused before Apple is asked")
    func wrongTeams() async throws {
        try await AppleProgram.with { program in
            for _ in 0..<2 { _ = try await program.signUp(credential: false) }
            program.sandbox.apple.startTransfer(of: AppleProgram.clientID, to: "ANOTHER123")
            let stopped = try await transfer(program, "generate")
            #expect(stopped.status == 75, "\(stopped)")
            for part in ["transfer goes to \(Self.recipient)", "apple.team_id", "--retry-refused"] {
                #expect(stopped.errors.contains(part), "\(stopped)")
            }
            let count = "select count(*) from accountctl.apple_transfers"
            #expect(try await program.database.psql(count) == "0")
            let asked = program.sandbox.journal.count(.appleMigration)
            let own = ["ACCOUNTCTL_APPLE_TEAM_ID": Self.recipient]
            let refused = try await transfer(program, "generate", environment: own)
            let reason = "\(Self.recipient) is the configured team itself (apple.team_id)"
            #expect(refused.status == 2 && refused.errors.contains(reason), "\(refused)")
            #expect(program.sandbox.journal.count(.appleMigration) == asked)
        }
    }

    @Test("A step that needs transfer identifiers says when there are none, and how many users it leaves out")
    func nothingKnown() async throws {
        try await AppleProgram.with { program in
            for _ in 0..<2 { _ = try await program.signUp(credential: false) }
            let own = ["ACCOUNTCTL_APPLE_TEAM_ID": Self.recipient]
            for step in ["exchange", "export", "apply"] {
                let unknown = try await transfer(program, step, environment: own)
                #expect(unknown.status == 3 && unknown.output.isEmpty, "\(step): \(unknown)")
                let left = "2 users have no transfer identifier for team \(Self.recipient)"
                #expect(unknown.errors.contains(left), "\(step): \(unknown)")
            }
            let identified = """
                insert into accountctl.apple_transfers (user_id, client_id, target_team, transfer_identifier, state)
                select id, '\(AppleProgram.clientID)', 'RECIPIENT2', 't', 'generated' from auth.users limit 1
                """
            try await program.database.psql(identified)
            let mistaken = try await transfer(program, "export")
            #expect(mistaken.status == 3 && mistaken.errors.contains("transfer to RECIPIENT2 is known"), "\(mistaken)")
            try await program.database.psql("update accountctl.apple_transfers set target_team = '\(Self.recipient)'")
            let known = try await transfer(program, "export")
            #expect(known.status == 0 && known.output.contains("\"t\""), "\(known)")
            #expect(known.errors.contains("1 user has no transfer identifier"), "\(known)")
            #expect(!known.errors.contains("come since the transfer"), "\(known)")
            // After the first exchange, new users sign up with the recipient team.
            try await program.database.psql(
                "update accountctl.apple_transfers set state = 'exchanged', new_sub = '003.new', updated_at = now() - interval '1 hour'"
            )
            let late = try await program.signUp(credential: false)
            try await program.database.psql(
                "update auth.identities set created_at = now() where user_id = '\(late.id)'"
            )
            let told = try await transfer(program, "export")
            for part in [
                "1 user has no transfer identifier",
                "1 user has come since the transfer, and needs no transfer identifier",
            ] {
                #expect(told.errors.contains(part), "\(told)")
            }
            let counts = try await transfer(program, "status", "--json", "waiting,newcomers")
            #expect(counts.output == "{\n  \"newcomers\": 1,\n  \"waiting\": 1\n}\n", "\(counts)")
        }
    }

    @Test("With --retry-refused, a step counts those whom Apple refused to that step, and asks about no others")
    func refusedBefore() async throws {
        try await AppleProgram.with { program in
            for _ in 0..<3 { _ = try await program.signUp(credential: false) }
            // Two have no transfer identifier, and one was refused to the recipient.
            try await program.database.psql(
                """
                insert into accountctl.apple_transfers (user_id, client_id, target_team, transfer_identifier, state)
                select
                    id, '\(AppleProgram.clientID)', '\(Self.recipient)',
                    case row_number() over () when 1 then 't' end, 'refused'
                from auth.users
                """
            )
            let sender = try await transfer(program, "generate", "--retry-refused", "--dry-run")
            #expect(sender.status == 0 && sender.errors.contains("ask Apple about 2 users."), "\(sender)")
            let own = ["ACCOUNTCTL_APPLE_TEAM_ID": Self.recipient]
            let receiver = try await transfer(program, "exchange", "--retry-refused", "--dry-run", environment: own)
            #expect(receiver.status == 0 && receiver.errors.contains("ask Apple about 1 user."), "\(receiver)")
        }
    }
}
