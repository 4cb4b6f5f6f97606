import AccountLifecycle
import ArgumentParser

/// What became of a request's credentials at Apple, on the command line: of other steps other things become.
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
