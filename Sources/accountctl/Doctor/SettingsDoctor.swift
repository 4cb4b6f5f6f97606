import Sealing
import Settings

/// Checks the settings and the files that they name.
struct SettingsDoctor {
    let context: CommandContext

    func findings() throws -> [DoctorFinding] {
        let (settings, told) = try context.checkedSettings()
        // Problems with the key files are reported below, and where the keys are compared with the database.
        let problems = settings.problemsOfParts(besides: told)
            .filter { told.contains($0) || !$0.key.hasPrefix("keys.") }
        var findings = problems.map { problem in
            DoctorFinding(
                problem.stopsNothing ? .warning : .error,
                "settings",
                problem.description,
                why: problem.stopsNothing
                    ? "A worker starts without it, but does not do what the setting is for."
                    : "A worker does not start with invalid settings.",
                todo: "Correct it; accountctl config check says when all are valid."
            )
        }
        if problems.isEmpty { findings.append(.ok("settings", "the settings are valid")) }
        findings += [
            keyFile(
                "keys.sealing_file",
                settings.keys.sealingKeyFile,
                risk: "Whoever has the key can open what it seals."
            ),
            keyFile(
                "keys.hash_file",
                settings.keys.hashKeyFile,
                risk: "Whoever has the key can forge receipts, and find out whether a user id is in receipts and the "
                    + "log."
            ),
        ]
        findings += settings.secretFiles.compactMap { openFile($0.key, $0.path) }
        if let finding = writableFile() { findings.append(finding) }
        // Invalid settings were reported above.
        let wrong = problems.filter { !$0.stopsNothing }.map(\.key)
        if !settings.apple.isConfigured, !wrong.contains(where: { $0.hasPrefix("apple.") }) {
            findings.append(
                DoctorFinding(
                    .warning,
                    "apple.settings",
                    "Sign in with Apple is not configured",
                    why: "Deletions of accounts that hold a credential wait, and their grants at Apple are never "
                        + "revoked.",
                    todo: "Set apple.team_id, apple.key_id, apple.private_key_file and apple.client_ids."
                )
            )
        }
        if !settings.storage.isConfigured, !wrong.contains(where: { $0.hasPrefix("storage.") }) {
            findings.append(
                DoctorFinding(
                    .warning,
                    "storage.settings",
                    "Storage is not configured",
                    why: "Deletions of accounts that own files wait: deleting their rows would orphan the files for "
                        + "good.",
                    todo: "Set storage.url and storage.service_key_file."
                )
            )
        }
        return findings
    }

    /// Warns if others can read a secret's file; other problems with the file are reported with the settings.
    private func openFile(_ key: String, _ path: String) -> DoctorFinding? {
        guard let contents = try? SecretFile.read(path), contents.isReadableByOthers else { return nil }
        return open(key, path, risk: "Whoever has the secret can do with it what this program can.")
    }

    /// The finding that others can read a secret's file.
    private func open(_ key: String, _ path: String, risk: String) -> DoctorFinding {
        // Another user's file may be meant for its group, as when a worker runs as a user of its own: the group keeps
        // its right.
        let mode = FileModes(path: path)?.isOwn == false ? "o=" : "600"
        return DoctorFinding(
            .warning,
            key,
            "\(path) can be read by others",
            why: risk,
            todo: "chmod \(mode) \(path)"
        )
    }

    /// Warns if everybody on this machine can write the settings file.
    private func writableFile() -> DoctorFinding? {
        let search = SettingsFileSearch(environment: context.environment)
        guard let path = search.path(named: context.global.config), let modes = FileModes(path: path), modes.isPlain,
            modes.isWritableByAll
        else { return nil }
        return DoctorFinding(
            .warning,
            "settings.writable",
            "everybody on this machine can write to \(path)",
            why: "Whoever changes it can send secrets to another address, or erase accounts of another database.",
            todo: "chmod o-w \(path)"
        )
    }

    /// Checks that a key's file exists and that only we can read it; `risk` says what follows if others can.
    private func keyFile(_ key: String, _ path: String?, risk: String) -> DoctorFinding {
        guard let path else {
            return DoctorFinding(
                .error,
                key,
                "\(key) is not set",
                why: "Nothing is erased without it.",
                todo: KeyFile.hintWhereMissing
            )
        }
        do {
            let contents = try SecretFile.read(path)
            return contents.isReadableByOthers
                ? open(key, path, risk: risk) : .ok(key, "\(path) cannot be read by others")
        } catch {
            return DoctorFinding(
                .error,
                key,
                "\(error)",
                why: "Nothing is erased without it.",
                todo: "Restore the key file."
            )
        }
    }
}
