import Foundation
import TestSupport
import Testing

@Suite("Exporting the list of erasures", .timeLimit(.minutes(5)))
struct ErasureListExportTests {
    @Test("The list names accounts by the same hash as the operators' log, and leaves out requests that ended long ago")
    func export() async throws {
        try await OperatorStage.with(accounts: 2) { stage in
            for number in 1...2 { try await stage.request(OperatorStage.id(number)) }
            _ = try await stage.run(["deletion", "cancel", OperatorStage.id(2)])
            let list = try await stage.run(["deletion", "export"])
            #expect(list.status == 0, "\(list.errors)")
            let logged = try await stage.database.psql(
                "select encode(subject_hash, 'hex') from accountctl.operator_log where action = 'deletion.request'"
            )
            for subject in logged.split(separator: "\n") { #expect(list.output.contains(subject), "\(list.output)") }
            let end = try #require(list.output.split(separator: "\n").last)
            #expect(end.wholeMatch(of: /\{"end":2,"seal":"[0-9a-f]{64}"\}/) != nil, "\(end)")
            let printed = try await AccountctlProcess(
                ["deletion", "export", "--output", "-"],
                environment: stage.variables,
                directory: stage.folder
            ).result()
            #expect(printed.status == 0 && printed.output.contains("\n{\"end\":2,"), "\(printed)")
            #expect(!FileManager.default.fileExists(atPath: stage.path("-")))
            let path = try stage.write("", to: "unused") + ".ndjson"
            let file = try await stage.run(["deletion", "export", "--output", path])
            #expect(file.status == 0 && file.output.isEmpty, "\(file)")
            let written = try String(contentsOfFile: path, encoding: .utf8)
            let requests = list.output.split(separator: "\n").dropFirst().dropLast()
            // The first and the last line differ, since each seal covers the time of its own export.
            #expect(requests.count == 2 && written.split(separator: "\n").dropFirst().dropLast() == requests)
            let twice = try await stage.run(["deletion", "export", "--output", path])
            #expect(twice.status == 2 && twice.errors.contains("a name of its own"), "\(twice)")
            try await stage.database.psql(
                """
                update accountctl.deletion_requests
                set finished_at = case when finished_at is not null then now() - interval '50 days' end,
                    requested_at = now() - interval '60 days'
                """
            )
            let recent = try await stage.run(["deletion", "export", "--since", "40d"])
            #expect(recent.output.contains("\n{\"end\":1,") && recent.output.contains("\"grace\""), "\(recent.output)")
            let denied = try await stage.run(["deletion", "export"], as: "authenticated")
            #expect(denied.status == 4 && denied.output.isEmpty, "\(denied)")
        }
    }
}
