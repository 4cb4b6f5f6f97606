import Foundation

/// What `user find` prints for one account, or for a term that leads to none.
struct FoundRow: Decodable {
    let id: String?
    let state: String
    let matched: [String]
    let term: String?
    let step: String?
    let request: String?
    let receipt: Int?
    let number: Int?

    /// The rows of an output with one JSON object per line.
    static func all(in result: AccountctlProcess.Result) throws -> [FoundRow] {
        try result.output.split(separator: "\n").map { try JSONDecoder().decode(FoundRow.self, from: Data($0.utf8)) }
    }
}

extension OperatorStage {
    /// Runs `user find` with these words.
    func find(_ words: [String], input: String? = nil) async throws -> (
        rows: [FoundRow], result: AccountctlProcess.Result
    ) {
        let result = try await run(["user", "find"] + words + ["--format", "ndjson"], input: input)
        return (try FoundRow.all(in: result), result)
    }
}
