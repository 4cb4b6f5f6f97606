import Foundation
import TestSupport

/// The input and the results of a run over many accounts.
enum BulkRun {
    /// Writes the file of ids, and returns its path.
    static func write(_ ids: [String], _ stage: OperatorStage) throws -> String {
        let path = stage.path("ids.txt")
        try ids.map { $0 + "\n" }.joined().write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    /// The number of lines with each outcome in the result file.
    static func outcomes(_ path: String) throws -> [String: Int] {
        struct Line: Decodable { let outcome: String }
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").dropFirst()
        return try lines.reduce(into: [:]) { counts, line in
            counts[try JSONDecoder().decode(Line.self, from: Data(line.utf8)).outcome, default: 0] += 1
        }
    }

    static func requests(_ database: TestDatabase) async throws -> String {
        try await database.psql("select count(*), count(distinct user_id) from accountctl.deletion_requests")
    }
}
