import Foundation
import Testing

/// Facts in the output of `--json`.
enum PrintedFacts {
    static func expect(_ facts: [String: Any], in output: String, _ comment: Comment? = nil) throws {
        let told = try #require(try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any], comment)
        for (name, value) in facts {
            #expect("\(told[name] ?? "-")" == "\(value)", "\(name) in \(output)")
        }
    }
}
