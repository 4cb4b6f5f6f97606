import Foundation
import Sandbox
import TestSupport
import Testing

/// The sandbox as a program of its own.
@Suite(.timeLimit(.minutes(5))) struct ProgramTests {
    /// A running program, ended when it is forgotten.
    private final class Program {
        let process = Process()
        private let output = Pipe()

        init(_ arguments: [String]) throws {
            process.executableURL = try BuiltProgram.url("accountctl-sandbox")
            process.arguments = arguments
            process.standardOutput = output
            process.standardError = FileHandle.nullDevice
            try process.run()
        }

        deinit {
            if process.isRunning { kill(process.processIdentifier, SIGKILL) }
            process.waitUntilExit()
        }

        /// Blocks until the first line is there.
        func line() throws -> [String: Any] {
            var data = Data()
            while !data.contains(UInt8(ascii: "\n")) {
                let more = output.fileHandleForReading.availableData
                guard !more.isEmpty else { throw TestSupportError("the program ended without a line") }
                data += more
            }
            return try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
        }

        /// Blocks until the program has ended, and returns all that it printed.
        func text() throws -> String {
            String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        }
    }

    /// Of a larger number, the system takes the last sixteen bits.
    @Test func aPortThatIsNoneIsRefused() throws {
        let program = try Program(["--port", "99999"])
        let error = try #require(throws: TestSupportError.self) { try program.line() }
        #expect(error.description == "the program ended without a line")
        program.process.waitUntilExit()
        #expect(program.process.terminationStatus == 64)
    }

    @Test func servesTellsWhereAndEndsWhenTold() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("accountctl-credentials-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let program = try Program(["--credentials", folder, "--client", "com.example.shop"])
        let ready = try program.line()
        let url = try #require(ready["url"] as? String)
        #expect(try await Answer.to(.get, url + "/control/health").status == 200)
        #expect(ready["storage_url"] as? String == url + "/storage/v1")
        #expect(ready["client_ids"] as? [String] == ["com.example.shop", "com.example.web"])

        // The keys lie in files that only their owner reads, and in nothing that is printed.
        let key = try #require(ready["private_key_file"] as? String)
        #expect(key.hasSuffix("AuthKey_\(try #require(ready["key_id"] as? String)).p8"))
        #expect(try String(contentsOfFile: key, encoding: .utf8).hasPrefix("-----BEGIN PRIVATE KEY-----"))
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/" + name)
            #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
        }
        #expect(try FileManager.default.attributesOfItem(atPath: folder)[.posixPermissions] as? Int == 0o700)
        let settings = try String(contentsOfFile: folder + "/accountctl.conf", encoding: .utf8)
        #expect(settings.contains("[apple]\nhost = \(url)\n"))
        #expect(!settings.contains("sb_secret_"))

        // The settings of the project, by its management API: where they are, and a token that may see them.
        let project = try #require(ready["project"] as? String)
        #expect(settings.contains("[supabase]\nhost = \(url)\nproject = \(project)\n"))
        let tokenFile = try #require(ready["access_token_file"] as? String)
        #expect(settings.contains("access_token_file = \"\(tokenFile)\""))
        let token = try String(contentsOfFile: tokenFile, encoding: .utf8).trimmingCharacters(in: .newlines)
        #expect(!settings.contains(token))
        #expect(!"\(ready)".contains(token))
        let address = url + "/v1/projects/\(project)/config/auth"
        let answer = try await Answer.to(.get, address, headers: ["Authorization": "Bearer \(token)"])
        #expect(answer.status == 200)
        #expect(answer.text.contains("com.example.shop"))
        #expect(try await Answer.to(.get, address).status == 401)

        program.process.terminate()
        program.process.waitUntilExit()
        #expect(program.process.terminationReason == .exit)
        #expect(program.process.terminationStatus == 0)
    }

    @Test func itsHelpNamesEveryEndpointThatFaultsAreSetFor() throws {
        let help = try Program(["serve", "--help"]).text()
        for endpoint in Endpoint.allCases { #expect(help.contains(endpoint.rawValue), "\(endpoint.rawValue)") }
    }

    /// The parser breaks lines of 80 characters; the rest of a row, or of an example, then begins at the margin.
    @Test(arguments: ["serve", "control"]) func noRowOfItsHelpIsBroken(_ command: String) throws {
        let help = try Program([command, "--help"]).text()
        let tables = help.components(separatedBy: "\n\n").map { $0.split(separator: "\n").dropFirst() }
            .filter { $0.first?.hasPrefix("  ") == true }
        #expect(tables.count > 2)
        for row in tables.joined() { #expect(row.hasPrefix("  "), "\(row)") }
    }

    @Test(arguments: [
        ["--database", "dbname=nothing"],
        ["populate", "--database", "dbname=nothing", "--sandbox", "http://127.0.0.1:9", "--users=-1"],
        ["request-deletions", "--database", "dbname=nothing", "--sandbox", "http://127.0.0.1:9", "--count=-1"],
    ])
    func mistakesOfTheCallerAreTold(_ arguments: [String]) throws {
        let program = try Program(arguments)
        program.process.waitUntilExit()
        #expect(program.process.terminationReason == .exit)
        #expect(program.process.terminationStatus == 64)
    }
}
