import AccountLifecycle
import ArgumentParser

/// The outcome of the revocation at Apple as a command-line value, which allows only the outcomes that this step can
/// have.
struct AppleOutcome: ExpressibleByArgument {
    let outcome: StepOutcome

    private static let outcomes: [StepOutcome] = [.revoked, .notHeld, .pending, .notRevoked, .grantUnknown]

    static let allValueStrings = outcomes.map(\.rawValue)
    static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }

    init?(argument: String) {
        guard let outcome = StepOutcome(rawValue: argument), Self.outcomes.contains(outcome) else { return nil }
        self.outcome = outcome
    }
}
