import HTTPCalls
import ObjectStorage
import Postgres
import Sealing

/// Builds the parts that a worker builds from the settings at its start, as far as that needs no network, and collects
/// every problem.
struct PartsCheck {
    private let settings: Settings
    private(set) var problems: [SettingsProblem]

    init(_ settings: Settings, _ problems: [SettingsProblem]) {
        self.settings = settings
        self.problems = problems
        database()
        keys()
        addresses()
        storageKey()
        publicListener()
    }

    private mutating func database() {
        do {
            try ConnectionConfiguration(conninfo: settings.database.url).check()
        } catch {
            report("database.url", error.reason ?? "not a connection string")
        }
    }

    private mutating func keys() {
        let sealing = key("keys.sealing_file", settings.keys.sealingKeyFile) { (text) throws(KeyRingProblems) in
            try KeyRing(fileText: text)
        }
        let hash = key("keys.hash_file", settings.keys.hashKeyFile) { (text) throws(KeyRingProblems) in
            try HashKey(fileText: text)
        }
        if let sealing, let hash, hash.isIn(sealing) {
            report("keys.hash_file", "holds the same key as keys.sealing_file; create a separate key for hashes")
        }
    }

    private mutating func key<Key>(
        _ key: String,
        _ path: String?,
        _ make: (Secret<String>) throws(KeyRingProblems) -> Key
    ) -> Key? {
        guard let path else {
            // A value that is set but is not a path has already been reported.
            if !isReported(key) {
                report(
                    key,
                    "missing: nothing can be erased without it; if this database never had one, accountctl keys new ID "
                        + "--output FILE creates one"
                )
            }
            return nil
        }
        let text: Secret<String>
        do {
            text = try SecretFile.readText(path)
        } catch {
            report(key, PathText.unreadable(path, error.reason))
            return nil
        }
        do {
            return try make(text)
        } catch {
            for line in error.description.split(separator: "\n") { report(key, "\(PathText.naming(path)): \(line)") }
            return nil
        }
    }

    private mutating func addresses() {
        for (key, address) in [
            ("apple.host", settings.apple.host), ("storage.url", settings.storage.url),
            ("supabase.host", settings.supabase.host),
        ] {
            guard let address else { continue }
            do throws(ServiceAddress.Problem) {
                _ = try ServiceAddress(address)
            } catch {
                report(key, error.description)
            }
        }
    }

    private mutating func storageKey() {
        guard let key = settings.storage.serviceKey, !isReported("storage.service_key_file") else { return }
        do {
            _ = try StorageKey(key)
        } catch {
            let name = "storage.service_key"
            let isVariable = source(of: name + "_file") == .variable(SettingsInputs.variable(of: name))
            problems.append(
                SettingsProblem(
                    key: isVariable ? name : name + "_file",
                    source: source(of: name + "_file"),
                    message: error.description
                )
            )
        }
    }

    private mutating func publicListener() {
        guard settings.listeners.publicAddress != nil, !settings.apple.isConfigured else { return }
        // Problems of Apple's settings already explain why it is not configured.
        guard !problems.contains(where: { $0.key.hasPrefix("apple.") }) else { return }
        report("listen.public", "Sign in with Apple is not configured: notifications are accepted for its client ids")
    }

    private func isReported(_ key: String) -> Bool { problems.contains { $0.key == key } }

    private func source(of key: String) -> SettingsSource {
        settings.declarations.first { $0.key == key }?.source ?? .standard
    }

    private mutating func report(_ key: String, _ message: String) {
        problems.append(SettingsProblem(key: key, source: source(of: key), message: message))
    }
}

extension Settings {
    /// The given problems, plus those of the key files, keys and addresses that the settings name, checked as a worker
    /// would use them.
    ///
    /// - Parameter problems: the problems found while reading the settings.
    /// - Returns: all problems, in the order of their sources.
    package func problemsOfParts(besides problems: [SettingsProblem]) -> [SettingsProblem] {
        PartsCheck(self, problems).problems.inOrderOfSources
    }
}
