import AccountLifecycle
import ArgumentParser

/// The state of an open deletion request, as an option; the states of ended requests are not states of an account.
struct OpenDeletionState: ExpressibleByArgument {
    let state: DeletionState

    static let allValueStrings = DeletionState.allCases.filter { !$0.isFinal }.map(\.rawValue)
    static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }

    init?(argument: String) {
        guard let state = DeletionState(rawValue: argument), !state.isFinal else { return nil }
        self.state = state
    }
}
