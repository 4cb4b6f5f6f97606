import AccountLifecycle
import ArgumentParser
import Postgres
import Sealing
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Who acts and why, for the operators' log.
struct ActingOptions: ParsableArguments {
    @Option(name: .long, help: "The reason, for the operators' log; personal data is refused.")
    var reason: String?

    @Option(
        name: .customLong("as"),
        help: ArgumentHelp(
            "Who acts, for the operators' log; personal data is refused. Default: ACCOUNTCTL_OPERATOR, then the name of the "
                + "account on this machine.",
            valueName: "name"
        )
    )
    var operatorName: String?

    @Option(
        name: .long,
        help: ArgumentHelp("The ticket, for the operators' log.", valueName: "number")
    )
    var ticket: String?

    func validate() throws {
        try OptionText.check("--reason", reason, limit: 1000)
        try OptionText.check("--as", operatorName, limit: 200)
        try OptionText.check("--ticket", ticket, limit: 200)
        try OptionText.refusePersonalData("--reason", reason, as: .words)
        try OptionText.refusePersonalData("--as", operatorName, as: .words)
        try OptionText.refusePersonalData("--ticket", ticket, as: .ticket)
    }
}

extension ActingOptions {
    /// Sets each property to its default value, for ``PlainWords``.
    mutating func setDefaults() {
        (reason, operatorName, ticket) = (nil, nil, nil)
    }
}

extension CommandContext {
    /// The operator who acts on an account; the next connection refuses a hash key that is new beside others in its
    /// database.
    ///
    /// - Throws: ``CommandError`` without a hash key, since the log names accounts by their keyed hashes.
    func actor(_ options: ActingOptions) throws -> Operator {
        let signature = try signature(options)
        let hashKey = try neededHashKey()
        actingKey.set(hashKey)
        return Operator(
            name: signature.name,
            machineUser: signature.machineUser,
            ticket: signature.ticket,
            hashKey: hashKey
        )
    }

    /// The operator who acts on something other than an account, and the reason.
    ///
    /// - Throws: ``CommandError`` for a name that the log does not accept.
    func signature(_ options: ActingOptions) throws -> OperatorSignature {
        let name = try operatorName(options.operatorName)
        if name.unicodeScalars.count > 200 {
            throw CommandError(
                .usage,
                "the operator's name has \(name.unicodeScalars.count) characters: at most 200 are kept",
                hint: "It comes from --as, ACCOUNTCTL_OPERATOR or the name of the account on this machine."
            )
        }
        return OperatorSignature(
            name: name,
            machineUser: MachineUser.withoutDomain(MachineUser.name),
            ticket: options.ticket,
            reason: options.reason
        )
    }

    /// The operator's name from the command line, else from the environment, else from the account on this machine.
    ///
    /// - Throws: ``CommandError`` for a name that was chosen and that the log must not contain.
    func operatorName(_ given: String?) throws -> String {
        // A variable made from a file, such as a Kubernetes secret, often ends with a line end.
        func name(_ text: String?) -> String? {
            guard let trimmed = text?.trimming(while: \.isWhitespace), !trimmed.isEmpty else { return nil }
            return String(trimmed)
        }
        if let given = name(given) { return given }
        let variable = "ACCOUNTCTL_OPERATOR"
        if let chosen = name(environment[variable]) {
            if let what = PersonalText.suspicion(in: chosen, as: .words) {
                throw CommandError(.usage, "\(variable) contains what looks like \(what): \(OptionText.logRule)")
            }
            return chosen
        }
        let login = name(environment["SUDO_USER"]) ?? name(environment["USER"]) ?? MachineUser.name
        return MachineUser.withoutDomain(login)
    }

    /// The hash key, which acts on accounts need.
    ///
    /// - Throws: ``CommandError`` if it is missing or unreadable: another key would find nothing that was hashed
    ///   before.
    func neededHashKey() throws -> HashKey {
        let found: HashKey?
        do {
            found = try readHashKey()
        } catch let error as HashKeyUnreadable {
            throw CommandError(
                .usage,
                "\(error)",
                hint: "Restore the same key: with another one, nothing that was hashed before is found."
            )
        }
        guard let key = found else {
            throw CommandError(
                .usage,
                "the setting keys.hash_file is missing: the operators' log names accounts by a keyed hash",
                hint: KeyFile.hintWhereMissing
            )
        }
        return key
    }
}
