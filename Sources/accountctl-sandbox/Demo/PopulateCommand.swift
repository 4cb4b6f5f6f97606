import ArgumentParser
import Sandbox

/// Creates the demo's accounts.
struct PopulateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "populate",
        abstract: "Create accounts as the Swift tutorial creates them.",
        discussion: """
            They sign up by e-mail or with Apple and upload several avatars each over HTTP, of which only the newest \
            is in use. The profile is updated by the app's own statement, and the authorization code submitted where \
            the app does so.
            """
    )

    @OptionGroup
    var demo: DemoOptions

    @Option(help: "How many accounts to create.")
    var users = 300

    func validate() throws {
        guard users >= 0 else { throw ValidationError("--users must not be negative") }
    }

    func run() async throws {
        let sandbox = DemoSandbox(url: demo.sandbox)
        let people = (0..<users).map { DemoPerson(number: $0) }
        let client = demo.client
        try await demo.withDatabase { database in
            try await DemoOptions.forEach(people) { person in
                try await Self.make(person, sandbox, database, client: client)
            }
        }
    }

    @concurrent
    private static func make(
        _ person: DemoPerson,
        _ sandbox: DemoSandbox,
        _ database: DemoDatabase,
        client: String
    ) async throws {
        switch person.signIn {
        case .password:
            try await database.signUp(person, apple: nil)
        case .apple(let hidesEmail):
            let signIn = try await sandbox.signIn(
                clientID: client,
                email: hidesEmail ? nil : person.email,
                hidesEmail: hidesEmail
            )
            try await database.signUp(person, apple: (signIn.sub, signIn.email))
            if person.submitsCode {
                try await database.submitCode(signIn.authorizationCode, clientID: client, of: person.id)
            }
        }
        let token = try await sandbox.accessToken(of: person.id)
        let keys = person.makeAvatarKeys()
        for key in keys { try await sandbox.upload(key, picture(), token: token) }
        try await database.updateProfile(person, avatar: keys.last)
    }

    /// Random bytes that start like a JPEG.
    private static func picture() -> [UInt8] {
        [0xff, 0xd8, 0xff, 0xe0] + (0..<Int.random(in: 500...4000)).map { _ in UInt8.random(in: 0...255) }
    }
}
