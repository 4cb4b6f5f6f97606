import AccountLifecycle
import Postgres
import Sealing
import Settings
import Terminal

extension DatabaseDoctor {
    /// Compares the keys with those that sealed and hashed values here; a worker refuses to start if they differ.
    func keys(on connection: isolated Connection) throws -> [DoctorFinding] {
        var findings = try sealingKeys(on: connection)
        findings += try hashKey(on: connection)
        return findings
    }

    private static let putBack = "Restore the file from its copy."

    private func sealingKeys(on connection: isolated Connection) throws -> [DoctorFinding] {
        guard settings.keys.sealingKeyFile != nil else { return [] }
        let keys: KeyRing
        do {
            keys = try WorkerServices.sealingKeys(settings)
        } catch {
            return [
                .unusable("keys.sealing", error, why: "Nothing sealed can be opened.", todo: Self.putBack)
            ]
        }
        var findings: [DoctorFinding] = []
        let uses = try CredentialVault.uses(of: keys, on: connection)
        let others = uses.filter(\.isAnother).map(\.key)
        if !others.isEmpty {
            findings.append(
                DoctorFinding(
                    .error,
                    "keys.sealing",
                    "\(Wording.list(others)) in keys.sealing_file is not the key that sealed here under that name",
                    why: "What that key sealed cannot be opened, and no worker starts.",
                    todo: "Restore the right file from its copy."
                )
            )
        }
        if let missing = uses.missing {
            findings.append(
                DoctorFinding(
                    .error,
                    "keys.sealing",
                    missing,
                    why: "What is sealed cannot be opened: requests cannot be verified, nor grants at Apple revoked.",
                    todo: "Add what is missing from a copy of the file."
                )
            )
        }
        return findings.isEmpty ? [.ok("keys.sealing", "every sealing key that is needed is available")] : findings
    }

    /// Rates the hash key against the others that were used here.
    private static func finding(of key: HashKey, _ standing: HashKeyCanary.Standing) -> DoctorFinding {
        let own = "the hash key \"\(key.id.text)\""
        let others = Wording.list(standing.others.map { "\"\($0)\"" })
        switch standing {
        case .alone: return .ok("keys.hash", "the hash key is the one that was used here")
        case .unknown:
            return DoctorFinding(
                .error,
                "keys.hash",
                "\(own) was never used here, and \(others) was",
                why: "Accounts erased under that key look as if they had never existed; no worker starts.",
                todo: OtherHashKeys.hintOfNew
            )
        case .newest:
            return DoctorFinding(
                .notice,
                "keys.hash",
                "\(own) is newer than \(others)",
                why: "What was erased and done before is found only with the older file.",
                todo: "Keep the older file, and name it in keys.hash_file to look there."
            )
        case .older:
            return DoctorFinding(
                .warning,
                "keys.hash",
                "\(own) is older than \(others)",
                why: "What was erased and done under the newer one is not found with it.",
                todo: "Name the newer file in keys.hash_file; if that one was used by mistake, keep this one."
            )
        }
    }

    private func hashKey(on connection: isolated Connection) throws -> [DoctorFinding] {
        guard settings.keys.hashKeyFile != nil else { return [] }
        do {
            let key = try WorkerServices.hashKey(settings)
            if let ring = try? WorkerServices.sealingKeys(settings) { try WorkerServices.requireApart(key, ring) }
            return [Self.finding(of: key, try HashKeyCanary.standing(of: key, on: connection))]
        } catch let error as PostgresError {
            throw error
        } catch {
            return [
                .unusable(
                    "keys.hash",
                    error,
                    why: "Erased accounts, and what was done to accounts, are not found by their id; no worker starts.",
                    todo: Self.putBack
                )
            ]
        }
    }
}
