import Foundation
import Sandbox
import TestSupport

/// The environment of a program that handles Apple credentials: a database, a simulated Apple, keys and settings.
struct AppleProgram: Sendable {
    static let clientID = "com.example.app"

    let database: TestDatabase
    let sandbox: Sandbox
    /// The settings, as environment variables.
    let variables: [String: String]
    private let folder: URL

    /// Calls `body` with a program that is set up for one app, and removes everything afterwards.
    ///
    /// With `recorded`, the migration history that the doctor checks exists.
    static func with(
        recorded: Bool = false,
        _ body: @Sendable (AppleProgram) async throws -> Void
    ) async throws {
        try await TestDatabase.with(recorded ? .installed : .migrated) { try await with($0, body) }
    }

    private static func with(
        _ database: TestDatabase,
        _ body: @Sendable (AppleProgram) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder("apple").url
        defer { try? FileManager.default.removeItem(at: folder) }
        try await Sandbox.with { sandbox in
            let developer = sandbox.apple.developerKey
            var variables = database.variables.merging(try TestKeys.make(in: folder).variables) { $1 }
            variables["ACCOUNTCTL_APPLE_HOST"] = sandbox.baseURL
            variables["ACCOUNTCTL_APPLE_TEAM_ID"] = developer.teamID
            variables["ACCOUNTCTL_APPLE_KEY_ID"] = developer.keyID
            variables["ACCOUNTCTL_APPLE_CLIENT_IDS"] = "\(clientID), com.example.web"
            variables["ACCOUNTCTL_APPLE_PRIVATE_KEY_FILE"] = try SecretFile.write(
                developer.privateKey,
                to: folder.appendingPathComponent("apple")
            )
            try await body(
                AppleProgram(database: database, sandbox: sandbox, variables: variables, folder: folder)
            )
        }
    }

    /// Writes a file that only its owner can read, and returns its path.
    func secretFile(_ name: String, _ text: String) throws -> String {
        try SecretFile.write(text, to: folder.appendingPathComponent(name))
    }

    /// Runs the program to its end.
    func run(
        _ arguments: String...,
        environment: [String: String] = [:],
        input: String? = nil
    ) async throws -> AccountctlProcess.Result {
        try await AccountctlProcess(arguments, environment: variables.merging(environment) { $1 }, input: input)
            .result()
    }

    // MARK: - The public listener

    /// Starts `command` with a public listener, `without` some of the settings, calls `body` with its address for
    /// notifications, and kills the process afterwards.
    func withListener(
        _ command: String,
        environment: [String: String] = [:],
        without names: Set<String> = [],
        _ body: (_ process: AccountctlProcess, _ url: String) async throws -> Void
    ) async throws {
        var variables = variables.merging(environment) { $1 }.filter { !names.contains($0.key) }
        variables["ACCOUNTCTL_LISTEN_PUBLIC"] = "127.0.0.1:0"
        let process = try AccountctlProcess([command], environment: variables)
        defer { process.signal(SIGKILL) }
        guard try await process.waitForErrors(containing: "public listener started"),
            let line = process.errorsSoFar.split(separator: "\n").first(where: { $0.contains("public listener") }),
            let port = line.firstMatch(of: /"port":"(\d+)"/)?.1
        else { throw TestSupportError("\(command) does not listen: \(process.errorsSoFar)") }
        try await body(process, "http://127.0.0.1:\(port)/apple/notifications")
    }

    // MARK: - People

    /// A person with an account who signed in with Apple an hour ago.
    struct Person: Sendable {
        let id: String
        let sub: String
        let email: String
        let code: String
    }

    /// Creates an account for a new person; with `credential`, the app submits the code of the sign-in.
    func signUp(clientID: String = Self.clientID, credential: Bool = true) async throws -> Person {
        let signIn = try sandbox.apple.signIn(clientID: clientID, hidesEmail: true)
        let person = Person(
            id: UUID().uuidString.lowercased(),
            sub: signIn.sub,
            email: signIn.email ?? "",
            code: signIn.authorizationCode
        )
        try await database.psql(
            """
            insert into auth.users (instance_id, id, aud, role, email, created_at)
            values (
                '00000000-0000-0000-0000-000000000000', '\(person.id)', 'authenticated', 'authenticated',
                '\(person.email)', now() - interval '2 hours'
            );
            insert into auth.identities
                (provider_id, user_id, identity_data, provider, created_at, last_sign_in_at, updated_at)
            values (
                '\(person.sub)', '\(person.id)', '{"sub": "\(person.sub)", "email": "\(person.email)"}', 'apple',
                now() - interval '2 hours', now() - interval '2 hours', now() - interval '1 hour'
            );
            insert into auth.sessions (id, user_id) values (gen_random_uuid(), '\(person.id)');
            """
        )
        if credential { try await submit(person.code, of: person, clientID: clientID) }
        return person
    }

    /// Submits a code as the app does, signed in as that person.
    func submit(_ code: String, of person: Person, clientID: String = Self.clientID) async throws {
        try await database.psql(
            """
            set role authenticated;
            select set_config('request.jwt.claims', '{"sub": "\(person.id)"}', false);
            select public.submit_apple_authorization_code('\(code)', '\(clientID)');
            """
        )
    }
}
