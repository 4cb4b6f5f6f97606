import AccountLifecycle
import HTTPCalls
import Logging
import ObjectStorage
import Postgres
import Sealing
import Settings
import SignInWithApple

/// Builds the services of the account lifecycle from the settings.
struct WorkerServices {
    let settings: Settings
    let caller: HTTPCaller
    let logger: Logger

    /// The services that deletions use.
    ///
    /// - Throws: ``CommandError`` naming the setting that is missing or invalid.
    func deletionServices(pool: Pool, codes: Pool, apple: AppleClients?) throws -> DeletionServices {
        DeletionServices(
            pool: pool,
            codes: codes,
            policy: policy,
            vault: try vault(),
            apple: AppleGateway(apple),
            storage: StorageGateway(try storageClient()),
            logger: logger
        )
    }

    /// The services that follow credentials; nil if Apple is not configured.
    ///
    /// - Throws: ``CommandError`` naming the setting that is missing or invalid.
    func credentialServices(pool: Pool, apple: AppleClients?) throws -> CredentialServices? {
        guard let apple else { return nil }
        return CredentialServices(
            pool: pool,
            apple: apple,
            keys: try followedKeys(),
            policy: Self.credentialPolicy(settings.apple),
            logger: logger
        )
    }

    /// Refuses keys that cannot be right: a key that open rows need is missing, another key has its name, or the hash
    /// key is new while others were used before.
    ///
    /// - Throws: ``CommandError`` naming the keys; `OtherHashKey`.
    func checkKeys(pool: Pool) async throws {
        try await requireHashKey(pool)
        let vault = CredentialVault(pool: pool, keys: try Self.sealingKeys(settings))
        let uses = try await vault.status()
        let others = uses.filter(\.isAnother).map { "\"\($0.key)\"" }
        if !others.isEmpty {
            throw CommandError(
                .residue,
                "keys.sealing_file: \(others.joined(separator: ", ")) is not the key that sealed here under that name",
                hint: "Name the right file: this one cannot open what is sealed here."
            )
        }
        if let missing = uses.missing {
            throw CommandError(
                .residue,
                missing,
                hint:
                    """
                    Add what is missing to the file: accountctl apple vault status shows what each key seals. If a key is \
                    lost for good: accountctl apple vault forget-key
                    """
            )
        }
        try await vault.recordKeys()
    }

    /// Records the hash key in the database; refuses a new key where others were used before, since it may be from the
    /// wrong file.
    ///
    /// Once a worker has used the wrong key, nothing distinguishes it from the intended one. So an operator has to make
    /// a new key known, by the one command that does so.
    private func requireHashKey(_ pool: Pool) async throws {
        let hashKey = try Self.hashKey(settings)
        try await pool.withConnection { connection in
            if let others = try OtherHashKeys(besideNew: hashKey, on: connection) {
                throw CommandError(
                    .residue,
                    "keys.hash_file: \(others.warning(ofNew: hashKey.id))",
                    hint: OtherHashKeys.hintOfNew
                )
            }
            try HashKeyCanary.require(hashKey, on: connection)
        }
    }

    /// The configured policy of deletions.
    var policy: DeletionPolicy { Self.policy(settings) }

    static func policy(_ settings: Settings) -> DeletionPolicy {
        var policy = DeletionPolicy()
        policy.grace = settings.deletion.grace
        policy.tokenLife = DeletionPolicy.acceptance(ofTokensLiving: settings.deletion.tokenLife)
        policy.uploadLife = settings.deletion.uploadLife
        policy.hourlyCeiling = settings.deletion.hourlyCeiling
        policy.maximumRows = settings.deletion.maximumRows
        policy.buckets.formUnion(settings.deletion.buckets)
        policy.keptBuckets = Set(settings.deletion.keptBuckets)
        policy.avatarFolders = AvatarFolders(
            accounts: settings.deletion.avatarFolders,
            apps: settings.deletion.keptAvatarFolders
        )
        policy.appleGiveUp = settings.apple.giveUp
        return policy
    }

