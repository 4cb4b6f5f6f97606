import HTTPCalls
import Sealing
import Settings
import SignInWithApple
import Terminal

extension CommandContext {
    /// Gives `body` the configured clients.
    ///
    /// - Throws: ``CommandError`` when Apple is not configured, or the key cannot be read.
    func withApple<Result: Sendable>(_ body: @Sendable (AppleClients) async throws -> Result) async throws -> Result {
        let settings = try settingsForApple()
        let logger = logger(settings)
        let identities = try appleIdentities(settings.apple)
        let address: ServiceAddress
        do {
            address = try ServiceAddress(settings.apple.host)
        } catch {
            throw CommandError(.usage, "apple.host: \(error)")
        }
        let timeout = settings.apple.timeout
        return try await HTTPCaller.withCaller(
            configuration: .init(userAgent: "accountctl/\(Version.number)"),
            logger: logger
        ) { caller in
            let clients = try AppleClients(
                identities,
                address: address,
                caller: caller,
                deadline: timeout,
                logger: logger
            )
            return try await body(clients)
        }
    }

    /// Who we are to Apple, one identity for each client id.
    ///
    /// - Throws: ``CommandError`` with what is wrong, never with the key.
    func appleIdentities(_ settings: AppleSettings) throws -> [AppleClientIdentity] {
        guard let teamID = settings.teamID, let keyID = settings.keyID, let text = settings.privateKey,
            !settings.clientIDs.isEmpty
        else {
            throw CommandError(
                .usage,
                "Sign in with Apple is not configured",
                hint: "Set apple.team_id, apple.key_id, apple.private_key_file and apple.client_ids."
            )
        }
        let key: ApplePrivateKey
        do {
            key = try ApplePrivateKey(parsing: text)
        } catch {
            throw CommandError(.usage, "apple.private_key: \(error)")
        }
        return try settings.clientIDs.map { clientID in
            do {
                return try AppleClientIdentity(clientID: clientID, teamID: teamID, keyID: keyID, key: key)
            } catch {
                throw CommandError(.usage, "\(clientID): \(error)")
            }
        }
    }

    /// The sealing keys.
    ///
    /// - Throws: ``CommandError`` when none are configured, or the file is wrong.
    func keyRing() throws -> KeyRing {
        guard let path = Settings.check(try settingsInputs()).settings.keys.sealingKeyFile else {
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

    /// The settings, of which only those that a command about Apple needs have to be right.
    func settingsForApple() throws -> Settings {
        let (settings, problems) = Settings.check(try settingsInputs())
        let needed = problems.filter { problem in
            problem.key == "environment" || problem.key.hasPrefix("apple.") || problem.key.hasPrefix("log.")
        }
        if !needed.isEmpty { throw SettingsError(needed) }
        return settings
    }
}
