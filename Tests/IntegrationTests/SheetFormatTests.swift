import Foundation
import TestSupport
import Testing

@Suite("What is shown of one thing, between separators")
struct SheetFormatTests {
    @Test("CSV has a line of names and one of values, TSV the values alone, and no JSON object")
    func forms() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(1)
            let id = OperatorStage.id(1)
            let csv = try await stage.run(["user", "show", id, "--format", "csv"])
            #expect(csv.status == 0, "\(csv.errors)")
            let lines = csv.output.split(separator: "\n")
            #expect(lines.count == 2, "\(csv.output)")
            let names = lines.first?.split(separator: ",", omittingEmptySubsequences: false).map(String.init) ?? []
            #expect(names.prefix(2) == ["id", "state"])
            #expect(lines.last?.hasPrefix("\(id),active,") == true, "\(csv.output)")
            let tsv = try await stage.run(["user", "show", id, "--format", "tsv"])
            #expect(tsv.output.split(separator: "\n").count == 1)
            let cells = tsv.output.dropLast().split(separator: "\t", omittingEmptySubsequences: false)
            #expect(cells.prefix(2) == [id[...], "active"])
            #expect(cells.count == names.count)
            let act = try await stage.run(["user", "sign-out", id, "--format", "csv"])
            #expect(act.output == "id\n\(id)\n", "\(act.output)")
            let dry = try await stage.run(["user", "export", id, "--dry-run", "--format", "csv", "--without-files"])
            #expect(dry.output.hasPrefix("account,output,rows,files,"), "\(dry.output) \(dry.errors)")
        }
    }

    @Test("The version is told wherever it was built")
    func version() async throws {
        let result = try await AccountctlProcess.run("--version")
        #expect(result.status == 0 && result.output.hasPrefix("accountctl 0."), "\(result.output)")
    }
}
