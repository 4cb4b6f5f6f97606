import HTTPCalls
import Sealing
import Settings
import SignInWithApple
import Terminal

extension CommandContext {
    /// Gives `body` the configured clients, as workers have them; `tellsAll` if the output already reports everything that
    /// Apple rejects, so that the log need not.
    ///
    /// - Throws: ``CommandError`` if Apple is not configured, or the key cannot be read.
    func withApple<Result: Sendable>(
        tellsAll: Bool = false,
        _ body: @Sendable (AppleClients) async throws -> Result
    ) async throws -> Result {
        let settings = try settingsForApple()
        let logger = tellsAll ? detailLogger(settings) : self.logger(settings)
        return try await HTTPCaller.withCaller(logger: logger) { caller in
            let parts = WorkerServices(settings: settings, caller: caller, logger: logger)
            guard let clients = try parts.appleClients() else { throw CommandError.noApple }
            return try await body(clients)
        }
    }

    /// The sealing keys.
    ///
    /// - Throws: ``CommandError`` if no keys are configured, or the file is invalid.
    func keyRing() throws -> KeyRing {
        guard let path = try checkedSettings().settings.keys.sealingKeyFile else {
            throw CommandError(.usage, "there are no sealing keys", hint: "Set keys.sealing_file.")
        }
        do {
            let contents = try SecretFile.read(path)
            if contents.isReadableByOthers { messages.warning("\(path) can be read by other users of this machine") }
            guard let text = contents.text else { throw CommandError(.usage, "\(path) is not UTF-8 text") }
            return try KeyRing(fileText: text)
        } catch let error as CommandError {
            throw error
        } catch {
            throw CommandError(.usage, "keys.sealing_file: \(error)")
        }
    }

    /// The identity of this service at Apple for one client id.
    ///
    /// - Throws: ``CommandError`` when it is not configured.
    func appleIdentity(of clientID: String, _ settings: AppleSettings) throws -> AppleClientIdentity {
        guard settings.isConfigured else { throw CommandError.noApple }
        let identities = settings.identities
        guard let identity = identities.first(where: { $0.clientID == clientID }) else {
            throw CommandError(
                .notFound,
                "\(clientID) is not among the configured client ids",
                hint: "Configured: \(identities.map(\.clientID).joined(separator: ", "))"
            )
        }
        return identity
    }

    /// The settings; only those that a command about Apple needs have to be valid.
    func settingsForApple() throws -> Settings { try settings(needing: ["apple.", "log."]) }

    /// The settings; only those that a command about Apple and the management API needs have to be valid.
    func settingsForProject() throws -> Settings { try settings(needing: ["apple.", "supabase.", "log."]) }
}

extension CommandError {
    static let noApple = CommandError(
        .usage,
        "Sign in with Apple is not configured",
        hint: "Set apple.team_id, apple.key_id, apple.private_key_file and apple.client_ids."
    )
}
