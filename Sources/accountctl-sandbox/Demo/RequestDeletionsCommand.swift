import ArgumentParser
import Sandbox

/// Requests the deletion of some of the demo's accounts.
struct RequestDeletionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "request-deletions",
        abstract: "Request deletions as the signed-in users, through the function the app calls.",
        discussion: """
            Two of every five accounts request their deletion, the oldest first. Of those that sign in with Apple \
            and never submitted a code, every second one submits a fresh code. One has a profile that names somebody \
            else's file, and the last one cancels its request.
            """
    )

    @OptionGroup
    var demo: DemoOptions

    @Option(help: "How many accounts request their deletion.")
    var count = 100

    func validate() throws {
        guard count >= 1 else { throw ValidationError("--count must be at least 1") }
    }

    func run() async throws {
        let sandbox = DemoSandbox(url: demo.sandbox)
        let client = demo.client
        try await demo.withDatabase { database in
            let willing = try await database.accounts().enumerated().filter { $0.offset % 5 < 2 }.map(\.element)
            let asking = willing.prefix(count)
            guard asking.count == count, let last = asking.last else {
                throw ValidationError("there are only \(willing.count) accounts to choose from")
            }
            let withoutCode = asking.filter { $0.sub != nil && !$0.hasCode }.enumerated()
            let bringers = Set(withoutCode.filter { $0.offset.isMultiple(of: 2) }.map(\.element.id))
            // A hostile user: their profile names a file of somebody else, who stays.
            if let hostile = asking.first, let key = try await database.avatarKey(ofOtherThan: asking.map(\.id)) {
                try await database.setAvatar(key, of: hostile.id)
            }
            try await DemoOptions.forEach(Array(asking)) { account in
                var code: String?
                if bringers.contains(account.id), let sub = account.sub {
                    code = try await sandbox.signIn(clientID: client, sub: sub).authorizationCode
                }
                try await database.requestDeletion(of: account.id, code: code, clientID: client)
            }
            try await database.cancelDeletion(of: last.id)
        }
    }
}