    /// The keys that seal and the key that hashes; both are needed, and they must differ.
    func vault() throws -> IdentifierVault {
        let keys = try followedKeys()
        let hashKey = try Self.hashKey(settings)
        try Self.requireApart(hashKey, keys)
        return IdentifierVault(keys: keys, hashKey: hashKey)
    }

    /// Refuses a hash key that is also a sealing key.
    static func requireApart(_ hashKey: HashKey, _ keys: KeyRing) throws {
        guard hashKey.isIn(keys) else { return }
        throw CommandError(
            .usage,
            "keys.hash_file and keys.sealing_file hold the same key",
            hint:
                "Create a separate key for hashes: whoever can open sealed values should not be able to test user ids."
        )
    }

    /// The sealing keys, which are read again from their file when one is missing, so that keys can be added while the
    /// process runs.
    private func followedKeys() throws -> KeyRing {
        try Self.sealingKeys(settings).following { [settings, logger] in
            do {
                let keys = try Self.sealingKeys(settings)
                logger.notice(
                    "the sealing keys were read again, since one was missing",
                    metadata: ["keys": "\(keys.ids.map(\.text).joined(separator: ", "))"]
                )
                return keys
            } catch {
                logger.error("the sealing keys cannot be read again", metadata: ["reason": "\(error)"])
                return nil
            }
        }
    }

    static func sealingKeys(_ settings: Settings) throws -> KeyRing {
        let text = try secret(settings.keys.sealingKeyFile, "keys.sealing_file")
        do {
            return try KeyRing(fileText: text)
        } catch {
            throw CommandError(.usage, "keys.sealing_file: \(error)")
        }
    }

    static func hashKey(_ settings: Settings) throws -> HashKey {
        let text = try secret(settings.keys.hashKeyFile, "keys.hash_file")
        do {
            return try HashKey(fileText: text)
        } catch {
            throw CommandError(.usage, "keys.hash_file: \(error)")
        }
    }

    /// The copy of the web flow's client secret; nil if none is configured.
    var webSecretCopy: WebSecretCopy? {
        guard let path = settings.apple.webClientSecretFile else {
            return settings.apple.webClientSecret.map { secret in WebSecretCopy { secret } }
        }
        return WebSecretCopy {
            do throws(SecretFile.Failure) {
                return try SecretFile.readText(path)
            } catch {
                // The configured path may be the secret itself, by mistake.
                throw SecretFile.Failure(path: "apple.web_client_secret_file", reason: error.reason)
            }
        }
    }

    /// The clients of Apple; nil if Apple is not configured.
    func appleClients() throws -> AppleClients? {
        let apple = settings.apple
        guard apple.isConfigured else { return nil }
        do {
            return try AppleClients(
                apple.identities,
                address: try ServiceAddress(apple.host),
                caller: caller,
                deadline: apple.timeout,
                logger: logger
            )
        } catch {
            throw CommandError(.usage, "Sign in with Apple: \(error)", hint: Self.settingsHint)
        }
    }

    private static let settingsHint = "accountctl config check says which setting it is, and where it is set."

    /// The client of Storage; nil if Storage is not configured.
    func storageClient() throws -> StorageClient? {
        guard let url = settings.storage.url, let key = settings.storage.serviceKey else { return nil }
        do {
            return StorageClient(
                address: try ServiceAddress(url),
                key: try StorageKey(key),
                caller: caller,
                deadline: settings.storage.timeout
            )
        } catch {
            throw CommandError(.usage, "Storage: \(error)", hint: Self.settingsHint)
        }
    }

    private static func secret(_ path: String?, _ key: String) throws -> Secret<String> {
        guard let path else {
            throw CommandError(
                .usage,
                "the setting \(key) is missing: nothing can be erased without it",
                hint: KeyFile.hintWhereMissing
            )
        }
        do {
            return try SecretFile.readText(path)
        } catch {
            throw CommandError(.usage, "\(key): \(error)")
        }
    }
}
