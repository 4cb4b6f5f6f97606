import AccountLifecycle
import ArgumentParser
import Terminal

/// Shows which keys are in use.
struct AppleVaultStatusCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show which sealing keys are in use, missing or changed.",
        discussion: """
            EXIT CODES
              0 all is well; 5 a key that is needed is missing, or is not the one that sealed

            EXAMPLES
              accountctl apple vault status
            """
    )

    private static let fields: [Field<CredentialVault.KeyUse>] = [
        Field("key", "Key") { .text($0.key) },
        Field("state", "State", emphasis: { $0.isBroken ? .bad : $0.isNewest ? .good : .none }) { .text($0.state) },
        Field("credentials", "Credentials", alignment: .right) { .integer($0.credentials) },
        Field("pending_revocations", "Pending revocations", alignment: .right) { .integer($0.pendingRevocations) },
        Field("deletion_requests", "Deletion requests", alignment: .right) { .integer($0.deletionRequests) },
    ]

    static let outputFields = fields.map(\.name)

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let keys = try context.keyRing()
        let uses = try await context.withDatabase { pool in
            try await CredentialVault(pool: pool, keys: keys).status()
        }
        try context.output.list(uses, Self.fields)
        return uses.contains(where: \.isBroken) ? .residue : .ok
    }
}

extension CredentialVault.KeyUse {
    fileprivate var isBroken: Bool { isAnother || isMissing }

    fileprivate var state: String {
        if isAnother { return "another_key" }
        if !isPresent { return "missing" }
        if isNewest { return "sealing" }
        return isNeeded ? "in_use" : "unused"
    }
}
