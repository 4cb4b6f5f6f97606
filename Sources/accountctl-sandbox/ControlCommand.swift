import ArgumentParser
import Foundation

/// Sends one request under /control to a running sandbox.
struct ControlCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "control",
        abstract: "Send a request to a running sandbox's /control and print the answer.",
        discussion: """
            EXAMPLES
              accountctl-sandbox control URL GET apple/consents
              accountctl-sandbox control URL POST faults \\
                '{"kind":"drop","endpoint":"apple.revoke","times":3}'
              accountctl-sandbox control URL DELETE faults
            """
    )

    @Argument(help: "The sandbox's address.")
    var url: String

    @Argument(help: "GET, POST or DELETE.")
    var method: String

    @Argument(help: "The path below /control.")
    var path: String

    @Argument(help: "A JSON body.")
    var body: String?

    func run() async throws {
        let answer = try await HTTPExchange.send(
            method.uppercased(),
            "\(url)/control/\(path)",
            body: body.map { Array($0.utf8) } ?? [],
            headers: body == nil ? [:] : ["Content-Type": "application/json"]
        )
        if !answer.body.isEmpty { print(String(decoding: answer.body, as: UTF8.self)) }
        guard (200..<300).contains(answer.status) else { throw ExitCode.failure }
    }
}
