import ObjectStorage
import Settings
import SignInWithApple

/// Looks at Apple and Storage from here, without using anything up.
struct ServicesDoctor {
    let parts: WorkerServices

    func findings() async throws -> [Finding] {
        try await apple() + webSecret() + storage()
    }

    private func apple() async throws -> [Finding] {
        let clients: AppleClients
        do {
            guard let configured = try parts.appleClients() else { return [] }
            clients = configured
        } catch {
            let report = ErrorReport(error)
            return [
                Finding(.error, "apple.credentials", report.message, why: "Nothing can be revoked.", todo: report.hint)
            ]
        }
        var findings: [Finding] = []
        for id in clients.clientIDs {
            guard let client = clients[id] else { continue }
            switch try await client.selfTest() {
            case .good:
                findings.append(.ok("apple.credentials", "Apple accepts team, key and \(id)"))
            case .misconfigured(let reason):
                findings.append(
                    Finding(
                        .error,
                        "apple.credentials",
                        "\(reason)",
                        why: "Accounts that hold a credential of \(id) wait before anything of them is erased.",
                        todo: "Compare apple.team_id, apple.key_id and the client id with the developer account."
                    )
                )
            case .later(let delay):
                findings.append(
                    Finding(
                        .warning,
                        "apple.reachable",
                        "no verdict on \(id): \(delay)",
                        why: "Apple could not be asked from here now.",
                        todo: "Try again; see whether this machine may call \(parts.settings.apple.host)."
                    )
                )
            }
        }
        return findings
    }

    private func storage() async throws -> [Finding] {
        let client: StorageClient
        do {
            guard let configured = try parts.storageClient() else { return [] }
            client = configured
        } catch {
            let report = ErrorReport(error)
            return [Finding(.error, "storage.key", report.message, why: "No file can be deleted.", todo: report.hint)]
        }
        switch try await client.buckets() {
        case .done:
            return [.ok("storage.reachable", "Storage answers and takes the key")]
        case .gone(let refusal), .misconfigured(let refusal):
            return [
                Finding(
                    .error,
                    "storage.key",
                    "\(refusal)",
                    why: "Accounts that own files wait.",
                    todo: "Compare storage.url and the key with the project's API settings."
                )
            ]
        case .later(let delay):
            return [
                Finding(
                    .warning,
                    "storage.reachable",
                    "\(delay)",
                    why: "Storage could not be asked from here now.",
                    todo: "Try again; see whether this machine may call \(parts.settings.storage.url ?? "it")."
                )
            ]
        }
    }
}
